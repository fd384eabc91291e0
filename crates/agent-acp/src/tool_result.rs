//! The result of a call as it is recorded. What is too long for the log is stored beside it.

use ostler_acp::{AcpCallOutcome, to_plain_line};
use ostler_agent::{FailedTurn, TurnContext};
use ostler_types::{Part, ToolCallId, ToolResult};

/// How many bytes of a result's text stand in the log.
pub(crate) const TEXT_BYTES: usize = 32 * 1024;

/// Stores what is too long for the log, and returns the result.
pub(crate) async fn store(
    context: &TurnContext,
    id: ToolCallId,
    ok: bool,
    outcome: AcpCallOutcome,
) -> Result<ToolResult, FailedTurn> {
    let AcpCallOutcome { mut text, images, details, .. } = outcome;
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let name: String = id.0.chars().map(safe).take(80).collect();
    let mut artifacts = Vec::new();
    if text.len() > TEXT_BYTES {
        artifacts.push(context.put_artifact(format!("{name}.txt"), text.clone().into_bytes()).await?);
        text = head_and_tail(&text);
    }
    let error = (!ok).then(|| if text.is_empty() { "the call failed".to_owned() } else { text.clone() });
    let mut parts = vec![Part::text(text)];
    for (number, (mime_type, content)) in images.into_iter().enumerate() {
        let reference = context.put_artifact(format!("{name}-{number}.image"), content).await?;
        artifacts.push(reference.clone());
        parts.push(Part::Image { reference, mime_type: to_plain_line(&mime_type, 100) });
    }
    let details = Some(details).filter(|details| !details.is_null());
    Ok(ToolResult { id, ok, parts, error, artifacts, details })
}

/// The beginning and the end of a text that is too long.
pub(crate) fn head_and_tail(text: &str) -> String {
    let head = text.floor_char_boundary(TEXT_BYTES / 2);
    let tail = text.ceil_char_boundary(text.len() - TEXT_BYTES / 2);
    format!("{}\n[{} bytes are left out]\n{}", &text[..head], tail - head, &text[tail..])
}
