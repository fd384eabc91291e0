//! What goes wrong with a provider, in words that say what to do.
//!
//! A server's own message is shown, shortened and with the key taken out of it. Nothing here decides
//! whether to try again.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use ostler_types::Role;
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::Value;

use crate::secret::{ProviderKey, Secret, SecretRedactor};
use crate::{ModelError, ProviderConfig};

/// How much of a server's own words is shown, in characters.
const MAX_QUOTE: usize = 500;

/// The code of a conversation that the model has no room for.
const OVERFLOW: &str = "context_overflow";
const SHORTEN_HINT: &str =
    "shorten the conversation, begin a new session, or use a model with a larger window";
const WAIT_HINT: &str = "wait a little, then retry the turn, or use another model";
/// The code of an account that has nothing left; waiting does not help it.
const EXHAUSTED: &str = "quota_exhausted";
const PAY_HINT: &str = "add credit or raise the limit at the provider, or use another model";
const RAW_LOG_HINT: &str = "have the session keep a raw log (`raw_log`), which shows the request and the answer, or try another model";
const TOO_LARGE_HINT: &str = "leave out large attachments or begin a new session; a raw log (`raw_log`) shows the request; or try another model";

/// Whom an error is about, and what must not be shown of the exchange with them.
#[derive(Debug, Clone)]
pub(crate) struct ProviderPeer {
    pub(crate) provider: Arc<ProviderConfig>,
    pub(crate) hidden: SecretRedactor,
}

impl ProviderPeer {
    /// The provider, with what is known to be secret so far.
    pub(crate) fn new(provider: Arc<ProviderConfig>) -> ProviderPeer {
        let mut hidden = SecretRedactor::default();
        if let ProviderKey::Fixed(key) = &provider.api_key {
            hidden.add(key.clone());
        }
        if let Some(password) = Url::parse(&provider.base_url).ok().as_ref().and_then(Url::password) {
            hidden.add(Secret::new(password));
        }
        ProviderPeer { provider, hidden }
    }
}

/// An answer other than 2xx.
#[derive(Debug)]
pub(crate) struct RefusedResponse<'a> {
    pub(crate) status: StatusCode,
    /// How long it asks to be left alone.
    pub(crate) retry_after: Option<Duration>,
    /// Where a redirect points to.
    pub(crate) location: Option<&'a str>,
    pub(crate) body: &'a str,
}

/// Words an answer other than 2xx.
pub(crate) fn from_status(peer: &ProviderPeer, refused: &RefusedResponse<'_>) -> ModelError {
    let RefusedResponse { status, retry_after, location, body } = *refused;
    let name = &peer.provider.name;
    let reported = ReportedError::from_body(body);
    let said = if reported.message.is_empty() { String::new() } else { format!(": {}", reported.message) };
    let code = match code_of_status(status.as_u16()) {
        "bad_request" | "server_error" if reported.code == OVERFLOW => OVERFLOW,
        "bad_request" | "rate_limited" | "unauthorized" if reported.code == EXHAUSTED => EXHAUSTED,
        code => code,
    };
    let message = format!("provider `{name}` answered {}{said}", status.as_u16());
    let error = ModelError { retry_after, ..ModelError::new(code, quotable_text(peer, &message)) };
    match code {
        "unauthorized" if status == StatusCode::FORBIDDEN => error.hint(permission_hint(peer)),
        "unauthorized" => error.hint(key_hint(peer)),
        "rate_limited" | "overloaded" => error.hint(match retry_after {
            Some(wait) => format!(
                "the provider asks to be left alone for {wait:?}; then retry the turn, or use another model"
            ),
            None => WAIT_HINT.to_owned(),
        }),
        "timeout" => error.hint(WAIT_HINT),
        EXHAUSTED => error.hint(PAY_HINT),
        OVERFLOW => error.hint(SHORTEN_HINT),
        "not_found" => error.hint(format!("check the model's name and `base_url` in [providers.{name}]")),
        _ if status.is_redirection() => error.hint(redirect_hint(peer, location)),
        _ if status == StatusCode::PAYLOAD_TOO_LARGE => error.hint(TOO_LARGE_HINT),
        _ => error.hint(RAW_LOG_HINT),
    }
}

/// Only the host is named: the rest of an address may hold what is nobody else's business.
fn redirect_hint(peer: &ProviderPeer, location: Option<&str>) -> String {
    let base = Url::parse(&peer.provider.base_url).ok();
    let target = location.and_then(|location| match &base {
        Some(base) => base.join(location).ok(),
        None => Url::parse(location).ok(),
    });
    let target = match target.as_ref().and_then(Url::host_str) {
        Some(host) => format!("the server points to, which is on {}", quotable_text(peer, host)),
        None => "the server points to".to_owned(),
    };
    format!(
        "redirects are not followed; set `base_url` in [providers.{}] to the address that {target}",
        peer.provider.name
    )
}

