//! OpenAI's Responses, streamed and not stored on the server.
//!
//! One request per answer. [`encode`] writes the request, [`decode`] turns the events of the response
//! into ours, [`wire`] holds the shapes that it reads; sending and receiving is the exchange's. What
//! the model thought goes back to it sealed, as the server keeps nothing between two requests.

mod decode;
mod encode;
mod wire;

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::Url;
use reqwest::header::AUTHORIZATION;

use crate::exchange::{self, Question};
use crate::http::{self, Http};
use crate::{Model, ModelError, ModelEvent, ModelRequest, ProviderConfig};
use decode::Decoder;

/// Marks what [`decode`] wants back, so that [`encode`] sends nothing that another protocol left.
const PROTOCOL: &str = "openai-responses";

/// One model of one provider.
#[derive(Debug)]
pub(crate) struct OpenAiResponses {
    provider: Arc<ProviderConfig>,
    model: String,
    url: Url,
    http: Arc<Http>,
}

impl OpenAiResponses {
    pub(crate) fn new(
        provider: Arc<ProviderConfig>,
        model: String,
        http: Arc<Http>,
    ) -> Result<OpenAiResponses, ModelError> {
        let url = http::endpoint(&provider, &provider.base_url, "responses")?;
        Ok(OpenAiResponses { provider, model, url, http })
    }

    fn question(&self, request: &ModelRequest) -> Result<Question, ModelError> {
        let (provider, url) = (self.provider.clone(), self.url.clone());
        let key = provider.api_key.as_ref().map(|key| format!("Bearer {}", key.expose()));
        let headers = exchange::headers(&provider, AUTHORIZATION, key)?;
        Ok(Question { provider, url, headers, body: encode::body(&self.model, request)? })
    }
}

impl Model for OpenAiResponses {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match self.question(&request) {
            Ok(question) => exchange::ask::<Decoder>(self.http.clone(), question),
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}

#[cfg(test)]
mod tests;
