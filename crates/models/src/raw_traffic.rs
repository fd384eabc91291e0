//! What goes over the wire, shown to whoever wants to see it, without secrets and in bounded pieces.
//!
//! Called only when somebody listens, so it costs nothing otherwise. Where it is written to is left to
//! the listener.

use ostler_types::RawLine;
use reqwest::{StatusCode, Url};
use serde_json::Value;

use crate::RawTrafficSink;
use crate::secret::SecretRedactor;
use crate::sse::SseEvent;

/// How much of a request is shown. Enough for any conversation; pictures are what goes beyond it.
const MAX_PAYLOAD: usize = 8 * 1024 * 1024;
/// How much of a body is shown that did not come as a stream.
const MAX_BODY: usize = 1024 * 1024;
/// A string that is no longer than this is never shortened, and what is left of one that is.
const MIN_SHORTENED_BYTES: usize = 4 * 1024;

/// Shows a request.
pub(crate) fn show_request(sink: &RawTrafficSink, hidden: &SecretRedactor, url: &Url, body: &[u8]) {
    let mut payload = serde_json::from_slice(body).unwrap_or(Value::Null);
    hidden.redact_value(&mut payload);
    shorten(&mut payload, body.len());
    sink(RawLine::Request { endpoint: hidden.redact(&address_without_secrets(url)).into_owned(), payload });
}

/// Shows the head of a response, and its body unless that comes as a stream.
pub(crate) fn show_response(sink: &RawTrafficSink, hidden: &SecretRedactor, status: StatusCode, body: &str) {
    // Secrets go first, as the cut could leave a part of one.
    let body = hidden.redact_json(body);
    let body = body[..body.floor_char_boundary(MAX_BODY)].to_owned();
    sink(RawLine::Response { status: status.as_u16(), body });
}

/// Shows one event of a stream.
pub(crate) fn show_chunk(sink: &RawTrafficSink, hidden: &SecretRedactor, event: &SseEvent<'_>) {
    let (event, chunk) = (hidden.redact(&event.name), hidden.redact_json(&event.data));
    sink(RawLine::StreamChunk { event: event.into_owned(), chunk: chunk.into_owned() });
}

/// The address without what may hold a secret.
fn address_without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    // Fails only for addresses without a host, which hold no user either.
    let _ = url.set_username("").and_then(|()| url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

/// Cuts the longest strings until the whole fits.
fn shorten(payload: &mut Value, mut size: usize) {
    if size <= MAX_PAYLOAD {
        return;
    }
    let mut lengths = Vec::new();
    each_string(payload, &mut |text| lengths.push(text.len()));
    lengths.sort_unstable_by(|a, b| b.cmp(a));
    let mut limit = usize::MAX;
    for length in lengths.into_iter().filter(|length| *length > MIN_SHORTENED_BYTES) {
        if size <= MAX_PAYLOAD {
            break;
        }
        (size, limit) = (size.saturating_sub(length - MIN_SHORTENED_BYTES), length);
    }
    each_string(payload, &mut |text| {
        if text.len() >= limit {
            let left_out = text.len() - text.floor_char_boundary(MIN_SHORTENED_BYTES);
            text.truncate(text.floor_char_boundary(MIN_SHORTENED_BYTES));
            text.push_str(&format!("… [{left_out} bytes left out]"));
        }
    });
}

fn each_string(value: &mut Value, visit: &mut impl FnMut(&mut String)) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => visit(text),
        Value::Array(values) => values.iter_mut().for_each(|value| each_string(value, visit)),
        Value::Object(members) => members.values_mut().for_each(|value| each_string(value, visit)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MAX_PAYLOAD, MIN_SHORTENED_BYTES, address_without_secrets, shorten};

    #[test]
    fn an_address_holds_no_secret() {
        let url = "https://user:pass@example.org:8443/v1/messages?key=sk-1#top".parse().unwrap();
        assert_eq!(address_without_secrets(&url), "https://example.org:8443/v1/messages");
    }

    #[test]
    fn only_the_longest_strings_are_cut_and_only_when_they_must() {
        let (huge, large) = ("é".repeat(MAX_PAYLOAD / 2), "y".repeat(MIN_SHORTENED_BYTES * 8));
        let mut payload = json!({ "a": [{ "data": huge, "text": large }], "b": "short" });
        let size = payload.to_string().len();
        shorten(&mut payload, size);
        let cut = payload["a"][0]["data"].as_str().unwrap();
        assert!(
            cut.len() < MIN_SHORTENED_BYTES + 100
                && cut.ends_with(&format!("… [{} bytes left out]", MAX_PAYLOAD - MIN_SHORTENED_BYTES))
        );
        assert_eq!(payload["a"][0]["text"], large.as_str());
        let before = payload.clone();
        let size = payload.to_string().len();
        shorten(&mut payload, size);
        assert_eq!(payload, before);
    }
}
