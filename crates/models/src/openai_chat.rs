//! OpenAI's Chat Completions, streamed, as OpenAI and most other servers speak them.
//!
//! One request per answer. [`encode`] writes the request, [`decode`] turns the chunks of the response
//! into events; sending and receiving is the exchange's.

mod decode;
mod encode;
mod reasoning_details;
mod wire;

use reqwest::Url;
use reqwest::header::AUTHORIZATION;

use crate::exchange::KeyHeader;
use crate::http;
use crate::profile::ModelProfile;
use crate::request_encoding::quirks::HostQuirks;
use crate::wire_client::WireProtocol;
use crate::{ModelError, ModelRequest, ProviderConfig};
pub(crate) use decode::ChatDecoder;

/// Marks what [`decode`] wants back, so that [`encode`] sends nothing that another protocol left.
const PROTOCOL: &str = "openai-chat";

/// This protocol.
pub(crate) struct OpenAiChat;

impl WireProtocol for OpenAiChat {
    type Decoder = ChatDecoder;

    fn endpoint(provider: &ProviderConfig) -> Result<Url, ModelError> {
        http::endpoint(provider, &provider.base_url, "chat/completions")
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
