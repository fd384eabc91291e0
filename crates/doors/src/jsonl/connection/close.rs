//! Commands that end something: a turn, a conversation, a session, the whole connection.

use std::time::Duration;

use ostler_door_kit::line_connection::OutboxClosed;
use ostler_engine::{Engine, EngineError, SubscriptionItem};
use ostler_types::{
    CancelTurn, Command, CompactionTrigger, EventName, Message, MessageId, NewCompaction, Part, Queued,
    Record, Role, SessionId, SessionView,
};
use tokio::time::{Instant, timeout};

use super::super::frames::{CloseReason, ServerFrame, send_frame};
use super::super::session_files;
use super::super::session_starter::to_refusal;
use super::super::{CALLER, ConnectionEnd};
use super::{ClientSession, JsonlConnection};

/// How long a client that has said its last has for reading what it is told of that.
const GRACE: Duration = Duration::from_secs(5);
/// What the model is shown of a conversation that was reset.
const RESET_SUMMARY: &str = "[The conversation begins anew here.]";

impl JsonlConnection {
    /// Stops the running turn; an idle session stays as it is.
    pub(super) async fn abort(&mut self, id: Option<String>) -> Result<(), OutboxClosed> {
        let Some(id) = self.find_session(id).await? else { return Ok(()) };
        let cancel = Command::Cancel(CancelTurn { turn_id: None, by: CALLER.to_owned(), reason: None });
        self.submit(id, cancel).await
    }

    /// Begins the conversation anew, in the same session: what was said stays in its log, and is no longer
    /// shown to the model.
    pub(super) async fn reset(&mut self, id: Option<String>) -> Result<(), OutboxClosed> {
        let Some(id) = self.find_session(id).await? else { return Ok(()) };
        match self.reset_conversation(id).await {
            Ok(()) => Ok(()),
            Err(error) => self.send_refusal(&to_refusal(error), Some(id)).await,
        }
    }

    async fn reset_conversation(&self, id: SessionId) -> Result<(), EngineError> {
        let engine = &self.context.engine;
        let by = || CALLER.to_owned();
        for queued in engine.view(id).await?.queue {
            engine.submit(id, Command::Withdraw { message_id: queued.message.id, by: by() }).await?;
        }
        let reason = Some("the conversation was reset".to_owned());
        engine.submit(id, Command::Cancel(CancelTurn { turn_id: None, by: by(), reason })).await?;
        let Some(last) = engine.messages(id, None, 1).await?.messages.pop() else { return Ok(()) };
        let (view, clock) = (engine.view(id).await?, engine.clock());
        let summary = Message {
            id: MessageId::new(clock.uuid()),
            role: Role::System,
            parts: vec![Part::text(RESET_SUMMARY)],
            created_at: clock.now(),
        };
        let compaction = NewCompaction {
            from_message_id: first_message(engine, id).await?.unwrap_or(last.id),
            to_message_id: last.id,
            tokens_before: view.context_tokens.unwrap_or(0),
            tokens_after: 0,
            trigger: CompactionTrigger::Asked,
            summary: Some(summary),
            pruned: Vec::new(),
        };
        engine.submit(id, Command::Reset { compaction: Box::new(compaction) }).await.map(drop)
    }

    /// Closes a session. It stays on disk, as it always was.
    pub(super) async fn close_session(&mut self, given: Option<String>) -> Result<(), OutboxClosed> {
        let known = |id: &SessionId| self.sessions.iter().any(|open| open.id == *id);
        let id = match &given {
            Some(given) => given.parse().ok().filter(known),
            None => self.find_session(None).await?,
        };
        let Some(id) = id else {
            let Some(given) = given else { return Ok(()) };
            let (session_id, reason) = (super::quoted(&given), CloseReason::NotFound);
            return send_frame(&self.outbox, &ServerFrame::SessionClosed { session_id: &session_id, reason })
                .await;
        };
        self.write_session_file(id).await?;
        // That it is closed shows in its events, after all that came before.
        self.submit(id, Command::Close { by: CALLER.to_owned() }).await
    }

    /// Writes the file of a session that has one.
    async fn write_session_file(&self, id: SessionId) -> Result<(), OutboxClosed> {
        let file = self.sessions.iter().find(|open| open.id == id).and_then(|open| open.file.clone());
        let Some(file) = file else { return Ok(()) };
        match session_files::write(&self.context.engine, id, &file).await {
            Ok(()) => Ok(()),
            Err(error) => self.send_refusal(&error, Some(id)).await,
        }
    }