/// An error that the server reported inside a stream that began well, as its raw JSON.
pub(crate) fn from_report(json: &str) -> ModelError {
    let reported = ReportedError::from_body(json);
    let message = if reported.message.is_empty() { "no reason was given" } else { &reported.message };
    ModelError::new(reported.code, format!("the server reported an error: {message}"))
}

/// An answer that filled what was left of the model's window.
pub(crate) fn context_overflow() -> ModelError {
    ModelError::new(OVERFLOW, "the conversation and its answer are longer than the model's window")
}

/// A request that did not get through, or a body that broke off.
pub(crate) fn from_transport(peer: &ProviderPeer, error: reqwest::Error) -> ModelError {
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
    let (name, base_url) = (&peer.provider.name, &peer.provider.base_url);
    if connecting {
        let message = format!("cannot reach provider `{name}` at {base_url}: {message}");
        ModelError::new("unreachable", quotable_text(peer, &message))
            .hint("check that the server is running, the network, `base_url`, and for https this machine's root certificates")
    } else {
        stream_cut(peer, &message)
    }
}

/// A stream that ended before the answer did.
pub(crate) fn stream_cut(peer: &ProviderPeer, why: &str) -> ModelError {
    let message = format!(
        "the stream from provider `{}` broke off before the answer was whole: {why}",
        peer.provider.name
    );
    ModelError::new("cut_stream", quotable_text(peer, &message))
        .hint("retry the turn; what arrived has been kept")
}

/// Nothing came for too long.
pub(crate) fn timed_out(peer: &ProviderPeer, what: &str, limit: Duration) -> ModelError {
    let message = format!("provider `{}` {what} within {limit:?}", peer.provider.name);
    ModelError::new("timeout", message).hint("retry the turn, or use another model")
}

/// A response that is not what the protocol says.
pub(crate) fn unreadable(why: &str, text: &str) -> ModelError {
    let start = if text.is_empty() { String::new() } else { format!("; it begins: {}", shorten(text, 200)) };
    ModelError::new("bad_response", format!("the response cannot be read: {why}{start}"))
}

/// Names the provider in an error that does not know it, and takes the key out.
pub(crate) fn with_provider(peer: &ProviderPeer, error: ModelError) -> ModelError {
    let message = quotable_text(peer, &format!("provider `{}`: {}", peer.provider.name, error.message));
    let hint = error.hint.or_else(|| match error.code {
        "unauthorized" => Some(key_hint(peer)),
        "bad_response" => {
            let protocol = peer.provider.kind.name();
            Some(format!("check that `base_url` leads to a server that speaks {protocol}"))
        }
        "rate_limited" | "overloaded" => Some(WAIT_HINT.to_owned()),
        OVERFLOW => Some(SHORTEN_HINT.to_owned()),
        EXHAUSTED => Some(PAY_HINT.to_owned()),
        "bad_request" | "server_error" | "provider_error" | "http_error" => Some(RAW_LOG_HINT.to_owned()),
        _ => None,
    });
    ModelError { message, hint, ..error }
}

/// An answer that came to its end without a word or a call.
pub(crate) fn empty_answer() -> ModelError {
    ModelError::new("empty_answer", "the model ended its answer without saying anything")
        .hint("retry the turn, say more of what is wanted, or use another model")
}

/// A part in a message whose role cannot hold it.
pub(crate) fn misplaced_part(role: Role) -> ModelError {
    let message =
        format!("a message of role `{}` holds a part that such a message cannot hold", role.as_str());
    ModelError::new("unsupported_part", message)
}

/// A body that cannot be written.
pub(crate) fn body_not_encodable(error: &serde_json::Error) -> ModelError {
    ModelError::new("bad_request", format!("the request cannot be written as JSON: {error}"))
}

/// The server's words on an error, wherever it put them.
struct ReportedError {
    code: &'static str,
    message: String,
}

