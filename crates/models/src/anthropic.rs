//! Anthropic's Messages, streamed.
//!
//! One request per answer. [`encode`] writes the request, [`decode`] turns the events of the response
//! into ours; sending and receiving is the exchange's.

mod decode;
mod encode;
mod wire;

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::Url;
use reqwest::header::{HeaderName, HeaderValue};

use crate::exchange::{self, Question};
use crate::http::{self, Http};
use crate::{Model, ModelError, ModelEvent, ModelRequest, ProviderConfig};
use decode::Decoder;

/// Who made an opaque block, so that no other provider's is sent here.
const PROVIDER: &str = "anthropic";

/// One model of one provider.
#[derive(Debug)]
pub(crate) struct Anthropic {
    provider: Arc<ProviderConfig>,
    model: String,
    url: Url,
    http: Arc<Http>,
}

impl Anthropic {
    pub(crate) fn new(
        provider: Arc<ProviderConfig>,
        model: String,
        http: Arc<Http>,
    ) -> Result<Anthropic, ModelError> {
        let url = endpoint(&provider)?;
        Ok(Anthropic { provider, model, url, http })
    }

    fn question(&self, request: &ModelRequest) -> Result<Question, ModelError> {
        let (provider, url) = (self.provider.clone(), self.url.clone());
        let key = provider.api_key.as_ref().map(|key| key.expose().to_owned());
        let mut headers = exchange::headers(&provider, HeaderName::from_static("x-api-key"), key)?;
        headers.insert(HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
        Ok(Question { provider, url, headers, body: encode::body(&self.model, request)? })
    }
}

impl Model for Anthropic {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match self.question(&request) {
            Ok(question) => exchange::ask::<Decoder>(self.http.clone(), question),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}

/// Both spellings of the address are in use, with the version and without it.
fn endpoint(provider: &ProviderConfig) -> Result<Url, ModelError> {
    let base_url = provider.base_url.trim().trim_end_matches('/');
    let base_url = if base_url.is_empty() { provider.kind.home() } else { base_url };
    http::endpoint(provider, base_url.strip_suffix("/v1").unwrap_or(base_url), "v1/messages")
}

#[cfg(test)]
mod tests;
