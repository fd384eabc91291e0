//! One editor at work: which sessions it has open, which of its prompts wait for their turn to end, and what
//! it has been asked. What a session is lives in the engine; what each request does is `requests`'s.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    ConfigOptionUpdate, CurrentModeUpdate, Error, FileSystemCapabilities, PromptResponse, RequestId,
    SessionInfoUpdate, SessionUpdate, StopReason,
};
use futures_util::future::join_all;
use ostler_acp::{AcpIncoming, AcpLineError, parse};
use ostler_door_kit::DoorContext;
use ostler_door_kit::line_connection::{ConnectionEnd, GRACE, LineHandler, Outbox, OutboxClosed};
use ostler_line_framing::FramedLine;
use ostler_types::{AgentState, CancelTurn, Command, MessageId, SessionId, SessionView, TurnId};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, timeout};

use super::editor_links::{EditorLinks, next_editor_id};
use super::errors::{bad_line, from_failure};
use super::file_requests::EditorFileRequests;
use super::follower::EditorFollower;
use super::notices::{EditorNotice, EditorQuestion, EditorTurnEnd};
use super::questions::{EditorQuestions, preview_merge};
use super::settings::AnnouncedSettings;
use super::translate::{EditorOwnMessages, EditorTranslator};
use super::{AcpDoor, AcpOptions, CALLER, wire};

/// Sessions that one editor may have open at a time.
pub(super) const MAX_SESSIONS: usize = 256;
/// Notes that may wait for the desk.
const MAX_PENDING_NOTICES: usize = 64;

/// One editor at work.
pub(super) struct EditorConnection {
    pub(super) context: DoorContext,
    pub(super) editors: Option<Arc<dyn EditorLinks>>,
    pub(super) options: AcpOptions,
    outbox: Outbox,
    /// Lines that are said once the request or the note is done with.
    pub(super) pending_output: Vec<u8>,
    pub(super) sessions: Vec<EditorSession>,
    pub(super) prompts: Vec<PendingPrompt>,
    pub(super) questions: EditorQuestions,
    pub(super) file_requests: EditorFileRequests,
    /// How many requests the editor has been sent.
    pub(super) requests_sent: i64,
    /// Which editor it is.
    pub(super) editor_id: u64,
    /// What it offers to do with files.
    pub(super) file_capabilities: FileSystemCapabilities,
    followers: JoinSet<()>,
    pub(super) notice_sender: mpsc::Sender<(SessionId, EditorNotice)>,
    /// What the sessions have to tell.
    notice_receiver: mpsc::Receiver<(SessionId, EditorNotice)>,
}

/// A session that the editor has open.
pub(super) struct EditorSession {
    pub(super) id: SessionId,
    pub(super) workspace: PathBuf,
    /// The same as the editor spells it.
    pub(super) cwd: PathBuf,
    /// What it was told of the servers of tools that it named.
    pub(super) server_report: Option<Map<String, Value>>,
    pub(super) announced: AnnouncedSettings,
    pub(super) own_messages: EditorOwnMessages,
    /// The requests that are answered once the past has been told.
    load_requests: Vec<RequestId>,
    /// The questions that are put then.
    postponed_questions: Vec<EditorQuestion>,
    follower: AbortHandle,
}

/// A prompt that waits for the end of its turn.
pub(super) struct PendingPrompt {
    pub(super) request: RequestId,
    pub(super) session_id: SessionId,
    pub(super) turn_id: TurnId,
    pub(super) message_id: MessageId,
}

/// What is to be stopped in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StopScope {
    /// Whatever runs, whoever began it.
    AllTurns,
    /// What this editor has begun.
    OwnTurns,
    /// The same, unless it waits for an answer: that can be given elsewhere, or when the session is opened again.
    OwnTurnsUnlessAsking,
}

impl LineHandler for EditorConnection {
    type Notice = (SessionId, EditorNotice);

