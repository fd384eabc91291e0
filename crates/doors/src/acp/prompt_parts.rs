//! What an editor says in a prompt, as the parts of a message. What is not text is kept beside the log first.

use agent_client_protocol::v1::schema::{ContentBlock, Error};
use ostler_acp::{AcpContentPiece, from_block};
use ostler_door_kit::DoorContext;
use ostler_types::{Part, SessionId};

use super::errors::{from_engine_error, invalid_params};

/// Bytes of a file's text that are put into the message itself; a longer one is attached.
const MAX_INLINE_BYTES: usize = 256 * 1024;
/// Pieces of one prompt.
const MAX_BLOCKS: usize = 256;

/// The parts of a prompt. When this returns, what it attaches is on disk.
pub(super) async fn to_parts(
    context: &DoorContext,
    id: SessionId,
    blocks: &[ContentBlock],
) -> Result<Vec<Part>, Error> {
    if blocks.is_empty() {
        return Err(invalid_params("`prompt` is empty; say something"));
    }
    if blocks.len() > MAX_BLOCKS {
        return Err(invalid_params(format!("`prompt` has more than {MAX_BLOCKS} pieces")));
    }
    let mut parts = Vec::new();
    for block in blocks {
        parts.push(match from_block(block) {
            AcpContentPiece::Text(text) => Part::Text { text },
            AcpContentPiece::Link { name, uri } => Part::Text { text: format!("[@{name}]({uri})") },
            AcpContentPiece::File { name, bytes, .. } if bytes.len() <= MAX_INLINE_BYTES => {
                match String::from_utf8(bytes) {
                    Ok(text) => Part::Text { text: inline_file(&name, &text) },
                    Err(error) => attach(context, id, &name, error.into_bytes()).await?,
                }
            }
            AcpContentPiece::File { name, bytes, .. } => attach(context, id, &name, bytes).await?,
            AcpContentPiece::Image { bytes, .. } => attach(context, id, "picture", bytes).await?,
            AcpContentPiece::Audio { bytes, .. } => attach(context, id, "sound", bytes).await?,
        });
    }
    Ok(parts)
}

/// A file that the editor has put into the prompt, such as a buffer that is not saved yet.
fn inline_file(name: &str, text: &str) -> String {
    // A fence that the text itself cannot end.
    let longest = text.split(|character| character != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{name}:\n{fence}\n{text}\n{fence}")
}

async fn attach(context: &DoorContext, id: SessionId, name: &str, bytes: Vec<u8>) -> Result<Part, Error> {
    let room = context.engine.reserve_attachment_memory(bytes.len()).await;
    let stored = context.engine.put_attachment(room, id, name, bytes).await.map_err(from_engine_error)?;
    let (reference, mime_type) = (stored.reference, stored.mime_type.to_owned());
    // What it is was told from its bytes, whatever the editor says.
    Ok(match mime_type.split('/').next() {
        Some("image") if mime_type != "image/svg+xml" => Part::Image { reference, mime_type },
        Some("audio") => Part::Audio { reference, mime_type },
        _ => Part::File { reference, mime_type },
    })
}
