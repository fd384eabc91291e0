//! Reads PNG files, as far as a small picture on a terminal needs it: no interlacing, no profiles, sixteen bits as
//! eight. What is odd or too large is not read at all.

use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// The largest picture that is read, in pixels.
const MOST_PIXELS: usize = 9_000_000;

/// Pixels of red, green, blue and how solid they are, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) all: Vec<[u8; 4]>,
}

/// What the head of a file says of its pixels.
struct Head {
    width: usize,
    height: usize,
    depth: usize,
    kind: u8,
}

/// Reads a picture, made smaller so that it fits into so many pixels; none when it cannot be read.
pub(super) fn read(png: &[u8], most: (usize, usize)) -> Option<Pixels> {
    let mut rest = png.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    let (mut head, mut palette, mut clear, mut packed) = (None, Vec::new(), Vec::new(), Vec::new());
    while let Some((length, after)) = rest.split_first_chunk::<4>() {
        let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
        let (name, after) = after.split_first_chunk::<4>()?;
        let data = after.get(..length)?;
        match name {
            b"IHDR" => head = Head::read(data),
            b"PLTE" => palette = data.to_vec(),
            b"tRNS" => clear = data.to_vec(),
            b"IDAT" => packed.extend_from_slice(data),
            b"IEND" => break,
            _ => {}
        }
        // Four bytes say whether the piece is whole; what is damaged is seen when it is unpacked.
        rest = after.get(length + 4..)?;
    }
    let head = head?;
    let stride = (head.width * head.bits()).div_ceil(8);
    let mut raw = decompress_to_vec_zlib_with_limit(&packed, (stride + 1) * head.height).ok()?;
    unfilter(&mut raw, stride, head.bits().div_ceil(8), head.height)?;
    let pixel = |x: usize, y: usize| head.pixel(&raw[y * (stride + 1) + 1..][..stride], x, &palette, &clear);
    Some(smaller(head.width, head.height, most, pixel))
}

impl Head {
    fn read(data: &[u8]) -> Option<Head> {
        let number = |at: usize| {
            let bytes = data.get(at..at + 4)?.try_into().ok()?;
            usize::try_from(u32::from_be_bytes(bytes)).ok()
        };
        let (width, height) = (number(0)?, number(4)?);
        let [depth, kind, 0, 0, 0] = *data.get(8..13)? else { return None };
        let known =
            matches!((kind, depth), (0, 1 | 2 | 4 | 8 | 16) | (3, 1 | 2 | 4 | 8) | (2 | 4 | 6, 8 | 16));
        let fits = width.checked_mul(height).is_some_and(|pixels| (1..=MOST_PIXELS).contains(&pixels));
        (known && fits).then_some(Head { width, height, depth: usize::from(depth), kind })
    }

    fn channels(&self) -> usize {
        match self.kind {
            2 => 3,
            4 => 2,
            6 => 4,
            _ => 1,
        }
    }

    /// How many bits a pixel has.
    fn bits(&self) -> usize {
        self.channels() * self.depth
    }

    fn pixel(&self, row: &[u8], x: usize, palette: &[u8], clear: &[u8]) -> [u8; 4] {
        let sample = |channel: usize| match self.depth {
            8 => row[x * self.channels() + channel],
            16 => row[(x * self.channels() + channel) * 2],
            depth => row[x * depth / 8] >> (8 - depth - x * depth % 8) & ((1u16 << depth) - 1) as u8,
        };
        let first = sample(0);
        match self.kind {
            2 => [first, sample(1), sample(2), 255],
            3 => {
                let at = usize::from(first);
                let color = |channel: usize| palette.get(at * 3 + channel).copied().unwrap_or(0);
                [color(0), color(1), color(2), clear.get(at).copied().unwrap_or(255)]
            }
            4 => [first, first, first, sample(1)],
            6 => [first, sample(1), sample(2), sample(3)],
            _ => {
                let most = if self.depth < 8 { (1u16 << self.depth) - 1 } else { 255 };
                let grey = u8::try_from(u16::from(first) * 255 / most).unwrap_or(255);
                [grey, grey, grey, 255]
            }
        }
    }
}

/// Undoes what was done to rows so that they pack well. `unit` is how many bytes back a pixel's neighbour stands.
fn unfilter(raw: &mut [u8], stride: usize, unit: usize, height: usize) -> Option<()> {
    if raw.len() != (stride + 1) * height {
        return None;
    }
    for row in 0..height {
        let start = row * (stride + 1);
        let filter = raw[start];
        for at in 0..stride {
            let here = start + 1 + at;
            let left = if at >= unit { raw[here - unit] } else { 0 };
            let up = if row > 0 { raw[here - stride - 1] } else { 0 };
            let corner = if row > 0 && at >= unit { raw[here - stride - 1 - unit] } else { 0 };
            let added = match filter {
                0 => 0,
                1 => left,
                2 => up,
                3 => u8::midpoint(left, up),
                4 => nearest(left, up, corner),
                _ => return None,
            };
            raw[here] = raw[here].wrapping_add(added);
        }
    }
    Some(())
}

/// Which of the three is nearest to left plus up less corner.
fn nearest(left: u8, up: u8, corner: u8) -> u8 {
    let guess = i16::from(left) + i16::from(up) - i16::from(corner);
    let off = |byte: u8| (guess - i16::from(byte)).abs();
    if off(left) <= off(up) && off(left) <= off(corner) {
        left
    } else if off(up) <= off(corner) {
        up
    } else {
        corner
    }
}