    async fn handle_line(&mut self, framed: FramedLine) -> Result<ControlFlow<()>, OutboxClosed> {
        self.handle_framed_line(framed).await.map(ControlFlow::Continue)
    }

    async fn next_notice(&mut self) -> Option<(SessionId, EditorNotice)> {
        self.notice_receiver.recv().await
    }

    async fn handle_notice(&mut self, (id, note): (SessionId, EditorNotice)) -> Result<(), OutboxClosed> {
        self.handle_session_notice(id, note).await
    }
}

impl EditorConnection {
    pub(super) fn new(door: &AcpDoor, options: AcpOptions, outbox: Outbox) -> EditorConnection {
        let (notes_in, notes) = mpsc::channel(MAX_PENDING_NOTICES);
        EditorConnection {
            context: door.context.clone(),
            editors: door.editors.clone(),
            options,
            outbox,
            pending_output: Vec::new(),
            sessions: Vec::new(),
            prompts: Vec::new(),
            questions: EditorQuestions::default(),
            file_requests: EditorFileRequests::default(),
            requests_sent: 0,
            editor_id: next_editor_id(),
            file_capabilities: FileSystemCapabilities::default(),
            followers: JoinSet::new(),
            notice_sender: notes_in,
            notice_receiver: notes,
        }
    }

    /// Takes a line.
    async fn handle_framed_line(&mut self, framed: FramedLine) -> Result<(), OutboxClosed> {
        match framed {
            FramedLine::Line(line) | FramedLine::Unterminated(line)
                if line.iter().all(u8::is_ascii_whitespace) => {}
            FramedLine::Line(line) | FramedLine::Unterminated(line) => match std::str::from_utf8(&line) {
                Ok(text) => self.handle_message(text).await,
                Err(_) => {
                    wire::error(
                        &RequestId::Null,
                        &bad_line("the line is not UTF-8"),
                        &mut self.pending_output,
                    );
                }
            },
            FramedLine::TooLong => {
                let message =
                    format!("the line is longer than {} bytes, and was skipped", self.options.max_line_bytes);
                wire::error(&RequestId::Null, &bad_line(message), &mut self.pending_output);
            }
        }
        self.flush().await
    }

    async fn handle_message(&mut self, line: &str) {
        match parse(line) {
            Ok(AcpIncoming::Request { id, method, params }) => {
                Box::pin(self.request(id, &method, params)).await
            }
            Ok(AcpIncoming::Notification { method, params }) => self.notification(&method, params).await,
            Ok(AcpIncoming::Answer { id, outcome }) => {
                let outcome = self.file_requests.respond(&id, outcome);
                let meant = outcome.and_then(|outcome| self.questions.respond(&id, outcome));
                if let Some((session_id, command)) = meant {
                    self.submit(session_id, command).await;
                }
            }
            Err(AcpLineError { id: Some(id), error }) => wire::error(&id, &error, &mut self.pending_output),
            Err(AcpLineError { id: None, error }) => tracing::debug!(%error, "an answer cannot be read"),
        }
    }

    /// Takes a note of a session.
    async fn handle_session_notice(&mut self, id: SessionId, note: EditorNotice) -> Result<(), OutboxClosed> {
        match note {
            EditorNotice::TurnEnded(turn_id, end) => self.turn_ended(id, turn_id, &end),
            EditorNotice::TurnDropped(turn_id) => {
                self.answer_prompt(id, turn_id, &EditorTurnEnd::Stopped(StopReason::Cancelled));
            }
            EditorNotice::Answered(key) => {
                self.sessions
                    .iter_mut()
                    .for_each(|open| open.postponed_questions.retain(|question| question.key != key));
                self.questions.answered(&key, &mut self.pending_output);
            }
            EditorNotice::Asked(question) => self.ask(id, *question),
            EditorNotice::Changed(session) => {
                self.announce_changes(id, |shown| shown.update_session(&session)).await
            }
            EditorNotice::AgentChanged(agent) => {
                self.announce_changes(id, |shown| shown.update_agent(&agent)).await
            }
            EditorNotice::Replayed => self.finish_load(id).await,
            EditorNotice::File(wanted) => self.ask_file(id, wanted),
            EditorNotice::Gone => {
                self.session_gone(id);
                self.end_sharing(id).await;
            }
        }
        self.flush().await
    }

