//! OpenAI's Chat Completions, streamed, as OpenAI and most other servers speak them.
//!
//! One request per answer. [`encode`] writes the request, [`exchange`] sends it and reads the
//! response, [`decode`] turns its chunks into events, [`failure`] words what goes wrong. Trying again
//! is left to the caller, who knows whether anything of the answer has been used.

mod decode;
mod encode;
mod exchange;
mod failure;

use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::Url;

use crate::http::Http;
use crate::{Model, ModelError, ModelEvent, ModelRequest, ProviderConfig};
use exchange::Exchange;

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
        let url = endpoint(&provider)?;
        Ok(OpenAiChat { provider, model, url, http })
    }
}

impl Model for OpenAiChat {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let body = match encode::body(&self.model, &request) {
            Ok(body) => body,
            Err(error) => return stream::iter([Err(error)]).boxed(),
        };
        let exchange = Exchange::new(self.provider.clone(), self.url.clone(), self.http.clone(), body);
        // Boxed because the stream moves its state with every event.
        stream::unfold(Box::new(exchange), |mut exchange| async move {
            exchange.next().await.map(|event| (event, exchange))
        })
        .boxed()
    }
}

fn endpoint(provider: &ProviderConfig) -> Result<Url, ModelError> {
    let text = format!("{}/chat/completions", provider.base_url.trim_end_matches('/'));
    let url = Url::parse(&text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
    url.ok_or_else(|| {
        let message = format!("`{}` is no address of a provider", provider.base_url);
        let hint = format!(
            "set `base_url` in [providers.{}] to an address such as https://api.openai.com/v1",
            provider.name
        );
        ModelError::new("bad_base_url", message).hint(hint)
    })
}
