//! From the engine's records and deltas to this wire's messages. A turn ends in one `session:complete` or
//! `session:cancelled`; one that failed has an `error` before it.

use bytes::Bytes;
use jiff::Timestamp;
use ostler_door_kit::websocket::framing;
use ostler_engine::{DeltaLine, SubscriptionItem};
use ostler_types::{
    CallEvent, Delta, DeltaKind, Event, Failure, Message, MessageEvent, MessageId, Record, Role, Session,
    SessionEvent, TurnEvent, TurnId,
};

use super::entries::{assistant_entries, part_id, tool_result_entry, user_entry};
use super::frames::{IdeCallStatus, IdeEntry, IdeFrame, format_time};
use super::own_messages::IdeOwnMessages;

/// One session as one socket is told of it.
pub(super) struct IdeTranslator {
    /// What the client calls the session.
    name: String,
    title: Option<String>,
    archived: bool,
    own_messages: IdeOwnMessages,
    /// How many bytes of the parts that stream are shown.
    sent_bytes: Vec<(MessageId, u32, u64)>,
    /// The newest text of the running turn, and its newest entry of any kind.
    newest_text_id: Option<String>,
    newest_entry_id: Option<String>,
    /// The calls of the running turn that have no result yet, whose entries have names that results do not repeat.
    open_calls: Vec<IdeEntry>,
}

/// How a turn ended.
enum IdeTurnEnd {
    Completed,
    Canceled,
    Failed(Failure),
}

impl IdeTranslator {
    /// Begins with a session as the client knows it, and the entries that its running turn has by now.
    pub(super) fn new(
        name: String,
        session: &Session,
        own: IdeOwnMessages,
        entries: &[IdeEntry],
    ) -> IdeTranslator {
        let mut translator = IdeTranslator {
            name,
            title: session.title.clone(),
            archived: session.archived,
            own_messages: own,
            sent_bytes: Vec::new(),
            newest_text_id: None,
            newest_entry_id: None,
            open_calls: Vec::new(),
        };
        let of_turn = entries.iter().rposition(|entry| matches!(entry, IdeEntry::User { .. }));
        entries[of_turn.map_or(0, |at| at + 1)..].iter().for_each(|entry| translator.remember_newest(entry));
        translator
    }

    /// Says what an item leads to.
    pub(super) fn translate_item(&mut self, item: &SubscriptionItem, out: &mut Vec<Bytes>) {
        match item {
            SubscriptionItem::Delta(line) => self.translate_delta(line, out),
            SubscriptionItem::Record(line) => match line.record() {
                Ok(record) => self.translate_record(record, out),
                Err(error) => tracing::warn!(seq = line.seq, %error, "a record cannot be read"),
            },
        }
    }