    /// Begins to follow a session; one that is followed already is followed anew, if its past is to be told.
    pub(super) fn open(&mut self, view: &SessionView, loading: Option<RequestId>) {
        let id = view.session.id;
        self.share_files(id);
        let place = self.sessions.iter().position(|open| open.id == id);
        let replay = loading.is_some();
        let waiting: Vec<EditorQuestion> = view.pending_approvals.iter().map(EditorQuestion::from).collect();
        if let Some(place) = place {
            if replay {
                self.sessions[place].follower.abort();
                let follower = self.follow(view, true, self.sessions[place].own_messages.clone());
                let open = &mut self.sessions[place];
                open.load_requests.extend(loading);
                (open.follower, open.postponed_questions) = (follower, waiting);
            }
            return;
        }
        let own = EditorOwnMessages::default();
        let follower = self.follow(view, replay, own.clone());
        self.sessions.push(EditorSession {
            id,
            workspace: PathBuf::from(&view.session.workspace_path),
            cwd: PathBuf::from(&view.session.workspace_path),
            server_report: None,
            announced: AnnouncedSettings::from_view(view),
            own_messages: own,
            load_requests: loading.into_iter().collect(),
            postponed_questions: waiting,
            follower,
        });
        if !replay {
            self.ask_postponed(id);
        }
    }

    fn follow(&mut self, view: &SessionView, replay: bool, own: EditorOwnMessages) -> AbortHandle {
        let (engine, settings) = (self.context.engine.clone(), self.context.settings.clone());
        let mut translator = EditorTranslator::new(view, replay, settings, engine.clone(), own);
        if let (false, Some(agent)) = (replay, &view.agent_state) {
            translator.begin(agent.as_ref() as &AgentState, &mut self.pending_output);
        }
        let follower = EditorFollower {
            engine,
            outbox: self.outbox.clone(),
            notice_sender: self.notice_sender.clone(),
            id: view.session.id,
            after: if replay { 0 } else { view.last_seq },
            history: view.last_seq,
        };
        // Those that were stopped are forgotten.
        while self.followers.try_join_next().is_some() {}
        self.followers.spawn(follower.run(translator))
    }

    /// Puts the questions that were open when the session was opened, and still are.
    fn ask_postponed(&mut self, id: SessionId) {
        let open = self.sessions.iter_mut().find(|open| open.id == id);
        for question in open.map(|open| std::mem::take(&mut open.postponed_questions)).unwrap_or_default() {
            self.ask(id, question);
        }
    }

    fn ask(&mut self, shown_in: SessionId, question: EditorQuestion) {
        if question.is_merge() && question.merged.is_none() {
            if self.questions.begin_preview(shown_in, &question.key) {
                let parts = (self.context.engine.clone(), self.context.settings.clone());
                let asking = preview_merge(parts, shown_in, question, self.notice_sender.clone());
                self.followers.spawn(asking);
            }
            return;
        }
        // It may have been answered while it was looked at.
        if question.merged.is_some() && !self.questions.end_preview(&question.key) {
            return;
        }
        if let Some(open) = self.sessions.iter().find(|open| open.id == shown_in) {
            self.questions.ask(
                shown_in,
                question,
                &open.workspace,
                (&mut self.requests_sent, &mut self.pending_output),
            );
        }
    }

    /// The past of a session has been told: who asked for it is answered, and what waits is asked.
    async fn finish_load(&mut self, id: SessionId) {
        let Some(open) = self.sessions.iter_mut().find(|open| open.id == id) else { return };
        let loading = std::mem::take(&mut open.load_requests);
        if loading.is_empty() {
            return;
        }
        let brought = open.server_report.clone();
        let result = self.session_offers(&self.announced_settings(id)).await.meta(brought);
        for request in &loading {
            wire::result(request, &result, &mut self.pending_output);
        }
        self.ask_postponed(id);
    }

