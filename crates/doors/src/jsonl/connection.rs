//! One client at work: its sessions, which of them is active, and what each command does. What a session is
//! lives in the engine; the desk only knows which ones this client has, and which turns it has asked for.

mod close;
mod queries;
mod questions;

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;

use bytes::Bytes;
use ostler_door_kit::DoorContext;
use ostler_door_kit::line_connection::{LineHandler, Outbox, OutboxClosed};
use ostler_line_framing::FramedLine;
use ostler_types::{
    Accepted, Command, Delivery, Message, MessageId, Part, Refusal, Role, SessionId, SessionView,
    SubmitMessage, TurnId,
};
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};

use super::commands::{ClientFrame, JsonlCommandError, OfSession, StartSession, quoted, read_command};
use super::dialogs::OpenDialogs;
use super::follower::JsonlFollower;
use super::frames::{CloseReason, ModelName, ServerFrame, send_frame};
use super::notices::{JsonlNotice, JsonlQuestion};
use super::session_counts::SessionCounts;
use super::session_starter::{SessionStarter, StartedJsonlSession, to_refusal};
use super::{CALLER, JsonlOptions};

/// Sessions that one client may have at a time.
const MAX_SESSIONS: usize = 256;
/// Turns of a client that are remembered per session; the engine holds fewer open.
const MAX_OWN_TURNS: usize = 128;
/// Notes that may wait for the desk.
const MAX_PENDING_NOTICES: usize = 64;

/// One client at work.
pub(super) struct JsonlConnection {
    context: DoorContext,
    options: JsonlOptions,
    outbox: Outbox,
    /// In the order in which they were started.
    sessions: Vec<ClientSession>,
    primary: Option<SessionId>,
    active: Option<SessionId>,
    dialogs: OpenDialogs,
    followers: JoinSet<()>,
    notice_sender: mpsc::Sender<(SessionId, JsonlNotice)>,
    /// What the sessions have to ask.
    notice_receiver: mpsc::Receiver<(SessionId, JsonlNotice)>,
}

/// A session of this client.
struct ClientSession {
    id: SessionId,
    cwd: String,
    /// Where it is saved besides.
    file: Option<PathBuf>,
    /// The turns that this client has asked for and that have not ended.
    own_turns: VecDeque<TurnId>,
    counts: SessionCounts,
    /// Says up to which record its follower is to go.
    follow_until: watch::Sender<Option<u64>>,
    follower: AbortHandle,
}

/// What becomes of the connection after a command.
pub(super) type CommandFlow = Result<ControlFlow<()>, OutboxClosed>;

impl LineHandler for JsonlConnection {
    type Notice = (SessionId, JsonlNotice);

    async fn handle_line(&mut self, framed: FramedLine) -> CommandFlow {
        self.handle_framed_line(framed).await
    }

    async fn next_notice(&mut self) -> Option<(SessionId, JsonlNotice)> {
        self.notice_receiver.recv().await
    }

    async fn handle_notice(&mut self, note: (SessionId, JsonlNotice)) -> Result<(), OutboxClosed> {
        self.handle_session_notice(note).await
    }
}

impl JsonlConnection {
    pub(super) fn new(context: DoorContext, options: JsonlOptions, outbox: Outbox) -> JsonlConnection {
        let (notes_in, notes) = mpsc::channel(MAX_PENDING_NOTICES);
        JsonlConnection {
            context,
            options,
            outbox,
            sessions: Vec::new(),
            primary: None,
            active: None,
            dialogs: OpenDialogs::default(),
            followers: JoinSet::new(),
            notice_sender: notes_in,
            notice_receiver: notes,
        }
    }

