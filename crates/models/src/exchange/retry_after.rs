//! How long a provider asks to be left alone, from the headers of its refusal.
//!
//! Points in time are read against the response's own date, so that the clocks of the two machines need
//! not agree. What is done with the answer is left to the caller.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// Longer waits than this are no different from each other.
const LONGEST_WAIT: Duration = Duration::from_secs(400 * 24 * 3600);

/// The limits that have both a count of what remains and a time at which it is filled up again.
const RATE_LIMIT_HEADERS: [(&str, &str); 7] = [
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
];

/// The wait that the headers ask for; the most exact of them counts. None if they ask for none.
pub(super) fn requested_wait(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let now = text(DATE.as_str()).and_then(http_date);
    let in_milliseconds = text("retry-after-ms").and_then(|value| seconds(value, 1000.0));
    let plain = || {
        text(RETRY_AFTER.as_str())
            .and_then(|value| seconds(value, 1.0).or_else(|| duration_until(now, http_date(value))))
    };
    let filled_up = || {
        let exhausted =
            RATE_LIMIT_HEADERS.iter().filter(|(remaining, _)| text(remaining).is_some_and(is_zero));
        exhausted.filter_map(|(_, reset)| reset_in(text(reset)?, now)).max()
    };
    in_milliseconds.or_else(plain).or_else(filled_up).filter(|wait| !wait.is_zero())
}

/// A count of seconds, or of parts of them.
fn seconds(value: &str, in_a_second: f64) -> Option<Duration> {
    let count = value.parse::<f64>().ok().filter(|count| count.is_finite() && *count >= 0.0)?;
    Some(Duration::try_from_secs_f64(count / in_a_second).map_or(LONGEST_WAIT, |wait| wait.min(LONGEST_WAIT)))
}

fn is_zero(value: &str) -> bool {
    value.parse::<f64>().is_ok_and(|count| count <= 0.0)
}

/// A reset is a point in time, or a span such as `6m0s`; a bare number is the time in milliseconds.
fn reset_in(value: &str, now: Option<Timestamp>) -> Option<Duration> {
    if let Ok(milliseconds) = value.parse::<i64>() {
        return duration_until(now, Timestamp::from_millisecond(milliseconds).ok());
    }
    span(value).or_else(|| duration_until(now, value.parse().ok()))
}

fn duration_until(now: Option<Timestamp>, then: Option<Timestamp>) -> Option<Duration> {
    let span = then?.duration_since(now?);
    Some(Duration::try_from(span).unwrap_or_default().min(LONGEST_WAIT))
}

fn http_date(value: &str) -> Option<Timestamp> {
    rfc2822::DateTimeParser::new().parse_timestamp(value).ok()
}

/// A span as Go writes it: numbers, each with its unit.
fn span(text: &str) -> Option<Duration> {
    let (mut rest, mut whole) = (text, Duration::ZERO);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, tail) = rest.split_at(digits);
        let unit_end = tail.find(|c: char| c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let in_a_second = match unit {
            "ms" => 1000.0,
            "s" => 1.0,
            "m" => 1.0 / 60.0,
            "h" => 1.0 / 3600.0,
            "d" => 1.0 / 86_400.0,
            _ => return None,
        };
        whole = whole.saturating_add(seconds(number, in_a_second)?);
        rest = tail;
    }
    (!text.is_empty()).then_some(whole.min(LONGEST_WAIT))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

    use super::requested_wait;

    fn wait(headers: &[(&'static str, &'static str)]) -> Option<u128> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        requested_wait(&map).as_ref().map(Duration::as_millis)
    }

    #[test]
    fn a_wait_is_understood_in_every_form() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let later = ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT");
        assert_eq!(wait(&[("retry-after", "17")]), Some(17_000));
        assert_eq!(wait(&[("retry-after", " 1.5 ")]), Some(1_500));
        assert_eq!(wait(&[("retry-after-ms", "250"), ("retry-after", "1")]), Some(250));
        assert_eq!(wait(&[date, later]), Some(30_000));
        let reset = ("anthropic-ratelimit-tokens-reset", "1994-11-06T08:49:50Z");
        assert_eq!(wait(&[date, ("anthropic-ratelimit-tokens-remaining", "0"), reset]), Some(13_000));
        let (remaining, reset) = ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens");
        assert_eq!(wait(&[(remaining, "0"), (reset, "6m0s")]), Some(360_000));
        assert_eq!(wait(&[(remaining, "0"), (reset, "1h2m3.5s")]), Some(3_723_500));
        assert_eq!(wait(&[(remaining, "0"), (reset, "20ms")]), Some(20));
        let router = [date, ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "784111781000")];
        assert_eq!(wait(&router), Some(4_000));
        let both = [
            (remaining, "0"),
            (reset, "1s"),
            ("x-ratelimit-remaining-requests", "0"),
            ("x-ratelimit-reset-requests", "9s"),
        ];
        assert_eq!(wait(&both), Some(9_000), "the last of the limits decides");
    }

    #[test]
    fn what_asks_for_no_wait_is_none() {
        let later = ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT");
        assert_eq!(wait(&[]), None);
        assert_eq!(wait(&[later]), None, "without a date nobody knows when that is");
        assert_eq!(wait(&[("date", "Sun, 06 Nov 1994 08:51:07 GMT"), later]), None, "it is over");
        for value in ["0", "-3", "soon", "", "NaN", "inf"] {
            assert_eq!(wait(&[("retry-after", value)]), None, "{value}");
        }
        let some_left = [("x-ratelimit-remaining-tokens", "5"), ("x-ratelimit-reset-tokens", "1s")];
        assert_eq!(wait(&some_left), None, "this limit was not the reason");
        assert!(wait(&[("retry-after", "1e300")]).is_some_and(|wait| wait > 1_000_000));
    }
}
