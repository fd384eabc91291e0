//! What is in the model's context, and what it costs.

use axum::Json;
use axum::extract::State;
use ostler_api_types::{ContextShare, ContextView};
use ostler_door_kit::{DoorContext, DoorError};
use ostler_types::{ContextSection, SessionId};

use super::extract::PathParams;

pub(super) async fn show(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
) -> Result<Json<ContextView>, DoorError> {
    let messages = context.engine.model_context(id).await?;
    let view = context.engine.view(id).await?;
    let session = view.session;
    let sections = context.settings.context_meter.measure(&session, &messages);
    let sum: u64 = sections.iter().map(|section| section.tokens).sum();
    let window = context.settings.models.info(&session.model).context_window;
    let tokens = view.context_tokens.unwrap_or(sum);
    let share = |section: ContextSection| ContextShare { percent: percent(section.tokens, sum), section };
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