impl ReportedError {
    fn from_body(body: &str) -> ReportedError {
        let Ok(mut value) = serde_json::from_str::<Value>(body) else {
            return ReportedError { code: "provider_error", message: body.trim().to_owned() };
        };
        // Google's is the one element of a list.
        if let Some(first) = value.as_array_mut().and_then(|list| list.first_mut()) {
            value = first.take();
        }
        let error = value.get("error").filter(|error| !error.is_null()).unwrap_or(&value);
        let fields = ErrorFields::deserialize(error).unwrap_or_default();
        let message = [error, &fields.message, &fields.detail, &value["message"], &value["detail"]]
            .into_iter()
            .find_map(Value::as_str)
            .map_or_else(|| error.to_string(), str::to_owned);
        let code = match fields.code() {
            "bad_request" | "provider_error" | "server_error" if overflows(&message) => OVERFLOW,
            "bad_request" | "provider_error" if message.contains("credit balance is too low") => EXHAUSTED,
            code => code,
        };
        ReportedError { code, message }
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
    /// Servers put a status, a word or nothing there, in either field. A word that says what a number
    /// leaves open counts before the number.
    fn code(&self) -> &'static str {
        let status = self.code.as_u64().and_then(|status| u16::try_from(status).ok()).map(code_of_status);
        match (self.code_of_words(), status) {
            (code @ (OVERFLOW | EXHAUSTED), _) | (code, None) => code,
            (_, Some(code)) => code,
        }
    }

    fn code_of_words(&self) -> &'static str {
        let word = |value: &Value| value.as_str().unwrap_or_default().to_ascii_lowercase();
        let words = format!("{} {}", word(&self.code), word(&self.r#type));
        let has = |part: &str| words.contains(part);
        if has("insufficient_quota") || has("billing") || has("insufficient_credit") {
            EXHAUSTED
        } else if has("rate_limit") || has("quota") || has("resource_exhausted") {
            "rate_limited"
        } else if has("overloaded") || has("unavailable") {
            "overloaded"
        } else if has("auth") || has("api_key") || has("permission") {
            "unauthorized"
        } else if has("context_length") || has("exceed_context_size") {
            OVERFLOW
        } else if has("not_found") {
            "not_found"
        } else if has("invalid_request") || has("badrequest") || has("too_large") {
            "bad_request"
        } else if has("server_error") || has("api_error") || has("internal") {
            "server_error"
        } else {
            "provider_error"
        }
    }
}

/// Whether a message says that the prompt is too long; there is a word for it only at some providers.
fn overflows(message: &str) -> bool {
    let message = message.to_ascii_lowercase();
    OVERFLOWS.iter().any(|words| message.contains(words))
}

/// How Anthropic (twice), OpenAI, most others, llama.cpp (twice), Google and xAI say it.
const OVERFLOWS: [&str; 8] = [
    "prompt is too long",
    "exceed context limit",
    "context window",
    "context length",
    "exceeds the available context size",
    "context size has been exceeded",
    "exceeds the maximum number of tokens allowed",
    "maximum prompt length",
];

fn code_of_status(status: u16) -> &'static str {
    match status {
        401 | 403 => "unauthorized",
        402 => EXHAUSTED,
        404 => "not_found",
        408 => "timeout",
        429 => "rate_limited",
        502..=504 | 529 => "overloaded",
        500..=599 => "server_error",
        400 | 413 | 422 => "bad_request",
        _ => "http_error",
    }
}

fn key_hint(peer: &ProviderPeer) -> String {
    let name = &peer.provider.name;
    match peer.provider.api_key {
        ProviderKey::None => {
            let variable = peer.provider.catalogue_preset().and_then(|preset| preset.key_variables.first());
            let set =
                variable.map(|variable| format!("set {variable} in the environment of the daemon, or "));
            format!(
                "no key is set for provider `{name}`; {}name one by `api_key_env`, `api_key_file` or `api_key_command` in [providers.{name}]",
                set.unwrap_or_default()
            )
        }
        ProviderKey::Fixed(_) | ProviderKey::Found(_) => format!(
            "the key of [providers.{name}] was refused; it comes from {}, so put a valid one there",
            peer.provider.key_source_text()
        ),
    }
}

/// A key that is good, for something that it is not good for.
fn permission_hint(peer: &ProviderPeer) -> String {
    match peer.provider.api_key {
        ProviderKey::None => key_hint(peer),
        ProviderKey::Fixed(_) | ProviderKey::Found(_) => format!(
            "the key of [providers.{}] may not do this; give it the right to use the model at the provider, or put another one in its place: it comes from {}",
            peer.provider.name,
            peer.provider.key_source_text()
        ),
    }
}

/// What may be shown of a text: no key, no control characters, not too long. The key goes first, as a
/// cut could leave a part of it.
fn quotable_text(peer: &ProviderPeer, text: &str) -> String {
    shorten(&peer.hidden.redact(text), MAX_QUOTE)
}

fn shorten(text: &str, limit: usize) -> String {
    let mut characters = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let mut short: String = characters.by_ref().take(limit).collect();
    if characters.next().is_some() {
        short.push('…');
    }
    short
}
