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
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::exchange::{self, KeyHeader, Question};
use crate::http::{self, Http};
use crate::outgoing::sealed;
use crate::profile::Profile;
use crate::{Model, ModelError, ModelEvent, ModelRequest, ProviderConfig};
pub(crate) use decode::Decoder;

/// Marks what [`decode`] wants back, so that [`encode`] sends nothing that another protocol left.
const PROVIDER: &str = "anthropic";

/// One model of one provider.
#[derive(Debug)]
pub(crate) struct Anthropic {
    provider: Arc<ProviderConfig>,
    profile: Profile,
    url: Url,
    http: Arc<Http>,
}

impl Anthropic {
    pub(crate) fn new(
        provider: Arc<ProviderConfig>,
        profile: Profile,
        http: Arc<Http>,
    ) -> Result<Anthropic, ModelError> {
        let url = endpoint(&provider)?;
        Ok(Anthropic { provider, profile, url, http })
    }

    fn question(&self, request: &ModelRequest) -> Result<Question, ModelError> {
        let version = (HeaderName::from_static("anthropic-version"), HeaderValue::from_static("2023-06-01"));
        Ok(Question {
            provider: self.provider.clone(),
            url: self.url.clone(),
            key_header: KeyHeader { name: HeaderName::from_static("x-api-key"), prefix: "" },
            headers: HeaderMap::from_iter([version]),
            body: encode::body(&self.provider.name, &self.profile, request)?.into(),
            raw: request.raw.clone(),
        })
    }
}

impl Model for Anthropic {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match self.question(&request) {
            Ok(question) => {
                let events = exchange::ask::<Decoder>(self.http.clone(), question);
                sealed::signed(events, self.provider.clone(), self.profile.id.clone())
            }
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
