//! Small pieces of text: the excerpt of an output, a time, a reason, an amount of money.

use jiff::Timestamp;
use ostler_types::{Cost, in_one_line};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::LINE_WIDTH;
use super::sanitize::sanitize;
use super::style::{Paint, Style};

/// How many lines of an output are drawn.
const OUTPUT_LINES: usize = 4;

/// The first and the last lines of a text, and how many were left out between them.
pub(super) fn excerpt(text: &str) -> Vec<String> {
    let text = sanitize(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let short = |line: &&str| in_one_line(line, LINE_WIDTH);
    if lines.len() <= OUTPUT_LINES + 1 {
        return lines.iter().map(short).collect();
    }
    let (head, tail) = (OUTPUT_LINES / 2, OUTPUT_LINES - OUTPUT_LINES / 2);
    let mut kept: Vec<String> = lines[..head].iter().map(short).collect();
    kept.push(format!("… {} more lines", lines.len() - OUTPUT_LINES));
    kept.extend(lines[lines.len() - tail..].iter().map(short));
    kept
}

/// A number with its noun, in the plural where it is not one.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}

/// Adds a reason, if there is one.
pub(super) fn with_reason(text: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) if !reason.trim().is_empty() => format!("{text}: {reason}"),
        _ => text.to_owned(),
    }
}

/// A time as people say it.
pub(super) fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        _ => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1000),
    }
}

/// Money in dollars: to the cent, and below ten cents with two digits that say something.
pub fn money(cost: Cost) -> String {
    let nanos = u128::from(cost.nanos());
    let mut decimals: u32 = 2;
    while decimals < 9 && nanos > 0 && nanos * 10u128.pow(decimals - 1) < 1_000_000_000 {
        decimals += 1;
    }
    let unit = 10u128.pow(9 - decimals);
    let rounded = (nanos + unit / 2) / unit;
    let scale = 10u128.pow(decimals);
    format!("${}.{:0width$}", rounded / scale, rounded % scale, width = decimals as usize)
}

/// How long ago something was, in one unit.
pub(super) fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.as_second() - then.as_second();
    match seconds {
        ..60 => "now".to_owned(),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A text in its colour.
pub(super) fn painted(style: Style, paint: Paint, text: &str) -> String {
    let mut line = String::new();
    style.push(paint, text, &mut line);
    line
}

/// As much of a text as fits into so many columns.
pub(super) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.trim_end().to_owned();
    }
    let mut width = 0;
    let fits = |letter: &char| {
        width += letter.width().unwrap_or(0);
        width < columns
    };
    let kept: String = text.chars().take_while(fits).collect();
    kept + "…"
}

#[cfg(test)]
mod tests {
    use ostler_types::Cost;

    use super::money;

    #[test]
    fn money_has_as_many_digits_as_say_something() {
        for (nanos, text) in [
            (0, "$0.00"),
            (1, "$0.000000001"),
            (12_300, "$0.000012"),
            (1_234_567, "$0.0012"),
            (12_345_678, "$0.012"),
            (99_600_000, "$0.100"),
            (100_000_000, "$0.10"),
            (1_234_567_890, "$1.23"),
            (1_995_000_000, "$2.00"),
            (1_234_567_890_000, "$1234.57"),
            (u64::MAX, "$18446744073.71"),
        ] {
            assert_eq!(money(Cost::from_nanos(nanos)), text, "{nanos}");
        }
    }
}
