//! The connection to one agent's process: requests and their answers, and what comes in for each session.
//!
//! It is pumped by whoever owns the process ([`Pump::run`]); everybody else holds a [`AgentConnection`]. What comes
//! for a session goes to its inbox, in order; what comes for no session is answered here or dropped.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agent_client_protocol::v1::schema::{CLIENT_METHOD_NAMES, Error, RequestId};
use ostler_acp::{
    AcpIncoming, AcpLineError, AcpUpdate, error_line, from_update, notification_line, parse, request_line,
    result_line,
};
use ostler_line_framing::{FramedLine, LineReader};
use ostler_types::RawLine;
use serde::Serialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::inbox::{Inbox, InboxItem};

/// How many lines wait to be written.
const OUTGOING: usize = 64;
/// How long an agent may leave its input unread before it is given up.
const WRITE_TIME: Duration = Duration::from_secs(30);
/// How many lines in a row may be no messages.
const BAD_LINES: usize = 1_000;
/// How much is kept for sessions that nobody listens to yet: sessions, and updates of each.
const MAX_EARLY_SESSIONS_AND_UPDATES: (usize, usize) = (64, 32);

/// The way to an agent. Clones are the same connection.
#[derive(Clone)]
pub(crate) struct AgentConnection(Arc<ConnectionState>);

struct ConnectionState {
    outgoing: mpsc::Sender<String>,
    next: AtomicI64,
    pending: Mutex<PendingRequests>,
    routes: Mutex<SessionRoutes>,
    /// Why this side gave it up.
    fault: OnceLock<String>,
}

/// Who waits for answers. None once the connection is over.
struct PendingRequests(Option<HashMap<i64, ResponseReceiver>>);

enum ResponseReceiver {
    Reply(oneshot::Sender<Result<Value, Error>>),
    Inbox(Inbox),
}

#[derive(Default)]
struct SessionRoutes {
    inboxes: HashMap<String, Inbox>,
    /// What agents tell of a session before its answer has been looked at.
    early_updates: HashMap<String, VecDeque<AcpUpdate>>,
}

/// Why a request has no result.
#[derive(Debug)]
pub(crate) enum NoAnswer {
    /// The agent refused it.
    Refused(Error),
    /// It did not answer in this time.
    TooLate(Duration),
    /// The connection is over.
    Closed,
}

/// What carries the lines.
pub(crate) struct LineRelay<R, W> {
    connection: AgentConnection,
    lines: LineReader<R>,
    writer: W,
    outgoing: mpsc::Receiver<String>,
}

/// A session's place in the routes; dropping it gives the place up.
pub(crate) struct SessionRoute {
    connection: AgentConnection,
    session: String,
    pub(crate) inbox: Inbox,
}