    fn announced_settings(&self, id: SessionId) -> Option<AnnouncedSettings> {
        self.sessions.iter().find(|open| open.id == id).map(|open| open.announced.clone())
    }

    /// Tells what is another now, by whomever it was chosen.
    async fn announce_changes(&mut self, id: SessionId, change: impl FnOnce(&mut AnnouncedSettings)) {
        let Some(open) = self.sessions.iter_mut().find(|open| open.id == id) else { return };
        let before = open.announced.clone();
        change(&mut open.announced);
        let now = open.announced.clone();
        if before.title != now.title {
            let info = SessionInfoUpdate::new().title(now.title.clone());
            wire::update(id, SessionUpdate::SessionInfoUpdate(info), &mut self.pending_output);
        }
        if before.mode != now.mode {
            let mode = CurrentModeUpdate::new(now.mode);
            wire::update(id, SessionUpdate::CurrentModeUpdate(mode), &mut self.pending_output);
        }
        if (&before.mode, &before.model, &before.agent) != (&now.mode, &now.model, &now.agent) {
            let options = ConfigOptionUpdate::new(now.options(&self.context).await);
            wire::update(id, SessionUpdate::ConfigOptionUpdate(options), &mut self.pending_output);
        }
    }

    fn turn_ended(&mut self, id: SessionId, turn_id: TurnId, end: &EditorTurnEnd) {
        for open in self.sessions.iter_mut().filter(|open| open.id == id) {
            // The past is told too, so a child's question is not known to be of this turn.
            let key = |question: &EditorQuestion| (question.key.session_id, question.key.turn_id);
            open.postponed_questions.retain(|question| key(question) != (id, turn_id));
        }
        self.questions.turn_ended(id, turn_id, &mut self.pending_output);
        self.answer_prompt(id, turn_id, end);
    }

    /// Answers the prompt that the turn was for, if it came from here.
    fn answer_prompt(&mut self, id: SessionId, turn_id: TurnId, end: &EditorTurnEnd) {
        let is_its = |prompt: &PendingPrompt| prompt.session_id == id && prompt.turn_id == turn_id;
        while let Some(place) = self.prompts.iter().position(is_its) {
            let PendingPrompt { request, .. } = self.prompts.remove(place);
            match end {
                EditorTurnEnd::Stopped(reason) => {
                    wire::result(&request, &PromptResponse::new(*reason), &mut self.pending_output);
                }
                EditorTurnEnd::Failed(failure) => {
                    wire::error(&request, &from_failure(failure), &mut self.pending_output)
                }
            }
        }
    }

    /// No more will come of a session.
    fn session_gone(&mut self, id: SessionId) {
        let error = Error::internal_error().data(serde_json::json!({"code": "session_gone"}));
        if let Some(open) = self.close(id) {
            for request in &open.load_requests {
                wire::error(request, &error, &mut self.pending_output);
            }
        }
        self.refuse_prompts(&error, |prompt| prompt.session_id == id);
    }

    /// Stops following a session.
    pub(super) fn close(&mut self, id: SessionId) -> Option<EditorSession> {
        let place = self.sessions.iter().position(|open| open.id == id)?;
        let open = self.sessions.remove(place);
        open.follower.abort();
        self.questions.session_closed(id, &mut self.pending_output);
        Some(open)
    }

    /// Answers what waits in a session that the editor closes.
    pub(super) fn end_prompts(&mut self, id: SessionId) {
        let turns = self.prompts.iter().filter(|prompt| prompt.session_id == id).map(|prompt| prompt.turn_id);
        for turn_id in turns.collect::<Vec<_>>() {
            self.answer_prompt(id, turn_id, &EditorTurnEnd::Stopped(StopReason::Cancelled));
        }
    }

