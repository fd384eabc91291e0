//! What is in the model's context, and what it costs.

use axum::Json;
use axum::extract::State;
use ostler_door_kit::{ContextSection, DoorContext, DoorError};
use ostler_types::SessionId;
use schemars::JsonSchema;
use serde::Serialize;

use super::extract::Ids;

/// What a model is shown of a session.
#[derive(Serialize, JsonSchema)]
pub(super) struct ContextView {
    /// Which model it is shown to.
    model: String,
    /// Roughly how many tokens it takes: as the provider counted them last, or else as the sections add up.
    tokens: u64,
    /// How many the model takes; null where that is not known.
    window: Option<u64>,
    /// How much of the window is taken, from 0 to 100.
    percent: Option<f64>,
    /// How many messages the model is shown.
    messages: u64,
    /// The pieces, in the order in which the model is shown them.
    sections: Vec<Share>,
}

/// A piece, and how much of the whole it is.
#[derive(Serialize, JsonSchema)]
struct Share {
    #[serde(flatten)]
    section: ContextSection,
    /// How much of all the pieces it is, from 0 to 100.
    percent: f64,
}

pub(super) async fn show(
    State(context): State<DoorContext>,
    Ids(id): Ids<SessionId>,
) -> Result<Json<ContextView>, DoorError> {
    let messages = context.engine.context(id).await?;
    let view = context.engine.view(id).await?;
    let session = view.session;
    let sections = context.settings.gauge.measure(&session, &messages);
    let sum: u64 = sections.iter().map(|section| section.tokens).sum();
    let window = context.settings.models.info(&session.model).context_window;
    let tokens = view.context_tokens.unwrap_or(sum);
    let share = |section: ContextSection| Share { percent: percent(section.tokens, sum), section };
    Ok(Json(ContextView {
        tokens,
        window,
        percent: window.map(|window| percent(tokens, window)),
        messages: messages.len() as u64,
        sections: sections.into_iter().map(share).collect(),
        model: session.model,
    }))
}

/// A share with one digit after the point.
fn percent(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { (part as f64 * 1000.0 / whole as f64).round() / 10.0 }
}
