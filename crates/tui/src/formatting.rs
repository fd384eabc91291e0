//! Numbers as people say them.

use ostler_types::Cost;

/// A number of tokens.
pub(crate) fn tokens(count: u64) -> String {
    match count {
        0..1000 => format!("{count} tokens"),
        1000..1_000_000 => format!("{}.{}k tokens", count / 1000, count % 1000 / 100),
        _ => format!("{}.{}M tokens", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

/// Money in dollars: to the cent, and below ten cents with two digits that say something.
pub(crate) fn money(cost: Cost) -> String {
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

/// A time.
pub(crate) fn duration(milliseconds: u64) -> String {
    match milliseconds {
        0..1000 => format!("{milliseconds} ms"),
        1000..60_000 => format!("{}.{} s", milliseconds / 1000, milliseconds % 1000 / 100),
        60_000..3_600_000 => format!("{} min {} s", milliseconds / 60_000, milliseconds % 60_000 / 1000),
        _ => format!("{} h {} min", milliseconds / 3_600_000, milliseconds % 3_600_000 / 60_000),
    }
}

/// How long ago, roughly.
pub(crate) fn ago(seconds: i64) -> String {
    match seconds {
        ..60 => "now".to_owned(),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// The last part of a path, or the path with the home directory shortened.
pub(crate) fn short_path(path: &str, home: Option<&str>) -> String {
    match home.and_then(|home| path.strip_prefix(home)) {
        Some("") => "~".to_owned(),
        Some(rest) if rest.starts_with('/') => format!("~{rest}"),
        Some(_) | None => path.to_owned(),
    }
}

/// How long something has taken so far, in whole seconds.
pub(crate) fn elapsed(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// A number with its noun, in the plural where it is not one.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {noun}s") }
}
