//! One model of one provider, whichever protocol it speaks: a request in, events out. What the protocols do
//! differently is in [`Protocol`]; sending and receiving is the exchange's.

use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::stream::{self, BoxStream, StreamExt};
use reqwest::Url;
use reqwest::header::HeaderMap;

use crate::exchange::{self, Decode, ExchangeRequest, KeyHeader};
use crate::http::HttpClients;
use crate::profile::ModelProfile;
use crate::request_encoding::reasoning_origin;
use crate::{Model, ModelError, ModelEvent, ModelRequest, ProviderConfig};

/// A protocol: where a request goes, how it is written, and how the answer is read.
pub(crate) trait WireProtocol: Send + Sync + 'static {
    /// Reads the answer.
    type Decoder: Decode;

    /// Where requests go.
    fn endpoint(provider: &ProviderConfig) -> Result<Url, ModelError>;

    /// Where the key goes.
    fn key_header() -> KeyHeader;

    /// What else is said beside the body.
    fn headers() -> HeaderMap {
        HeaderMap::new()
    }

    /// The request.
    fn body(
        provider: &ProviderConfig,
        profile: &ModelProfile,
        url: &Url,
        request: &ModelRequest,
    ) -> Result<Vec<u8>, ModelError>;
}

/// One model of one provider.
pub(crate) struct WireClient<P> {
    provider: Arc<ProviderConfig>,
    profile: ModelProfile,
    url: Url,
    http: Arc<HttpClients>,
    protocol: PhantomData<P>,
}

impl<P: WireProtocol> WireClient<P> {
    pub(crate) fn new(
        provider: Arc<ProviderConfig>,
        profile: ModelProfile,
        http: Arc<HttpClients>,
    ) -> Result<WireClient<P>, ModelError> {
        let url = P::endpoint(&provider)?;
        Ok(WireClient { provider, profile, url, http, protocol: PhantomData })
    }

    fn exchange_request(&self, request: &ModelRequest) -> Result<ExchangeRequest, ModelError> {
        Ok(ExchangeRequest {
            provider: self.provider.clone(),
            url: self.url.clone(),
            key_header: P::key_header(),
            headers: P::headers(),
            body: P::body(&self.provider, &self.profile, &self.url, request)?.into(),
            raw: request.raw.clone(),
        })
    }
}

impl<P: WireProtocol> Model for WireClient<P> {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        match self.exchange_request(&request) {
            Ok(question) => {
                let events = exchange::stream_exchange::<P::Decoder>(self.http.clone(), question);
                reasoning_origin::tag_origin(events, self.provider.clone(), self.profile.id.clone())
            }
            Err(error) => stream::iter([Err(error)]).boxed(),
        }
    }
}
