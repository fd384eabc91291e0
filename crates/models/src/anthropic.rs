//! Anthropic's Messages, streamed.
//!
//! One request per answer. [`encode`] writes the request, [`decode`] turns the events of the response
//! into ours; sending and receiving is the exchange's.

mod decode;
mod encode;
mod wire;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::exchange::KeyHeader;
use crate::http;
use crate::profile::ModelProfile;
use crate::wire_client::WireProtocol;
use crate::{ModelError, ModelRequest, ProviderConfig};
pub(crate) use decode::AnthropicDecoder;

/// Marks what [`decode`] wants back, so that [`encode`] sends nothing that another protocol left.
const PROVIDER: &str = "anthropic";

/// This protocol.
pub(crate) struct Anthropic;

impl WireProtocol for Anthropic {
    type Decoder = AnthropicDecoder;

    /// Both spellings of the address are in use, with the version and without it.
    fn endpoint(provider: &ProviderConfig) -> Result<Url, ModelError> {
        let base_url = provider.base_url.trim().trim_end_matches('/');
        let base_url = if base_url.is_empty() { provider.kind.default_base_url() } else { base_url };
        http::endpoint(provider, base_url.strip_suffix("/v1").unwrap_or(base_url), "v1/messages")
    }

    fn key_header() -> KeyHeader {
        KeyHeader { name: HeaderName::from_static("x-api-key"), prefix: "" }
    }

    fn headers() -> HeaderMap {
        let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
        HeaderMap::from_iter([version])
    }

    fn body(
        provider: &ProviderConfig,
        profile: &ModelProfile,
        _: &Url,
        request: &ModelRequest,
    ) -> Result<Vec<u8>, ModelError> {
        encode::body(&provider.name, profile, request)
    }
}

#[cfg(test)]
mod tests;
