//! What goes wrong with a provider, in words that say what to do.
//!
//! A server's own message is shown, shortened and with the key taken out of it. Nothing here decides
//! whether to try again.

use std::borrow::Cow;
use std::error::Error;

use ostler_types::Role;
use reqwest::StatusCode;
use serde::Deserialize;
use serde_json::Value;

use crate::{ModelError, ProviderConfig};

/// How much of a server's own words is shown, in characters.
const MAX_QUOTE: usize = 500;

/// The code of a conversation that the model has no room for.
const OVERFLOW: &str = "context_overflow";
const SHORTEN: &str = "shorten the conversation, begin a new session, or use a model with a larger window";
const WAIT: &str = "wait a little, then retry the turn, or use another model";

/// An answer other than 2xx.
pub(crate) fn of_status(
    provider: &ProviderConfig,
    status: StatusCode,
    retry_after: Option<&str>,
    body: &str,
) -> ModelError {
    let name = &provider.name;
    let reported = Reported::from_body(body);
    let said = if reported.message.is_empty() { String::new() } else { format!(": {}", reported.message) };
    let code = match code_of_status(status.as_u16()) {
        "bad_request" if reported.code == OVERFLOW => OVERFLOW,
        code => code,
    };
    let message = format!("provider `{name}` answered {}{said}", status.as_u16());
    let error = ModelError::new(code, shown(provider, &message));
    match code {
        "unauthorized" => error.hint(key_hint(provider)),
        "rate_limited" | "overloaded" => error.hint(match retry_after {
            Some(delay) => format!("the provider asks to wait; retry-after: {}", shown(provider, delay)),
            None => WAIT.to_owned(),
        }),
        OVERFLOW => error.hint(SHORTEN),
        "not_found" => error.hint(format!("check the model's name and `base_url` in [providers.{name}]")),
        _ if status.is_redirection() => error.hint(format!(
            "redirects are not followed; set `base_url` in [providers.{name}] to the address that the server points to"
        )),
        _ => error,
    }
}

/// An error that the server reported inside a stream that began well, as its raw JSON.
pub(crate) fn of_report(json: &str) -> ModelError {
    let reported = Reported::from_body(json);
    let message = if reported.message.is_empty() { "no reason was given" } else { &reported.message };
    ModelError::new(reported.code, format!("the server reported an error: {message}"))
}

/// An answer that filled what was left of the model's window.
pub(crate) fn context_overflow() -> ModelError {
    ModelError::new(OVERFLOW, "the conversation and its answer are longer than the model's window")
}

/// A request that did not get through, or a body that broke off.
pub(crate) fn of_transport(provider: &ProviderConfig, error: reqwest::Error) -> ModelError {
    let (connecting, error) = (error.is_connect(), error.without_url());
    let mut message = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        let text = inner.to_string();
        if !message.contains(&text) {
            message = format!("{message}: {text}");
        }
        source = inner.source();
    }
    let (name, base_url) = (&provider.name, &provider.base_url);
    if connecting {
        let message = format!("cannot reach provider `{name}` at {base_url}: {message}");
        ModelError::new("unreachable", shown(provider, &message))
            .hint("check that the server is running, the network, `base_url`, and for https this machine's root certificates")
    } else {
        cut(provider, &message)
    }
}

/// A stream that ended before the answer did.
pub(crate) fn cut(provider: &ProviderConfig, why: &str) -> ModelError {
    let message =
        format!("the stream from provider `{}` broke off before the answer was whole: {why}", provider.name);
    ModelError::new("cut_stream", shown(provider, &message))
        .hint("retry the turn; what arrived has been kept")
}

/// Nothing came for too long.
pub(crate) fn timed_out(provider: &ProviderConfig, what: &str, limit: std::time::Duration) -> ModelError {
    let message = format!("provider `{}` {what} within {limit:?}", provider.name);
    ModelError::new("timeout", message).hint("retry the turn, or use another model")
}

/// A response that is not what the protocol says.
pub(crate) fn unreadable(why: &str, text: &str) -> ModelError {
    let start = if text.is_empty() { String::new() } else { format!("; it begins: {}", shorten(text, 200)) };
    ModelError::new("bad_response", format!("the response cannot be read: {why}{start}"))
}