    /// Starts the primary session and says so. An error has been told to the client.
    pub(super) async fn start_primary_session(&mut self) -> Result<Result<(), Refusal>, OutboxClosed> {
        let asked = StartSession {
            model: self.options.model.clone(),
            system_prompt: self.options.system_prompt.clone(),
            session_file: self.options.session_file.clone(),
            ..StartSession::default()
        };
        let started = match Box::pin(self.session_starter(None).start(&asked)).await {
            Ok(started) => started,
            Err(refusal) => {
                let refusal = failed_to_start(refusal);
                self.send_refusal(&refusal, None).await?;
                return Ok(Err(refusal));
            }
        };
        let id = started.view.session.id;
        (self.primary, self.active) = (Some(id), Some(id));
        let ready = ServerFrame::Ready {
            cwd: &self.options.cwd,
            model: ModelName::from_full_name(&started.view.session.model),
            debug: self.options.debug,
            ui: self.options.ui,
            primary_session_id: self.primary,
            active_session_id: self.active,
        }
        .line();
        self.outbox.send(ready).await?;
        if self.options.debug {
            let (message, argv) = ("the primary session is there", Some(self.options.argv.as_slice()));
            send_frame(&self.outbox, &ServerFrame::Debug { message, argv }).await?;
        }
        self.open(started).await?;
        Ok(Ok(()))
    }