/// Each pixel of the smaller picture is the mean of those that it stands for.
fn smaller(
    width: usize,
    height: usize,
    most: (usize, usize),
    pixel: impl Fn(usize, usize) -> [u8; 4],
) -> Pixels {
    let (most_width, most_height) = (most.0.max(1), most.1.max(1));
    // The side that is more too large says how much smaller it gets.
    let (new_width, new_height) = if width <= most_width && height <= most_height {
        (width, height)
    } else if width * most_height > height * most_width {
        (most_width, (height * most_width / width).max(1))
    } else {
        ((width * most_height / height).max(1), most_height)
    };
    let mut all = Vec::with_capacity(new_width * new_height);
    for y in 0..new_height {
        let rows = y * height / new_height..((y + 1) * height / new_height).max(y * height / new_height + 1);
        for x in 0..new_width {
            let columns = x * width / new_width..((x + 1) * width / new_width).max(x * width / new_width + 1);
            let mut sums = [0usize; 4];
            for (row, column) in rows.clone().flat_map(|row| columns.clone().map(move |column| (row, column)))
            {
                for (sum, value) in sums.iter_mut().zip(pixel(column, row)) {
                    *sum += usize::from(value);
                }
            }
            let count = rows.len() * columns.len();
            all.push(sums.map(|sum| u8::try_from(sum / count).unwrap_or(255)));
        }
    }
    Pixels { width: new_width, height: new_height, all }
}

#[cfg(test)]
mod tests {
    use super::read;
    use miniz_oxide::deflate::compress_to_vec_zlib;

    /// A file of these rows, each with its filter before it.
    fn png(width: u32, height: u32, depth: u8, kind: u8, more: &[(&[u8; 4], &[u8])], rows: &[u8]) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut head = [width.to_be_bytes(), height.to_be_bytes()].concat();
        head.extend([depth, kind, 0, 0, 0]);
        let packed = compress_to_vec_zlib(rows, 6);
        let data: &[(&[u8; 4], &[u8])] = &[(b"IDAT", &packed), (b"IEND", &[])];
        for (name, data) in [(b"IHDR", head.as_slice())].iter().chain(more).chain(data) {
            file.extend((data.len() as u32).to_be_bytes());
            file.extend_from_slice(*name);
            file.extend_from_slice(data);
            file.extend([0; 4]);
        }
        file
    }

    #[test]
    fn every_filter_and_kind_of_pixel_is_read() {
        // Red, green, blue in rows that are filtered by left, up, mean and the nearest of three.
        let rows = [
            [0, 10, 20, 30, 40, 50, 60],
            [1, 10, 20, 30, 30, 30, 30],
            [2, 0, 0, 0, 0, 0, 0],
            [3, 5, 10, 15, 15, 15, 15],
            [4, 0, 0, 0, 0, 0, 0],
        ];
        let read_back = read(&png(2, 5, 8, 2, &[], &rows.concat()), (99, 99)).unwrap();
        for row in read_back.all.chunks(2) {
            assert_eq!(row, [[10, 20, 30, 255], [40, 50, 60, 255]]);
        }
        let grey = read(&png(3, 1, 2, 0, &[], &[0, 0b0001_1100]), (9, 9)).unwrap();
        assert_eq!(grey.all.iter().map(|pixel| pixel[0]).collect::<Vec<_>>(), [0, 85, 255]);
        let colours: &[(&[u8; 4], &[u8])] = &[(b"PLTE", &[1, 2, 3, 4, 5, 6]), (b"tRNS", &[255, 0])];
        let chosen = read(&png(2, 1, 1, 3, colours, &[0, 0b0100_0000]), (9, 9)).unwrap();
        assert_eq!(chosen.all, [[1, 2, 3, 255], [4, 5, 6, 0]]);
        let deep = read(&png(1, 1, 16, 6, &[], &[0, 9, 99, 8, 99, 7, 99, 6, 99]), (9, 9)).unwrap();
        assert_eq!(deep.all, [[9, 8, 7, 6]]);
    }

    #[test]
    fn a_picture_is_made_smaller_by_its_means_and_keeps_its_shape() {
        let rows: Vec<u8> = (0..4).flat_map(|row| [0, row * 10, row * 10, 100, 100]).collect();
        let small = read(&png(4, 4, 8, 0, &[], &rows), (2, 99)).unwrap();
        assert_eq!((small.width, small.height), (2, 2));
        assert_eq!(small.all.iter().map(|pixel| pixel[0]).collect::<Vec<_>>(), [5, 100, 25, 100]);
    }

    #[test]
    fn what_is_damaged_or_too_large_is_not_read() {
        let good = png(2, 1, 8, 0, &[], &[0, 1, 2]);
        for length in 0..good.len() - 12 {
            _ = read(&good[..length], (9, 9));
        }
        assert_eq!(read(&png(2, 2, 8, 0, &[], &[0, 1, 2]), (9, 9)), None, "a row is missing");
        assert_eq!(read(&png(2, 1, 8, 0, &[], &[9, 1, 2]), (9, 9)), None, "there is no such filter");
        assert_eq!(read(&png(u32::MAX, u32::MAX, 8, 0, &[], &[0]), (9, 9)), None);
        assert_eq!(
            read(&png(1, 1, 8, 0, &[], &vec![0; 1 << 20]), (9, 9)),
            None,
            "there is more than it says"
        );
    }
}
