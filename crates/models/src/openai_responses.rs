//! OpenAI's Responses, streamed and not stored on the server.
//!
//! One request per answer. [`encode`] writes the request, [`decode`] turns the events of the response
//! into ours, [`wire`] holds the shapes that it reads; sending and receiving is the exchange's. What
//! the model thought goes back to it sealed, as the server keeps nothing between two requests.

mod decode;
mod encode;
mod wire;

use reqwest::Url;
use reqwest::header::AUTHORIZATION;

use crate::exchange::KeyHeader;
use crate::http;
use crate::profile::ModelProfile;
use crate::request_encoding::quirks::HostQuirks;
use crate::wire_client::WireProtocol;
use crate::{ModelError, ModelRequest, ProviderConfig};
pub(crate) use decode::ResponsesDecoder;

/// Marks what [`decode`] wants back, so that [`encode`] sends nothing that another protocol left.
const PROTOCOL: &str = "openai-responses";

/// This protocol.
pub(crate) struct OpenAiResponses;

impl WireProtocol for OpenAiResponses {
    type Decoder = ResponsesDecoder;

    fn endpoint(provider: &ProviderConfig) -> Result<Url, ModelError> {
        http::endpoint(provider, &provider.base_url, "responses")
    }

    fn key_header() -> KeyHeader {
        KeyHeader { name: AUTHORIZATION, prefix: "Bearer " }
    }

    fn body(
        provider: &ProviderConfig,
        profile: &ModelProfile,
        url: &Url,
        request: &ModelRequest,
    ) -> Result<Vec<u8>, ModelError> {
        encode::body(&provider.name, profile, HostQuirks::for_url(url), request)
    }
}

#[cfg(test)]
mod tests;