    /// Takes a line.
    async fn handle_framed_line(&mut self, framed: FramedLine) -> CommandFlow {
        let line = match framed {
            FramedLine::Line(line) | FramedLine::Unterminated(line) => line,
            FramedLine::TooLong => {
                let message =
                    format!("the line is longer than {} bytes, and was skipped", self.options.max_line_bytes);
                let hint = "attach large content as a file of the workspace, or raise --max-line-bytes";
                self.send_refusal(&Refusal::invalid("too_large", message).hint(hint), None).await?;
                return Ok(ControlFlow::Continue(()));
            }
        };
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(ControlFlow::Continue(()));
        }
        let command = match read_command(&line) {
            Ok(command) => command,
            Err(JsonlCommandError { message, hint, session_id }) => {
                let (hint, session_id) = (hint.as_deref(), session_id.as_deref());
                send_frame(&self.outbox, &ServerFrame::Error { message: &message, hint, session_id }).await?;
                return Ok(ControlFlow::Continue(()));
            }
        };
        if self.options.debug {
            let name = serde_json::to_value(&command)
                .ok()
                .and_then(|value| value["type"].as_str().map(str::to_owned));
            let message = format!("got {}", name.unwrap_or_default());
            send_frame(&self.outbox, &ServerFrame::Debug { message: &message, argv: None }).await?;
        }
        self.handle_command(command).await
    }

    async fn handle_command(&mut self, command: ClientFrame) -> CommandFlow {
        match command {
            ClientFrame::Prompt { text, session_id, delivery } => {
                self.prompt(text, session_id, delivery).await?
            }
            ClientFrame::Stats(OfSession { session_id }) => self.stats(session_id).await?,
            ClientFrame::Abort(OfSession { session_id }) => self.abort(session_id).await?,
            ClientFrame::Reset(OfSession { session_id }) => self.reset(session_id).await?,
            ClientFrame::Save(OfSession { session_id }) => self.save(session_id).await?,
            ClientFrame::ListSessions {} => self.list_sessions().await?,
            ClientFrame::ListRunningSessions {} => self.list_running().await?,
            ClientFrame::StartSession(asked) => self.start_session(asked).await?,
            ClientFrame::CloseSession(OfSession { session_id }) => self.close_session(session_id).await?,
            ClientFrame::SetActiveSession { session_id } => {
                if let Some(id) = self.find_session(Some(session_id)).await? {
                    self.activate(Some(id)).await?;
                }
            }
            ClientFrame::UiResponse(response) => self.handle_response(&response).await?,
            ClientFrame::ListModels {} => self.list_models(),
            ClientFrame::Ping {} => send_frame(&self.outbox, &ServerFrame::Pong {}).await?,
            ClientFrame::Debug {} => self.debug().await?,
            ClientFrame::Quit {} => return Ok(ControlFlow::Break(())),
        }
        Ok(ControlFlow::Continue(()))
    }

    /// Takes a note of a session.
    async fn handle_session_notice(
        &mut self,
        (id, note): (SessionId, JsonlNotice),
    ) -> Result<(), OutboxClosed> {
        let Some(place) = self.sessions.iter().position(|open| open.id == id) else { return Ok(()) };
        match note {
            JsonlNotice::Asked(question) => self.ask_client(place, question).await,
            JsonlNotice::Answered { key, outcome, by } => {
                let lines = self.dialogs.answered(&key, outcome, &by);
                self.send_all(lines).await
            }
            JsonlNotice::TurnEnded(turn_id) => {
                self.sessions[place].own_turns.retain(|own| *own != turn_id);
                let lines = self.dialogs.turn_ended(id, turn_id);
                self.send_all(lines).await
            }
            JsonlNotice::TurnDropped(turn_id) => {
                self.sessions[place].own_turns.retain(|own| *own != turn_id);
                Ok(())
            }
            JsonlNotice::Gone(reason) => self.remove_session(place, reason).await,
        }
    }

    async fn prompt(
        &mut self,
        text: String,
        id: Option<String>,
        delivery: Option<Delivery>,
    ) -> Result<(), OutboxClosed> {
        let Some(id) = self.find_session(id).await? else { return Ok(()) };
        let clock = self.context.engine.clock();
        let message = Message {
            id: MessageId::new(clock.uuid()),
            role: Role::User,
            parts: vec![Part::text(text)],
            created_at: clock.now(),
        };
        let command = Command::Submit(SubmitMessage {
            message,
            turn_id: TurnId::new(clock.uuid()),
            delivery: delivery.unwrap_or_default(),
            auto_run: Some(true),
            idempotency_key: None,
            by: CALLER.to_owned(),
        });
        match self.context.engine.submit(id, command).await {
            Ok(Accepted::Message { turn_id: Some(turn_id), .. }) => {
                if let Some(open) = self.sessions.iter_mut().find(|open| open.id == id) {
                    open.own_turns.push_back(turn_id);
                    if open.own_turns.len() > MAX_OWN_TURNS {
                        open.own_turns.pop_front();
                    }
                }
                Ok(())
            }
            Ok(_) => Ok(()),
            Err(error) => self.send_refusal(&to_refusal(error), Some(id)).await,
        }
    }

    async fn start_session(&mut self, asked: StartSession) -> Result<(), OutboxClosed> {
        let model = match self.active {
            Some(active) => self.context.engine.view(active).await.ok().map(|view| view.session.model),
            None => None,
        };
        if self.sessions.len() >= MAX_SESSIONS {
            let message =
                format!("failed to start session: a client has at most {MAX_SESSIONS} sessions at a time");
            return self.send_refusal(&Refusal::invalid("too_many", message).hint("close one"), None).await;
        }
        let started = match Box::pin(self.session_starter(model).start(&asked)).await {
            Ok(started) => started,
            Err(refusal) => return self.send_refusal(&failed_to_start(refusal), None).await,
        };
        let id = started.view.session.id;
        self.send_session_started(&started.view).await?;
        self.open(started).await?;
        if asked.set_active || self.active.is_none() { self.activate(Some(id)).await } else { Ok(()) }
    }

    fn session_starter(&self, model: Option<String>) -> SessionStarter<'_> {
        SessionStarter { context: &self.context, cwd: &self.options.cwd, model }
    }

    async fn send_session_started(&self, view: &SessionView) -> Result<(), OutboxClosed> {
        let session = &view.session;
        let (cwd, model) = (session.workspace_path.as_str(), ModelName::from_full_name(&session.model));
        send_frame(&self.outbox, &ServerFrame::SessionStarted { session_id: session.id, cwd, model }).await
    }

    /// Begins to follow a session, unless it is followed already.
    async fn open(
        &mut self,
        StartedJsonlSession { view, file }: StartedJsonlSession,
    ) -> Result<(), OutboxClosed> {
        let id = view.session.id;
        if let Some(open) = self.sessions.iter_mut().find(|open| open.id == id) {
            open.file = file.or(open.file.take());
            return Ok(());
        }
        let (until, receiver) = watch::channel(None);
        let follower = JsonlFollower {
            engine: self.context.engine.clone(),
            outbox: self.outbox.clone(),
            notes: self.notice_sender.clone(),
            until: receiver,
        };
        let questions: Vec<JsonlQuestion> = view.pending_approvals.iter().map(JsonlQuestion::from).collect();
        let cwd = view.session.workspace_path.clone();
        let follower = self.followers.spawn(follower.run(view));
        let (own, tally) = (VecDeque::new(), SessionCounts::default());
        self.sessions.push(ClientSession {
            id,
            cwd,
            file,
            own_turns: own,
            counts: tally,
            follow_until: until,
            follower,
        });
        for question in questions {
            self.ask_client(self.sessions.len() - 1, question).await?;
        }
        Ok(())
    }

    /// The session that a command is meant for; none when the client has been told that there is none. One
    /// that was made elsewhere is followed from now on.
    async fn find_session(&mut self, given: Option<String>) -> Result<Option<SessionId>, OutboxClosed> {
        let Some(given) = given else {
            if self.active.is_none() {
                let hint = "start one, or name one";
                self.send_refusal(&Refusal::invalid("no_session", "no active session").hint(hint), None)
                    .await?;
            }
            return Ok(self.active);
        };
        if let Ok(id) = given.parse::<SessionId>() {
            if self.sessions.iter().any(|open| open.id == id) {
                return Ok(Some(id));
            }
            let found = if self.sessions.len() < MAX_SESSIONS {
                self.session_starter(None).find(id).await
            } else {
                None
            };
            if let Some(view) = found {
                self.send_session_started(&view).await?;
                self.open(StartedJsonlSession { view, file: None }).await?;
                return Ok(Some(id));
            }
        }
        self.send_not_found(&given).await?;
        Ok(None)
    }

    async fn send_not_found(&self, given: &str) -> Result<(), OutboxClosed> {
        let (given, hint) =
            (quoted(given), Some("list_running_sessions and list_sessions tell which there are"));
        let session_id = Some(given.as_str());
        send_frame(&self.outbox, &ServerFrame::Error { message: "not_found", hint, session_id }).await
    }

    async fn activate(&mut self, id: Option<SessionId>) -> Result<(), OutboxClosed> {
        self.active = id;
        send_frame(&self.outbox, &ServerFrame::ActiveSession { session_id: id }).await
    }

    /// Asks the engine for something of which the events tell what came of it.
    async fn submit(&self, id: SessionId, command: Command) -> Result<(), OutboxClosed> {
        match self.context.engine.submit(id, command).await {
            Ok(_) => Ok(()),
            Err(error) => self.send_refusal(&to_refusal(error), Some(id)).await,
        }
    }

    /// Says that something could not be done.
    pub(super) async fn send_refusal(
        &self,
        refusal: &Refusal,
        id: Option<SessionId>,
    ) -> Result<(), OutboxClosed> {
        let id = id.map(|id| id.to_string());
        let (message, hint, session_id) = (refusal.message.as_str(), refusal.hint.as_deref(), id.as_deref());
        send_frame(&self.outbox, &ServerFrame::Error { message, hint, session_id }).await
    }

    async fn send_all(&self, lines: Vec<Bytes>) -> Result<(), OutboxClosed> {
        for line in lines {
            self.outbox.send(line).await?;
        }
        Ok(())
    }

    /// A session is no longer of this client.
    async fn remove_session(&mut self, place: usize, reason: CloseReason) -> Result<(), OutboxClosed> {
        let open = self.sessions.remove(place);
        open.follower.abort();
        let lines = self.dialogs.session_ended(open.id);
        self.send_all(lines).await?;
        let id = open.id.to_string();
        send_frame(&self.outbox, &ServerFrame::SessionClosed { session_id: &id, reason }).await?;
        if self.active != Some(open.id) {
            return Ok(());
        }
        let primary = self.sessions.iter().find(|other| Some(other.id) == self.primary);
        let next = primary.or(self.sessions.first()).map(|open| open.id);
        self.activate(next).await
    }
}

fn failed_to_start(refusal: Refusal) -> Refusal {
    Refusal { message: format!("failed to start session: {}", refusal.message), ..refusal }
}