impl AgentConnection {
    /// A connection over these pipes, whose lines have at most so many bytes.
    pub(crate) fn new<R, W>(reader: R, writer: W, limit: usize) -> (AgentConnection, LineRelay<R, W>)
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let (sender, outgoing) = mpsc::channel(OUTGOING);
        let connection = AgentConnection(Arc::new(ConnectionState {
            outgoing: sender,
            next: AtomicI64::new(1),
            pending: Mutex::new(PendingRequests(Some(HashMap::new()))),
            routes: Mutex::default(),
            fault: OnceLock::new(),
        }));
        let lines = LineReader::new(reader, limit);
        (connection.clone(), LineRelay { connection, lines, writer, outgoing })
    }

    /// Asks, and waits for the answer.
    pub(crate) async fn request(
        &self,
        method: &str,
        params: &impl Serialize,
        patience: Duration,
    ) -> Result<Value, NoAnswer> {
        let (reply, answer) = oneshot::channel();
        let id = self.send_request(method, params, ResponseReceiver::Reply(reply)).await?;
        match timeout(patience, answer).await {
            Ok(Ok(outcome)) => outcome.map_err(NoAnswer::Refused),
            Ok(Err(_)) => Err(NoAnswer::Closed),
            Err(_) => {
                self.pending().remove(id);
                Err(NoAnswer::TooLate(patience))
            }
        }
    }

    /// Asks; the answer comes to the inbox under the number that is returned.
    pub(crate) async fn request_to(
        &self,
        inbox: &Inbox,
        method: &str,
        params: &impl Serialize,
    ) -> Result<i64, NoAnswer> {
        self.send_request(method, params, ResponseReceiver::Inbox(inbox.clone())).await
    }

    async fn send_request(
        &self,
        method: &str,
        params: &impl Serialize,
        waiter: ResponseReceiver,
    ) -> Result<i64, NoAnswer> {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let line = request_line(id, method, params).map_err(|error| {
            NoAnswer::Refused(Error::internal_error().data(Value::String(error.to_string())))
        })?;
        if !self.pending().insert(id, waiter) {
            return Err(NoAnswer::Closed);
        }
        self.send(line).await?;
        Ok(id)
    }

    /// Answers a request of the agent.
    pub(crate) async fn respond(&self, id: &RequestId, outcome: Result<Value, Error>) {
        // An agent that is gone needs no answer.
        let _ = self.send(answer_line(id, outcome)).await;
    }

    /// Tells something, if there is room for it right now.
    pub(crate) fn notify_now(&self, method: &str, params: &impl Serialize) {
        if let Ok(line) = notification_line(method, params)
            && self.0.outgoing.try_send(line).is_err()
        {
            tracing::debug!(method, "the agent was not told, because it does not read its input");
        }
    }

    /// Has what comes for a session delivered here, what came early included.
    pub(crate) fn route(&self, session: &str, inbox: &Inbox) -> SessionRoute {
        let mut routes = self.routes();
        let early = routes.early_updates.remove(session).unwrap_or_default();
        routes.inboxes.insert(session.to_owned(), inbox.clone());
        drop(routes);
        early.into_iter().for_each(|update| inbox.push_now(InboxItem::Update(update)));
        SessionRoute { connection: self.clone(), session: session.to_owned(), inbox: inbox.clone() }
    }

    /// Why this side gave the connection up, if it did.
    pub(crate) fn fault(&self) -> Option<String> {
        self.0.fault.get().cloned()
    }

    async fn send(&self, line: String) -> Result<(), NoAnswer> {
        match timeout(WRITE_TIME, self.0.outgoing.send(line)).await {
            Ok(sent) => sent.map_err(|_| NoAnswer::Closed),
            Err(_) => {
                self.give_up(format!("it has not read its input for {} s", WRITE_TIME.as_secs()));
                Err(NoAnswer::Closed)
            }
        }
    }

    fn give_up(&self, why: String) {
        // The first reason is the one that counts.
        let _ = self.0.fault.set(why);
        self.close();
    }

    /// Lets everybody who waits know that it is over.
    pub(crate) fn close(&self) {
        // Whoever waits for a reply learns it by the sender's end.
        drop(self.pending().0.take());
        let inboxes: Vec<Inbox> = self.routes().inboxes.values().cloned().collect();
        inboxes.iter().for_each(|inbox| inbox.push_now(InboxItem::Closed));
    }

    fn pending(&self) -> MutexGuard<'_, PendingRequests> {
        self.0.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn routes(&self) -> MutexGuard<'_, SessionRoutes> {
        self.0.routes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inbox(&self, session: &str) -> Option<Inbox> {
        self.routes().inboxes.get(session).cloned()
    }

    async fn handle_line(&self, line: &str) -> Result<(), Box<Error>> {
        let bytes = line.len();
        match parse(line) {
            Ok(AcpIncoming::Notification { method, params })
                if method == CLIENT_METHOD_NAMES.session_update =>
            {
                self.route_update(line, params).await;
            }
            Ok(AcpIncoming::Notification { method, .. }) => {
                tracing::trace!(method, "a notification is ignored")
            }
            Ok(AcpIncoming::Request { id, method, params }) => {
                self.route_request(id, method, params, bytes).await
            }
            Ok(AcpIncoming::Answer { id, outcome }) => self.route_answer(&id, outcome, bytes).await,
            Err(AcpLineError { id, error }) => {
                if let Some(id) = id {
                    // An agent that floods us with nonsense need not hear about all of it.
                    let _ = self.0.outgoing.try_send(error_line(&id, &error));
                }
                return Err(error);
            }
        }
        Ok(())
    }

    async fn route_update(&self, line: &str, params: Value) {
        let Some((session, update)) = from_update(params) else { return };
        if let Some(inbox) = self.inbox(&session) {
            if let Some(raw) = inbox.raw() {
                raw(RawLine::StreamChunk { event: "session/update".to_owned(), chunk: line.to_owned() });
            }
            return inbox.push(InboxItem::Update(update), line.len()).await;
        }
        if !describes_agent(&update) {
            return;
        }
        let mut routes = self.routes();
        if !routes.early_updates.contains_key(&session)
            && routes.early_updates.len() >= MAX_EARLY_SESSIONS_AND_UPDATES.0
        {
            return;
        }
        let kept = routes.early_updates.entry(session).or_default();
        kept.push_back(update);
        if kept.len() > MAX_EARLY_SESSIONS_AND_UPDATES.1 {
            kept.pop_front();
        }
    }

    async fn route_request(&self, id: RequestId, method: String, params: Value, bytes: usize) {
        let session = params.get("sessionId").and_then(Value::as_str).and_then(|session| self.inbox(session));
        match session {
            Some(inbox) => inbox.push(InboxItem::Request { id, method, params }, bytes).await,
            None => self.respond(&id, no_turn_response(&method)).await,
        }
    }

    async fn route_answer(&self, id: &RequestId, outcome: Result<Value, Error>, bytes: usize) {
        let RequestId::Number(ticket) = id else { return };
        let waiter = self.pending().remove(*ticket);
        // An answer to nothing, or a second one, changes nothing.
        match waiter {
            Some(ResponseReceiver::Reply(reply)) => drop(reply.send(outcome)),
            Some(ResponseReceiver::Inbox(inbox)) => {
                return inbox.push(InboxItem::Answer { ticket: *ticket, outcome }, bytes).await;
            }
            None => {}
        }
    }
}