    /// Ends everything that this client has begun, in order, and returns when it has been told.
    pub(in super::super) async fn shut_down(mut self, how: ConnectionEnd) -> ConnectionEnd {
        match how {
            ConnectionEnd::EndOfInput => self.wait_for_own_turns().await,
            ConnectionEnd::Quit
            | ConnectionEnd::Stopped
            | ConnectionEnd::ClientGone
            | ConnectionEnd::NotAllowed => {}
        }
        // An engine that stops ends its turns itself, and its sessions' streams after that.
        let stopping = *self.context.engine.stopping().borrow();
        if !stopping {
            self.stop_own_turns_in_all().await;
        }
        // Their notes are no longer of interest, and nobody may wait for them to be taken.
        self.notice_receiver.close();
        let mut followers = std::mem::take(&mut self.followers);
        let told = async { while followers.join_next().await.is_some() {} };
        if how != ConnectionEnd::ClientGone && timeout(GRACE, told).await.is_err() {
            tracing::warn!("the client did not read how its sessions ended");
        }
        if stopping {
            let hint = Some("start it again, and go on with the session by its `session_file`");
            let error = ServerFrame::Error { message: "the daemon is shutting down", hint, session_id: None };
            _ = timeout(GRACE, send_frame(&self.outbox, &error)).await;
            return how;
        }
        for open in &self.sessions {
            _ = timeout(GRACE, self.write_session_file(open.id)).await;
        }
        how
    }

    /// Stops what this client has asked for, session by session, and lets each be followed as far as that.
    async fn stop_own_turns_in_all(&self) {
        for open in &self.sessions {
            if let Ok(view) = self.context.engine.view(open.id).await {
                self.stop_own_turns(open, view).await;
            }
        }
        for open in &self.sessions {
            // A session that cannot say how far it is has ended.
            let last = self.context.engine.view(open.id).await.map_or(0, |view| view.last_seq);
            open.follow_until.send_replace(Some(last));
        }
    }

    /// Lets what runs come to its end by itself, for a while: whoever pipes a prompt in wants its answer.
    async fn wait_for_own_turns(&mut self) {
        let until = Instant::now() + self.options.linger;
        while self.sessions.iter().any(|open| !open.own_turns.is_empty() && !self.dialogs.is_asking(open.id))
        {
            tokio::select! {
                note = self.notice_receiver.recv() => match note {
                    Some(note) => {
                        if self.handle_session_notice(note).await.is_err() {
                            return;
                        }
                    }
                    None => return,
                },
                () = tokio::time::sleep_until(until) => return,
                () = self.outbox.closed() => return,
            }
        }
    }

    /// Stops what this client has asked for in a session. A turn that waits for an answer is left waiting,
    /// with what is queued behind it: it can be answered elsewhere, or when the session is opened again.
    async fn stop_own_turns(&self, open: &ClientSession, view: SessionView) {
        let is_own = |turn| open.own_turns.contains(turn);
        let runs = view.running_turn_id.as_ref().is_some_and(is_own);
        if runs && !view.pending_approvals.is_empty() {
            return;
        }
        // The queue first, or the next turn would begin.
        let queued = view.queue.iter().filter(|queued| is_own(&queued.turn_id));
        let withdraw =
            |queued: &Queued| Command::Withdraw { message_id: queued.message.id, by: CALLER.to_owned() };
        let reason = Some("its client has gone".to_owned());
        let turn_id = view.running_turn_id;
        let cancel = Command::Cancel(CancelTurn { turn_id, by: CALLER.to_owned(), reason });
        for command in queued.map(withdraw).chain(runs.then_some(cancel)) {
            if let Err(error) = self.context.engine.submit(open.id, command).await {
                tracing::warn!(id = %open.id, message = to_refusal(error).message, "a turn was not stopped");
            }
        }
    }
}

/// The first message of a session.
async fn first_message(engine: &Engine, id: SessionId) -> Result<Option<MessageId>, EngineError> {
    let mut subscription = engine.subscribe(id, 0).await?;
    while let Some(item) = subscription.ready().await? {
        let SubscriptionItem::Record(line) = item else { continue };
        if let (Some(EventName::MessageAdded), Ok(Record { event, ts, .. })) = (line.name(), line.record()) {
            return Ok(event.message(ts).map(|message| message.id));
        }
    }
    Ok(None)
}
