//! OpenAI's Chat Completions, streamed, as OpenAI and most other servers speak them.
//!
//! One request per answer. [`encode`] writes the request, [`decode`] turns the chunks of the response
//! into events; sending and receiving is the exchange's.

mod decode;
mod details;
mod encode;
mod wire;

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap};

use crate::exchange::{self, KeyHeader, Question};
use crate::http::{self, Http};
use crate::outgoing::quirks::Quirks;
use crate::outgoing::sealed;
use crate::profile::Profile;
use crate::{Model, ModelError, ModelEvent, ModelRequest, ProviderConfig};
pub(crate) use decode::Decoder;

/// Marks what [`decode`] wants back, so that [`encode`] sends nothing that another protocol left.
const PROTOCOL: &str = "openai-chat";

/// One model of one provider.
#[derive(Debug)]
pub(crate) struct OpenAiChat {
    provider: Arc<ProviderConfig>,
    profile: Profile,
    url: Url,
    http: Arc<Http>,
}

impl OpenAiChat {
    pub(crate) fn new(
        provider: Arc<ProviderConfig>,
        profile: Profile,
        http: Arc<Http>,
    ) -> Result<OpenAiChat, ModelError> {
        let url = http::endpoint(&provider, &provider.base_url, "chat/completions")?;
        Ok(OpenAiChat { provider, profile, url, http })
    }

    fn question(&self, request: &ModelRequest) -> Result<Question, ModelError> {
        Ok(Question {
            provider: self.provider.clone(),
            url: self.url.clone(),
            key_header: KeyHeader { name: AUTHORIZATION, prefix: "Bearer " },
            headers: HeaderMap::new(),
            body: encode::body(&self.provider.name, &self.profile, Quirks::of(&self.url), request)?.into(),
            raw: request.raw.clone(),
        })
    }
}

impl Model for OpenAiChat {
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

#[cfg(test)]
mod tests;
