//! A picture as sixels: bands of six rows, colour by colour, in a cube of 216 colours.

use super::png::{self, Pixels};

/// Steps of a colour.
const STEPS: usize = 6;
/// What is less solid than this is not drawn.
const SOLID: u8 = 128;

/// A PNG as sixels of at most so many pixels; none when it cannot be read.
pub(super) fn from_png(file: &[u8], most: (usize, usize)) -> Option<Vec<u8>> {
    Some(draw(&png::read(file, most)?).into_bytes())
}

fn draw(pixels: &Pixels) -> String {
    let Pixels { width, height, .. } = *pixels;
    // What is not drawn shows what is below, and a pixel is as high as it is wide.
    let mut out = format!("\x1bP0;1;0q\"1;1;{width};{height}");
    let mut told = [false; STEPS * STEPS * STEPS];
    for top in (0..height).step_by(6) {
        band(pixels, top, &mut told, &mut out);
        out.push('-');
    }
    out.push_str("\x1b\\");
    out
}

/// Six rows: for each colour that they have, one pass over all columns.
fn band(pixels: &Pixels, top: usize, told: &mut [bool], out: &mut String) {
    let rows = 6.min(pixels.height - top);
    let color_at = |x: usize, row: usize| color(pixels.all[(top + row) * pixels.width + x]);
    let mut colors: Vec<usize> =
        (0..rows).flat_map(|row| (0..pixels.width).filter_map(move |x| color_at(x, row))).collect();
    colors.sort_unstable();
    colors.dedup();
    for color in colors {
        if !std::mem::replace(&mut told[color], true) {
            let percent = |step: usize| step % STEPS * 100 / (STEPS - 1);
            let (red, green, blue) = (percent(color / 36), percent(color / 6), percent(color));
            out.push_str(&format!("#{color};2;{red};{green};{blue}"));
        }
        out.push_str(&format!("#{color}"));
        let (mut last, mut count) = ('?', 0);
        for x in 0..pixels.width {
            let set = (0..rows).filter(|row| color_at(x, *row) == Some(color));
            let bits = set.fold(0u8, |bits, row| bits | 1 << row);
            let letter = char::from(b'?' + bits);
            if letter != last {
                repeat(last, count, out);
                (last, count) = (letter, 0);
            }
            count += 1;
        }
        if last != '?' {
            repeat(last, count, out);
        }
        out.push('$');
    }
}

fn repeat(letter: char, count: usize, out: &mut String) {
    match count {
        0..4 => out.extend(std::iter::repeat_n(letter, count)),
        count => out.push_str(&format!("!{count}{letter}")),
    }
}

/// The nearest colour of the cube; none for what is not solid.
fn color([red, green, blue, solid]: [u8; 4]) -> Option<usize> {
    let step = |value: u8| (usize::from(value) * (STEPS - 1) + 127) / 255;
    (solid >= SOLID).then(|| step(red) * 36 + step(green) * 6 + step(blue))
}

#[cfg(test)]
mod tests {
    use super::{Pixels, draw};

    #[test]
    fn colours_are_told_once_and_bands_have_six_rows() {
        let (red, clear) = ([255, 0, 0, 255], [0, 0, 0, 0]);
        let mut all = vec![red; 5 * 7];
        all[34] = clear;
        let drawn = draw(&Pixels { width: 5, height: 7, all });
        assert_eq!(drawn, "\x1bP0;1;0q\"1;1;5;7#180;2;100;0;0#180!5~$-#180!4@$-\x1b\\");
    }
}
