//! An exchange that was recorded, answered once more by the same rules and without a network.

use std::collections::VecDeque;

use reqwest::StatusCode;

use super::Decode;
use crate::failure::{self, ProviderPeer, RefusedResponse};
use crate::{ModelError, ModelEvent};

/// What a provider had answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordedResponse {
    /// None if there was no answer at all.
    pub(crate) status: Option<StatusCode>,
    /// The body, unless it came as a stream.
    pub(crate) body: String,
    /// The name and the data of each event of the stream.
    pub(crate) chunks: Vec<(String, String)>,
}

/// The events that the answer led to, and the error that ended it, if one did.
pub(crate) fn replay_response<D: Decode>(
    peer: &ProviderPeer,
    recorded: &RecordedResponse,
) -> Vec<Result<ModelEvent, ModelError>> {
    let mut events = VecDeque::new();
    let end = decode::<D>(peer, recorded, &mut events);
    events.into_iter().map(Ok).chain(end.err().map(Err)).collect()
}

fn decode<D: Decode>(
    peer: &ProviderPeer,
    recorded: &RecordedResponse,
    events: &mut VecDeque<ModelEvent>,
) -> Result<(), ModelError> {
    let Some(status) = recorded.status else {
        return Err(failure::stream_cut(peer, "the recording holds no response"));
    };
    if !status.is_success() {
        let refused = RefusedResponse { status, retry_after: None, location: None, body: &recorded.body };
        return Err(failure::from_status(peer, &refused));
    }
    let named = |error| failure::with_provider(peer, error);
    let mut decoder = D::default();
    for (name, data) in &recorded.chunks {
        decoder.event(name, data, events).map_err(named)?;
        if decoder.stopped() {
            return Ok(());
        }
    }
    if recorded.chunks.is_empty() && !recorded.body.trim().is_empty() {
        decoder.whole(&recorded.body, events).map_err(named)?;
    }
    if decoder.stopped() || decoder.end(events).map_err(named)? {
        Ok(())
    } else {
        Err(failure::stream_cut(peer, "the recorded stream ends here"))
    }
}