    fn translate_record(&mut self, Record { ts, turn_id, event, .. }: Record, out: &mut Vec<Bytes>) {
        match event {
            Event::Message(MessageEvent::Added { message, .. }) => self.message_added(&message, out),
            Event::Message(MessageEvent::Queued { queued, .. }) => self.message_added(&queued.message, out),
            Event::Turn(TurnEvent::Started { .. }) => {
                (self.newest_text_id, self.newest_entry_id) = (None, None)
            }
            Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => {
                self.model_output_completed(&message, turn_id, out)
            }
            Event::Call(CallEvent::Completed { tool_call, tool_result, .. }) => {
                let text = tool_result.text();
                let failed = tool_result.error.as_ref().filter(|_| !tool_result.ok).unwrap_or(&text);
                let result = if tool_result.ok { Ok(&text) } else { Err(failed) };
                let mut entry = tool_result_entry(turn_id, &tool_call.id, &tool_call.name, result);
                if let Some(at) = self.open_calls.iter().position(|open| open.id() == entry.id()) {
                    entry = entry.named_as(&self.open_calls.swap_remove(at));
                }
                self.send_entry(entry, out);
            }
            Event::Turn(TurnEvent::Completed { .. }) => {
                self.turn_ended(turn_id, ts, IdeTurnEnd::Completed, out)
            }
            Event::Turn(TurnEvent::Canceled { .. }) => {
                self.turn_ended(turn_id, ts, IdeTurnEnd::Canceled, out)
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => {
                self.turn_ended(turn_id, ts, IdeTurnEnd::Failed(error), out)
            }
            Event::Session(SessionEvent::Updated { session }) => self.session_updated(&session, out),
            Event::Session(
                SessionEvent::Created { .. }
                | SessionEvent::Completed { .. }
                | SessionEvent::Failed { .. }
                | SessionEvent::Canceled { .. },
            )
            | Event::Message(MessageEvent::Withdrawn { .. })
            | Event::Turn(TurnEvent::Retried { .. })
            | Event::Step(_)
            | Event::Batch(_)
            | Event::Call(CallEvent::Started { .. })
            | Event::Approval(_)
            | Event::Workspace(_)
            | Event::Agent(_)
            | Event::Child(_) => {}
        }
    }

    /// What somebody else said, here or at another door.
    fn message_added(&mut self, message: &Message, out: &mut Vec<Bytes>) {
        if message.role == Role::User && !self.own_messages.contains(message.id) {
            let entry = user_entry(message);
            out.push(framing::text(&IdeFrame::Update { session_id: &self.name, entry }));
        }
    }

    /// A whole message: what was not shown as it streamed, and the calls that it asks for.
    fn model_output_completed(&mut self, message: &Message, turn_id: Option<TurnId>, out: &mut Vec<Bytes>) {
        for entry in assistant_entries(message, turn_id) {
            let part = |(id, part, _): &&(MessageId, u32, u64)| part_id(*id, *part) == entry.id();
            let Some((_, _, known)) = self.sent_bytes.iter().find(part).copied() else {
                self.send_entry(entry, out);
                continue;
            };
            let (IdeEntry::Assistant { content, .. } | IdeEntry::Thinking { content, .. }) = &entry else {
                continue;
            };
            let rest = usize::try_from(known).ok().and_then(|known| content.get(known..));
            match rest {
                Some("") => {}
                Some(rest) => self.send_chunk(entry.id(), rest, out),
                // It is not what was shown, so all of it is shown anew.
                None => self.send_entry(entry, out),
            }
        }
        self.sent_bytes.retain(|(id, ..)| *id != message.id);
    }

    fn translate_delta(&mut self, line: &DeltaLine, out: &mut Vec<Bytes>) {
        let Delta { kind, offset, text } = line.delta();
        let (DeltaKind::Text { message_id, part } | DeltaKind::Reasoning { message_id, part }) = *kind else {
            return;
        };
        let of = |(id, number, _): &&mut (MessageId, u32, u64)| *id == message_id && *number == part;
        let known = self.sent_bytes.iter_mut().find(of).map(|(.., known)| *known);
        let start = known.unwrap_or(0);
        // Text after a gap is left for the record of the whole message, which has it all.
        let skipped = start.checked_sub(*offset).and_then(|skipped| usize::try_from(skipped).ok());
        let fresh = skipped.and_then(|skipped| text.get(skipped..)).filter(|fresh| !fresh.is_empty());
        let Some(fresh) = fresh else { return };
        let entry_id = part_id(message_id, part);
        let end = start + fresh.len() as u64;
        match self.sent_bytes.iter_mut().find(of) {
            Some((.., known)) => *known = end,
            None => {
                self.sent_bytes.push((message_id, part, end));
                let (entry_id, content) = (entry_id.clone(), String::new());
                let entry = if matches!(kind, DeltaKind::Reasoning { .. }) {
                    IdeEntry::Thinking { entry_id, content }
                } else {
                    IdeEntry::Assistant { entry_id, content, timestamp: format_time(line.ts()) }
                };
                self.send_entry(entry, out);
            }
        }
        self.send_chunk(&entry_id, fresh, out);
    }

    fn turn_ended(&mut self, turn_id: Option<TurnId>, at: Timestamp, end: IdeTurnEnd, out: &mut Vec<Bytes>) {
        let Some(turn_id) = turn_id else { return };
        let request_id = self.own_messages.remove_by_turn(turn_id);
        if self.newest_entry_id.is_none() {
            // The end is that of an entry, so there has to be one.
            let (entry_id, content) = (turn_id.to_string(), String::new());
            self.send_entry(IdeEntry::Assistant { entry_id, content, timestamp: format_time(at) }, out);
        }
        let (text, newest) = (self.newest_text_id.take(), self.newest_entry_id.take());
        let entry_id = text.or(newest).unwrap_or_default();
        let (session_id, entry_id) = (self.name.as_str(), entry_id.as_str());
        let frame = match end {
            IdeTurnEnd::Completed => IdeFrame::Complete { session_id, entry_id },
            IdeTurnEnd::Canceled => IdeFrame::Cancelled { session_id, entry_id },
            IdeTurnEnd::Failed(Failure { message, hint, .. }) => {
                let hint = hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
                let message = message + &hint;
                let session_id = Some(session_id);
                out.push(framing::text(&IdeFrame::Error { request_id, message: &message, session_id }));
                IdeFrame::Complete { session_id: &self.name, entry_id }
            }
        };
        out.push(framing::text(&frame));
        self.sent_bytes.clear();
        self.open_calls.clear();
    }

    fn session_updated(&mut self, session: &Session, out: &mut Vec<Bytes>) {
        let session_id = self.name.as_str();
        if let Some(title) = session.title.as_deref().filter(|_| session.title != self.title) {
            out.push(framing::text(&IdeFrame::TitleUpdated { session_id, title }));
        }
        if session.archived && !self.archived {
            out.push(framing::text(&IdeFrame::Archived { session_id, request_id: None }));
        }
        (self.title, self.archived) = (session.title.clone(), session.archived);
    }

    fn send_entry(&mut self, entry: IdeEntry, out: &mut Vec<Bytes>) {
        self.remember_newest(&entry);
        out.push(framing::text(&IdeFrame::Update { session_id: &self.name, entry }));
    }

    fn send_chunk(&self, entry_id: &str, content: &str, out: &mut Vec<Bytes>) {
        out.push(framing::text(&IdeFrame::Chunk { session_id: &self.name, entry_id, content }));
    }

    /// Remembers which entry the end of the turn is to name.
    fn remember_newest(&mut self, entry: &IdeEntry) {
        if let IdeEntry::Assistant { entry_id, .. } = entry {
            self.newest_text_id = Some(entry_id.clone());
        }
        if matches!(entry, IdeEntry::ToolCall { status: IdeCallStatus::Running, .. }) {
            self.open_calls.push(entry.clone());
        }
        self.newest_entry_id = Some(entry.id().to_owned());
    }
}