/// Names the provider in an error that does not know it, and takes the key out.
pub(crate) fn of_provider(provider: &ProviderConfig, error: ModelError) -> ModelError {
    let message = shown(provider, &format!("provider `{}`: {}", provider.name, error.message));
    let hint = error.hint.or_else(|| match error.code {
        "unauthorized" => Some(key_hint(provider)),
        "bad_response" => {
            let protocol = provider.kind.protocol();
            Some(format!("check that `base_url` leads to a server that speaks {protocol}"))
        }
        "rate_limited" | "overloaded" => Some(WAIT.to_owned()),
        OVERFLOW => Some(SHORTEN.to_owned()),
        _ => None,
    });
    ModelError { code: error.code, message, hint }
}

/// A part that a protocol's client has no way to send, rather than one that is left out silently.
pub(crate) fn cannot_send(what: &str) -> ModelError {
    ModelError::new("unsupported_part", format!("this provider client cannot send {what} yet")).hint(
        "send the message again without the attachment, or put the file in the workspace and name its path",
    )
}

/// A part in a message whose role cannot hold it.
pub(crate) fn misplaced(role: Role) -> ModelError {
    let message =
        format!("a message of role `{}` holds a part that such a message cannot hold", role.as_str());
    ModelError::new("unsupported_part", message)
}

/// A body that cannot be written.
pub(crate) fn unwritable(error: &serde_json::Error) -> ModelError {
    ModelError::new("bad_request", format!("the request cannot be written as JSON: {error}"))
}

/// The server's words on an error, wherever it put them.
struct Reported {
    code: &'static str,
    message: String,
}

impl Reported {
    fn from_body(body: &str) -> Reported {
        let Ok(value) = serde_json::from_str::<Value>(body) else {
            return Reported { code: "provider_error", message: body.trim().to_owned() };
        };
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(&value);
        let fields = ErrorFields::deserialize(error).unwrap_or_default();
        let message = [error, &fields.message, &fields.detail, &value["message"], &value["detail"]]
            .into_iter()
            .find_map(Value::as_str)
            .map_or_else(|| error.to_string(), str::to_owned);
        let code = match fields.code() {
            "bad_request" | "provider_error" if overflows(&message) => OVERFLOW,
            code => code,
        };
        Reported { code, message }
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct ErrorFields {
    message: Value,
    detail: Value,
    code: Value,
    r#type: Value,
}

impl ErrorFields {
    /// Servers put a status, a word or nothing there, in either field.
    fn code(&self) -> &'static str {
        if let Some(status) = self.code.as_u64().and_then(|status| u16::try_from(status).ok()) {
            return code_of_status(status);
        }
        let word = |value: &Value| value.as_str().unwrap_or_default().to_ascii_lowercase();
        let words = format!("{} {}", word(&self.code), word(&self.r#type));
        let has = |part: &str| words.contains(part);
        if has("rate_limit") || has("quota") {
            "rate_limited"
        } else if has("overloaded") || has("unavailable") {
            "overloaded"
        } else if has("auth") || has("api_key") || has("permission") {
            "unauthorized"
        } else if has("context_length") {
            OVERFLOW
        } else if has("not_found") {
            "not_found"
        } else if has("invalid_request") || has("badrequest") || has("too_large") {
            "bad_request"
        } else {
            "provider_error"
        }
    }
}

/// Whether a message says that the prompt is too long; there is a word for it only at some providers.
fn overflows(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    ["prompt is too long", "exceed context limit", "context window", "maximum context length"]
        .iter()
        .any(|words| message.contains(words))
}

fn code_of_status(status: u16) -> &'static str {
    match status {
        401 | 403 => "unauthorized",
        404 => "not_found",
        429 => "rate_limited",
        502..=504 | 529 => "overloaded",
        400 | 413 | 422 => "bad_request",
        _ => "http_error",
    }
}

fn key_hint(provider: &ProviderConfig) -> String {
    let name = &provider.name;
    let state = if provider.api_key.is_some() { "check the key" } else { "no key is set; add one" };
    format!(
        "{state} of [providers.{name}] in the configuration; `ostler config show` says where it is read from"
    )
}

/// What may be shown of a text: no key, no control characters, not too long. The key goes first, as a
/// cut could leave a part of it.
fn shown(provider: &ProviderConfig, text: &str) -> String {
    let text = match &provider.api_key {
        Some(key) => Cow::Owned(key.redact(text)),
        None => Cow::Borrowed(text),
    };
    shorten(&text, MAX_QUOTE)
}

fn shorten(text: &str, limit: usize) -> String {
    let mut characters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = characters.by_ref().take(limit).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}
