//! Pictures from PNG files, made small enough for a terminal. The `png` crate reads them; here they are bounded: what is
//! too large is not read at all.

use std::io::Cursor;

use png::{ColorType, Decoder, Limits, Transformations};

/// The largest picture that is read, in pixels.
const MOST_PIXELS: usize = 9_000_000;
/// What reading may hold besides the pixels: a few rows, a palette.
const MOST_BYTES: usize = 8 << 20;

/// Pixels of red, green, blue and how solid they are, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pixels {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) all: Vec<[u8; 4]>,
}

/// Reads a picture, made smaller so that it fits into so many pixels; none when it cannot be read.
pub(super) fn read(png: &[u8], most: (usize, usize)) -> Option<Pixels> {
    let mut decoder = Decoder::new_with_limits(Cursor::new(png), Limits { bytes: MOST_BYTES });
    decoder.set_ignore_text_chunk(true);
    decoder.set_ignore_iccp_chunk(true);
    decoder.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    // The size is known, and refused, before anything of that size is made.
    let head = decoder.read_header_info().ok()?;
    let (width, height) = (usize::try_from(head.width).ok()?, usize::try_from(head.height).ok()?);
    if width.checked_mul(height).is_none_or(|pixels| pixels > MOST_PIXELS) {
        return None;
    }
    let mut reader = decoder.read_info().ok()?;
    let mut bytes = vec![0; reader.output_buffer_size()?];
    let frame = reader.next_frame(&mut bytes).ok()?;
    match frame.color_type {
        ColorType::Rgba => Some(smaller(width, height, most, |x, y| {
            let at = (y * width + x) * 4;
            [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]
        })),
        ColorType::GrayscaleAlpha => Some(smaller(width, height, most, |x, y| {
            let at = (y * width + x) * 2;
            [bytes[at], bytes[at], bytes[at], bytes[at + 1]]
        })),
        // Everything else becomes one of these two.
        ColorType::Rgb | ColorType::Grayscale | ColorType::Indexed => None,
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
    use png::{BitDepth, ColorType, Encoder};

    use super::read;

    /// A file of these rows.
    fn png(width: u32, height: u32, depth: BitDepth, color: ColorType, rows: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        let mut encoder = Encoder::new(&mut file, width, height);
        encoder.set_depth(depth);
        encoder.set_color(color);
        if color == ColorType::Indexed {
            encoder.set_palette(&[1, 2, 3, 4, 5, 6]);
            encoder.set_trns(&[255, 0]);
        }
        encoder.write_header().unwrap().write_image_data(rows).unwrap();
        file
    }

    /// The beginning of a file that promises so many pixels.
    fn promise(width: u32, height: u32) -> Vec<u8> {
        let good = png(1, 1, BitDepth::Eight, ColorType::Rgba, &[0; 4]);
        let mut file = Vec::new();
        drop(Encoder::new(&mut file, width, height).write_header().unwrap());
        file.truncate(33);
        file.extend_from_slice(&good[33..]);
        file
    }

    #[test]
    fn every_kind_of_pixel_is_read() {
        let read = |file: &[u8]| read(file, (9, 9)).unwrap().all;
        let colors = read(&png(2, 1, BitDepth::Eight, ColorType::Rgb, &[10, 20, 30, 40, 50, 60]));
        assert_eq!(colors, [[10, 20, 30, 255], [40, 50, 60, 255]]);
        let grey = read(&png(3, 1, BitDepth::Two, ColorType::Grayscale, &[0b0001_1100]));
        assert_eq!(grey, [[0, 0, 0, 255], [85, 85, 85, 255], [255, 255, 255, 255]]);
        let clear = read(&png(1, 1, BitDepth::Eight, ColorType::GrayscaleAlpha, &[7, 8]));
        assert_eq!(clear, [[7, 7, 7, 8]]);
        let chosen = read(&png(2, 1, BitDepth::One, ColorType::Indexed, &[0b0100_0000]));
        assert_eq!(chosen, [[1, 2, 3, 255], [4, 5, 6, 0]]);
        let deep = read(&png(1, 1, BitDepth::Sixteen, ColorType::Rgba, &[9, 99, 8, 99, 7, 99, 6, 99]));
        assert_eq!(deep, [[9, 8, 7, 6]]);
    }

    #[test]
    fn a_picture_is_made_smaller_by_its_means_and_keeps_its_shape() {
        let rows: Vec<u8> = (0..4).flat_map(|row| [row * 10, row * 10, 100, 100]).collect();
        let small = read(&png(4, 4, BitDepth::Eight, ColorType::Grayscale, &rows), (2, 99)).unwrap();
        assert_eq!((small.width, small.height), (2, 2));
        assert_eq!(small.all.iter().map(|pixel| pixel[0]).collect::<Vec<_>>(), [5, 100, 25, 100]);
    }

    #[test]
    fn what_is_damaged_or_too_large_is_not_read() {
        let good = png(20, 10, BitDepth::Eight, ColorType::Grayscale, &[7; 200]);
        for length in 0..good.len() - 16 {
            assert_eq!(read(&good[..length], (9, 9)), None, "cut to {length}");
        }
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x55;
            _ = read(&bad, (9, 9));
        }
        for (width, height) in
            [(u32::MAX, u32::MAX), (1, u32::MAX), (u32::MAX, 1), (3001, 3000), (9_000_000, 1)]
        {
            assert_eq!(read(&promise(width, height), (9, 9)), None, "{width} × {height}");
        }
        assert_eq!(read(b"\x89PNG\r\n\x1a\n", (9, 9)), None);
    }
}
