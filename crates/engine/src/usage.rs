//! What models were used for, over all sessions. The sums are the index's; this waits until it knows all.

use ostler_index::{UsageQuery, UsageReport};

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// Sums up what models were used for. A record that is just being written may still be missing.
    pub async fn usage(&self, query: UsageQuery) -> Result<UsageReport, EngineError> {
        self.wait_until_recovered().await?;
        Ok(self.shared.index.usage(query).await?)
    }
}
