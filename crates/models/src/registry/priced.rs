//! A model whose usage says what it cost. Everything else passes through.

use std::sync::Arc;

use futures_util::stream::{BoxStream, StreamExt};
use ostler_types::Prices;

use crate::{Model, ModelError, ModelEvent, ModelRequest};

/// A model at these prices.
pub(crate) struct PricedModel {
    inner: Arc<dyn Model>,
    prices: Prices,
}

impl PricedModel {
    pub(crate) fn new(inner: Arc<dyn Model>, prices: Prices) -> PricedModel {
        PricedModel { inner, prices }
    }
}

impl Model for PricedModel {
    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let prices = self.prices;
        let priced = move |event| match event {
            Ok(ModelEvent::Usage(mut usage)) => {
                // Who sends the bill knows better than a table.
                usage.cost_usd = usage.cost_usd.or_else(|| Some(prices.cost(&usage)));
                Ok(ModelEvent::Usage(usage))
            }
            other => other,
        };
        self.inner.stream(request).map(priced).boxed()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::stream::{self, BoxStream, StreamExt};
    use ostler_types::{Cost, Prices, Usage};

    use super::PricedModel;
    use crate::{Model, ModelError, ModelEvent, ModelRequest};

    struct Spends(Usage);

    impl Model for Spends {
        fn stream(&self, _: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
            stream::iter([Ok(ModelEvent::Text("hi".into())), Ok(ModelEvent::Usage(self.0))]).boxed()
        }
    }

    async fn cost(usage: Usage) -> Option<Cost> {
        let prices = Prices { input: 3.0, output: 15.0, cached: None, cache_write: None };
        let model = PricedModel::new(Arc::new(Spends(usage)), prices);
        let events: Vec<_> = model.stream(ModelRequest::new(Vec::new())).collect().await;
        assert_eq!(events[0], Ok(ModelEvent::Text("hi".into())));
        match events[1] {
            Ok(ModelEvent::Usage(usage)) => usage.cost_usd,
            ref other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn usage_is_priced_unless_the_provider_did_it() {
        let usage = Usage { input_tokens: 1_000_000, output_tokens: 100_000, ..Usage::default() };
        assert_eq!(cost(usage).await, Some(Cost::from_usd(4.5)));
        let billed = Usage { cost_usd: Some(Cost::from_usd(1.0)), ..usage };
        assert_eq!(cost(billed).await, Some(Cost::from_usd(1.0)));
    }
}
