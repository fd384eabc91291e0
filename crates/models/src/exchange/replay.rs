//! A response that is replayed to a protocol's decoder in pieces of any size, without a network.

use std::sync::Arc;

use bytes::Bytes;
use ostler_types::Usage;
use reqwest::header::{AUTHORIZATION, HeaderMap};

use super::{BodyFormat, Decode, Exchange, ExchangeRequest, KeyHeader};
use crate::http::HttpClients;
use crate::secret::{ProviderKey, Secret};
use crate::{ModelError, ModelEvent, ProviderConfig, ProviderKind, Timeouts};

/// Asserts what a body means, whatever pieces it arrives in.
pub(crate) fn check<D: Decode>(
    kind: ProviderKind,
    case: &str,
    body: &str,
    expected: &[&str],
    code: Option<&str>,
) {
    for size in 1..=body.len().max(1) {
        let (events, error) = receive::<D>(kind, body, size);
        assert_eq!(brief(&events), expected, "{case}, in chunks of {size}: {error:?}");
        assert_eq!(error.map(|error| error.code), code, "{case}, in chunks of {size}");
    }
}

/// Feeds a body in chunks of a size, as if the server then closed the connection.
pub(crate) fn receive<D: Decode>(
    kind: ProviderKind,
    body: &str,
    size: usize,
) -> (Vec<ModelEvent>, Option<ModelError>) {
    let (mut exchange, mut format, mut error) = (exchange::<D>(kind), BodyFormat::Unknown, None);
    for chunk in body.as_bytes().chunks(size) {
        if error.is_none() && !exchange.decoder.stopped() {
            error = exchange.take(&mut format, chunk).err();
        }
    }
    if error.is_none() && !exchange.decoder.stopped() {
        error = exchange.end(format, None).err();
    }
    (exchange.ready.into(), error)
}

fn exchange<D: Decode>(kind: ProviderKind) -> Exchange<D> {
    let provider = ProviderConfig {
        api_key: ProviderKey::Fixed(Secret::new("sk-hidden")),
        ..ProviderConfig::new("local", kind, "http://127.0.0.1:9/v1")
    };
    let url = provider.base_url.parse().unwrap();
    let question = ExchangeRequest {
        provider: Arc::new(provider),
        url,
        key_header: KeyHeader { name: AUTHORIZATION, prefix: "Bearer " },
        headers: HeaderMap::new(),
        body: Bytes::new(),
        raw: None,
    };
    Exchange::new(Arc::new(HttpClients::new(Timeouts::default())), question)
}

/// The events as short lines, so that a table can be read.
fn brief(events: &[ModelEvent]) -> Vec<String> {
    events
        .iter()
        .map(|event| match event {
            ModelEvent::Text(text) => format!("text {text}"),
            ModelEvent::Reasoning(text) => format!("reasoning {text}"),
            ModelEvent::ReasoningOpaque(value) => format!("opaque {value}"),
            ModelEvent::CallStarted { index, id, name } => {
                format!("call {index} {} {name}", id.as_deref().unwrap_or("-"))
            }
            ModelEvent::CallInput { index, fragment } => format!("input {index} {fragment}"),
            ModelEvent::Usage(Usage {
                input_tokens, output_tokens, cached_tokens, reasoning_tokens, ..
            }) => {
                format!("usage {input_tokens} {output_tokens} {cached_tokens} {reasoning_tokens}")
            }
            ModelEvent::Waiting { attempt, attempts, .. } => format!("waiting {attempt} {attempts}"),
            ModelEvent::Stop(reason) => format!("stop {reason}"),
        })
        .collect()
}
