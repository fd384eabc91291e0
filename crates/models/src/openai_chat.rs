//! OpenAI's Chat Completions, streamed, as OpenAI and most other servers speak them.
//!
//! One request per answer. [`encode`] writes the request, [`decode`] turns the chunks of the response
//! into events; sending and receiving is the exchange's.

mod decode;
mod encode;

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::Url;
use reqwest::header::AUTHORIZATION;

use crate::exchange::{self, Question};
use crate::http::{self, Http};
use crate::{Model, ModelError, ModelEvent, ModelRequest, ProviderConfig};
use decode::Decoder;

/// One model of one provider.
#[derive(Debug)]
pub(crate) struct OpenAiChat {
    provider: Arc<ProviderConfig>,
    model: String,
    url: Url,
    http: Arc<Http>,
}

impl OpenAiChat {
    pub(crate) fn new(
        provider: Arc<ProviderConfig>,
        model: String,
        http: Arc<Http>,
    ) -> Result<OpenAiChat, ModelError> {
        let url = http::endpoint(&provider, &provider.base_url, "chat/completions")?;
        Ok(OpenAiChat { provider, model, url, http })
    }

    fn question(&self, request: &ModelRequest) -> Result<Question, ModelError> {
        let (provider, url) = (self.provider.clone(), self.url.clone());
        let key = provider.api_key.as_ref().map(|key| format!("Bearer {}", key.expose()));
        let headers = exchange::headers(&provider, AUTHORIZATION, key)?;
        Ok(Question { provider, url, headers, body: encode::body(&self.model, request)? })
    }
}

impl Model for OpenAiChat {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match self.question(&request) {
            Ok(question) => exchange::ask::<Decoder>(self.http.clone(), question),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}

#[cfg(test)]
mod tests;
