//! What the engine tells the index of a session.

use jiff::Timestamp;
use ostler_types::{MessageId, Role, Session, SessionId, TurnId, Usage};

/// Bytes of a message that can be searched; what comes after them is left to the log.
pub(crate) const TEXT_BYTES: usize = 64 << 10;

/// How a session stands, and what was said and used in it since the update before.
#[derive(Debug, Clone, PartialEq)]
pub struct IndexUpdate {
    /// The session after `last_seq`.
    pub session: Session,
    /// The turn that ran then, if one did.
    pub running_turn_id: Option<TurnId>,
    /// The record after which `texts` and `uses` begin: the `last_seq` of the update before, or what
    /// [`Index::position`](crate::Index::position) said. When the index is not that far, because an
    /// update was lost or the index was cleared meanwhile, the position stays behind the hole.
    pub after_seq: u64,
    /// The newest record that this update knows of.
    pub last_seq: u64,
    /// Every text that was recorded after `after_seq` and up to `last_seq`.
    pub texts: Vec<IndexedText>,
    /// Every use of a model that was recorded after `after_seq` and up to `last_seq`.
    pub uses: Vec<ModelUse>,
}

/// The text of a message. A record has at most one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexedText {
    /// The record that holds the message.
    pub seq: u64,
    /// The message.
    pub message_id: MessageId,
    /// Who said it.
    pub role: Role,
    /// What was said; only its first 64 KiB can be searched.
    pub text: String,
}

/// What one answer of a model took. A record has at most one.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelUse {
    /// The record that says so.
    pub seq: u64,
    /// When it was recorded.
    pub at: Timestamp,
    /// The model, as `provider:model`.
    pub model: String,
    /// What it took.
    pub usage: Usage,
}

/// One thing that the writer does.
#[derive(Debug)]
pub(crate) enum IndexWrite {
    Update(Box<IndexUpdate>),
    Remove(SessionId),
}

impl IndexWrite {
    /// Takes an update, cut down to what is indexed so that it takes no more room than it needs.
    pub(crate) fn update(mut update: IndexUpdate) -> IndexWrite {
        for text in &mut update.texts {
            if text.text.len() > TEXT_BYTES {
                text.text.truncate(text.text.floor_char_boundary(TEXT_BYTES));
                text.text.shrink_to_fit();
            }
        }
        IndexWrite::Update(Box::new(update))
    }

    pub(crate) fn session(&self) -> SessionId {
        match self {
            IndexWrite::Update(update) => update.session.id,
            IndexWrite::Remove(session) => *session,
        }
    }

    /// Takes in the write that follows on this one, if both are updates of one session without a hole in between: its
    /// row is then written once. `next` is left empty.
    pub(crate) fn merge(&mut self, next: &mut IndexWrite) -> bool {
        let (IndexWrite::Update(update), IndexWrite::Update(next)) = (self, next) else { return false };
        if update.session.id != next.session.id || update.last_seq != next.after_seq {
            return false;
        }
        update.texts.append(&mut next.texts);
        update.uses.append(&mut next.uses);
        std::mem::swap(&mut update.session, &mut next.session);
        (update.running_turn_id, update.last_seq) = (next.running_turn_id, next.last_seq);
        true
    }

    /// Roughly how many bytes it holds.
    pub(crate) fn size(&self) -> usize {
        match self {
            IndexWrite::Update(update) => {
                let texts: usize =
                    update.texts.iter().map(|text| text.text.len() + size_of::<IndexedText>()).sum();
                let uses: usize =
                    update.uses.iter().map(|used| used.model.len() + size_of::<ModelUse>()).sum();
                let prompt = update.session.system_prompt.as_ref().map_or(0, String::len);
                size_of::<IndexUpdate>() + prompt + texts + uses
            }
            IndexWrite::Remove(_) => size_of::<IndexWrite>(),
        }
    }
}