    fn refuse_prompts(&mut self, error: &Error, which: impl Fn(&PendingPrompt) -> bool) {
        let refused: Vec<PendingPrompt> = self.prompts.extract_if(.., |prompt| which(prompt)).collect();
        for PendingPrompt { request, .. } in refused {
            wire::error(&request, error, &mut self.pending_output);
        }
    }

    /// Asks the engine for something of which the events tell what came of it.
    pub(super) async fn submit(&self, id: SessionId, command: Command) {
        if let Err(error) = self.context.engine.submit(id, command).await {
            tracing::debug!(%id, %error, "a wish of the editor came too late");
        }
    }

    /// Ends what this editor has asked for, and answers all that it waits for.
    pub(super) async fn shut_down(&mut self, how: ConnectionEnd) {
        self.file_requests.drop_all();
        let stopping = *self.context.engine.stopping().borrow();
        if !stopping {
            for open in &self.sessions {
                self.stop_turns(open.id, StopScope::OwnTurnsUnlessAsking).await;
            }
        }
        if how != ConnectionEnd::ClientGone {
            let until = Instant::now() + GRACE;
            while !self.prompts.is_empty() && self.expects_turn_end().await {
                tokio::select! {
                    Some((id, note)) = self.notice_receiver.recv() => {
                        if self.handle_session_notice(id, note).await.is_err() {
                            break;
                        }
                    }
                    ended = self.followers.join_next(), if stopping => {
                        if ended.is_none() && self.notice_receiver.is_empty() {
                            break;
                        }
                    }
                    () = tokio::time::sleep_until(until) => break,
                }
            }
            let failure = ostler_types::Failure {
                code: "connection_ended".to_owned(),
                message: "the connection ended before the turn did".to_owned(),
                hint: Some("the session is on disk; load it to go on".to_owned()),
            };
            self.refuse_prompts(&from_failure(&failure), |_| true);
            _ = timeout(GRACE, self.flush()).await;
        }
        self.followers.shutdown().await;
        join_all(self.sessions.iter().map(|open| self.end_sharing(open.id))).await;
    }

    /// Whether the end of a turn of this editor is still to be expected: one that waits for an answer has none.
    async fn expects_turn_end(&self) -> bool {
        for prompt in &self.prompts {
            match self.context.engine.view(prompt.session_id).await {
                Ok(view) if !view.pending_approvals.is_empty() => {}
                Ok(_) | Err(_) => return true,
            }
        }
        false
    }

    /// Stops what runs in a session, as far as it is meant, and takes back what this editor has queued: that
    /// first, or the next turn would begin.
    pub(super) async fn stop_turns(&self, id: SessionId, what: StopScope) {
        let Ok(view) = self.context.engine.view(id).await else { return };
        let own: Vec<&PendingPrompt> = self.prompts.iter().filter(|prompt| prompt.session_id == id).collect();
        let is_own = |turn: &TurnId| own.iter().any(|prompt| prompt.turn_id == *turn);
        let running = view.running_turn_id.filter(|turn| what == StopScope::AllTurns || is_own(turn));
        if what == StopScope::OwnTurnsUnlessAsking && running.is_some() && !view.pending_approvals.is_empty()
        {
            return;
        }
        let queued = view.queue.iter().map(|queued| queued.message.id);
        let queued = queued.filter(|queued| own.iter().any(|prompt| prompt.message_id == *queued));
        for message_id in queued {
            self.submit(id, Command::Withdraw { message_id, by: CALLER.to_owned() }).await;
        }
        if let Some(turn_id) = running {
            let reason = (what == StopScope::OwnTurnsUnlessAsking).then(|| "its editor has gone".to_owned());
            let turn_id = Some(turn_id);
            self.submit(id, Command::Cancel(CancelTurn { turn_id, by: CALLER.to_owned(), reason })).await;
        }
    }

    async fn flush(&mut self) -> Result<(), OutboxClosed> {
        if self.pending_output.is_empty() {
            return Ok(());
        }
        self.outbox.send(std::mem::take(&mut self.pending_output).into()).await
    }
}