impl PendingRequests {
    fn insert(&mut self, id: i64, waiter: ResponseReceiver) -> bool {
        self.0.as_mut().map(|waiting| waiting.insert(id, waiter)).is_some()
    }

    fn remove(&mut self, id: i64) -> Option<ResponseReceiver> {
        self.0.as_mut()?.remove(&id)
    }
}

impl Drop for SessionRoute {
    fn drop(&mut self) {
        self.connection.routes().inboxes.remove(&self.session);
        self.inbox.close();
    }
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> LineRelay<R, W> {
    /// Carries lines both ways until one of them ends. Dropping it closes the agent's input.
    pub(crate) async fn run(self) {
        let LineRelay { connection, mut lines, mut writer, mut outgoing } = self;
        let write = async {
            while let Some(mut line) = outgoing.recv().await {
                line.push('\n');
                if writer.write_all(line.as_bytes()).await.is_err() || writer.flush().await.is_err() {
                    // What the agent said before it closed its input is still to be read.
                    break;
                }
            }
            std::future::pending::<()>().await;
        };
        let read = async {
            let mut bad = 0;
            loop {
                let line = match lines.next_line().await {
                    Ok(Some(FramedLine::Line(line) | FramedLine::Unterminated(line))) => line,
                    Ok(Some(FramedLine::TooLong)) => {
                        return connection.give_up("it sent a line that is too long".to_owned());
                    }
                    Ok(None) | Err(_) => return,
                };
                let taken = match std::str::from_utf8(&line) {
                    Ok(line) if line.trim().is_empty() => continue,
                    Ok(line) => connection.handle_line(line).await.is_ok(),
                    Err(_) => false,
                };
                bad = if taken { 0 } else { bad + 1 };
                if bad >= BAD_LINES {
                    return connection.give_up("what it prints is not the protocol".to_owned());
                }
            }
        };
        tokio::select! {
            () = read => {}
            () = write => {}
        }
        connection.close();
    }
}

fn describes_agent(update: &AcpUpdate) -> bool {
    match update {
        AcpUpdate::Plan(_)
        | AcpUpdate::Commands(_)
        | AcpUpdate::Mode(_)
        | AcpUpdate::Options(_)
        | AcpUpdate::Usage { .. } => true,
        AcpUpdate::Text { .. }
        | AcpUpdate::Thought { .. }
        | AcpUpdate::Echo { .. }
        | AcpUpdate::Call(_)
        | AcpUpdate::CallUpdate(_)
        | AcpUpdate::Notice { .. }
        | AcpUpdate::Unknown { .. } => false,
    }
}

/// What an agent hears that wants something for a session in which no turn runs.
pub(crate) fn no_turn_response(method: &str) -> Result<Value, Error> {
    if method == CLIENT_METHOD_NAMES.session_request_permission {
        return Ok(serde_json::json!({"outcome": {"outcome": "cancelled"}}));
    }
    Err(Error::invalid_request().data(Value::String("no turn of this session runs".to_owned())))
}

fn answer_line(id: &RequestId, outcome: Result<Value, Error>) -> String {
    let refused = |error: &Error| error_line(id, error);
    match outcome {
        Ok(result) => result_line(id, &result).unwrap_or_else(|_| refused(&Error::internal_error())),
        Err(error) => refused(&error),
    }
}
