//! One socket: takes requests, answers them one after the other, and tells what happens in the sessions that it has
//! opened, made or sent something to. All that it does ends with it.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, BoxFuture, select_all};
use futures_util::stream::FuturesUnordered;
use ostler_door_kit::websocket::{
    WebSocketConnection, WebSocketEvent, WebSocketIncoming, WebSocketViolation, framing,
};
use ostler_door_kit::{AccessGrant, DoorContext};
use ostler_types::SessionId;
use tokio::sync::watch;
use tokio::time::Instant;

use super::follower::{BATCH, IdeFollower};
use super::frames::{IdeAgentStatus, IdeFrame, IdeRequest, IdeRequestId, parse_message};
use super::own_messages::IdeOwnMessages;
use super::requests::{IdeReply, IdeRequestContext, NamedIdeSession, carry_out, refused};
use super::session_names::agent_to_cli_type;
use super::translate::IdeTranslator;
use super::{MAX_MESSAGE, agent_status};

/// Requests that may wait; beyond that the socket is not read.
const MAX_QUEUED_REQUESTS: usize = 32;
/// Bytes that may wait for a client before it is not read any more.
const MAX_UNWRITTEN_BYTES: usize = 4 * BATCH;
/// Sessions that one socket follows. The one named longest ago gives way.
const MAX_FOLLOWED_SESSIONS: usize = 256;
/// How often a silent client is asked whether it is there, and a busy one whether it may be.
const PING_EVERY: Duration = Duration::from_secs(30);
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// How long a socket has to send what is left when the daemon stops.
const GRACE: Duration = Duration::from_secs(8);

/// One socket.
pub(super) struct IdeSocket {
    context: DoorContext,
    connection: WebSocketConnection,
    pass: AccessGrant,
    checked: Instant,
    own_messages: IdeOwnMessages,
    /// The sessions that it follows, the one named longest ago first.
    followed: Vec<FollowedIdeSession>,
    followers_started: u64,
    /// Those that wait until what they have said is written.
    idle_followers: Vec<IdeFollower>,
    queued_requests: VecDeque<(Option<IdeRequestId>, IdeRequest)>,
    busy: bool,
    running_tasks: FuturesUnordered<BoxFuture<'static, FinishedIdeTask>>,
    /// How agents stood when the client was last told.
    statuses: Vec<(String, IdeAgentStatus)>,
    agent_changes: Vec<watch::Receiver<u64>>,
    ping_at: Instant,
    awaits_pong: bool,
}

/// A session that is followed.
struct FollowedIdeSession {
    session: SessionId,
    number: u64,
    name: String,
    workspace: String,
    stop: AbortHandle,
}

/// Something has been done.
enum FinishedIdeTask {
    Request(IdeReply),
    /// Frames of a session that is followed, and who has more.
    Followed(u64, Option<(Box<IdeFollower>, Vec<Bytes>)>),
    /// It was stopped.
    Stopped,
}

/// How a socket ends.
enum IdeSocketEnd {
    Close(u16, &'static str),
    Broken(WebSocketViolation),
    Gone,
}

impl IdeSocket {
    pub(super) fn new(context: DoorContext, connection: WebSocketConnection, pass: AccessGrant) -> IdeSocket {
        let now = Instant::now();
        let changes = context.agents().status_changes();
        IdeSocket {
            context,
            connection,
            pass,
            checked: now,
            own_messages: IdeOwnMessages::default(),
            followed: Vec::new(),
            followers_started: 0,
            idle_followers: Vec::new(),
            queued_requests: VecDeque::new(),
            busy: false,
            running_tasks: FuturesUnordered::new(),
            statuses: Vec::new(),
            agent_changes: changes,
            ping_at: now + PING_EVERY,
            awaits_pong: false,
        }
    }

    /// Serves the client until one of the two has had enough.
    pub(super) async fn run(mut self) {
        match self.serve().await {
            IdeSocketEnd::Close(code, reason) => {
                let frame = framing::close(code, reason);
                _ = tokio::time::timeout(Duration::from_secs(2), self.connection.send(frame)).await;
            }
            IdeSocketEnd::Broken(violation) => self.connection.fail(violation).await,
            IdeSocketEnd::Gone => {}
        }
    }

    async fn serve(&mut self) -> IdeSocketEnd {
        let mut stopping = self.context.engine.stopping();
        self.send_statuses();
        loop {
            self.start_next();
            self.resume_followers();
            // A client that does not read is not read either, or its mistakes would pile up.
            let reading = self.queued_requests.len() < MAX_QUEUED_REQUESTS
                && self.connection.outgoing.len() < MAX_UNWRITTEN_BYTES;
            let end = tokio::select! {
                happened = self.connection.next_event(reading) => self.handle_event(happened),
                Some(done) = self.running_tasks.next(), if !self.running_tasks.is_empty() => { self.finish_task(done); None }
                () = wait_for_change(&mut self.agent_changes) => { self.send_statuses(); None }
                () = tokio::time::sleep_until(self.ping_at) => self.ping(),
                () = wait_until_stopping(&mut stopping) => Some(self.send_remaining_frames().await),
            };
            if let Some(end) = end.or_else(|| self.check_pass()) {
                return end;
            }
        }
    }

    fn handle_event(&mut self, happened: WebSocketEvent) -> Option<IdeSocketEnd> {
        let incoming = match happened {
            WebSocketEvent::Flushed => return None,
            WebSocketEvent::Gone => return Some(IdeSocketEnd::Gone),
            WebSocketEvent::ProtocolViolated(violation) => return Some(IdeSocketEnd::Broken(violation)),
            WebSocketEvent::Received(incoming) => incoming,
        };
        self.awaits_pong = false;
        match incoming {
            WebSocketIncoming::Complete(_) if !self.pass.is_valid() => {
                return Some(IdeSocketEnd::Close(4401, "unauthorized"));
            }
            WebSocketIncoming::Complete(message) => match parse_message(message.as_bytes()) {
                (id, Some(request)) => self.queued_requests.push_back((id, request)),
                (id, None) => self.push(refused(id, "Invalid message format").frames),
            },
            WebSocketIncoming::TooLarge => {
                let message =
                    format!("a message may have {MAX_MESSAGE} bytes at most; this one was passed over");
                self.push(refused(None, &message).frames);
            }
            WebSocketIncoming::Ping(content) => self.connection.outgoing.push(framing::pong(&content)),
            WebSocketIncoming::Pong => {}
            WebSocketIncoming::Close => return Some(IdeSocketEnd::Close(1000, "")),
        }
        None
    }

    /// Carries out the next request, once the answer to the one before is on its way.
    fn start_next(&mut self) {
        if self.busy || self.connection.outgoing.len() >= BATCH {
            return;
        }
        let Some((id, request)) = self.queued_requests.pop_front() else { return };
        if let IdeRequest::Open { session_id } | IdeRequest::Archive { session_id } = &request {
            // A history takes the place of all that was told before, and what is put away is told of once.
            self.unfollow(session_id);
        }
        let told = self.followed.iter().map(|follow| (follow.session, follow.name.clone())).collect();
        let workspace = if let IdeRequest::Reconnect { cli_type } = &request {
            self.workspace_of(cli_type)
        } else {
            None
        };
        let asked =
            IdeRequestContext { id, own_messages: self.own_messages.clone(), known_names: told, workspace };
        let context = self.context.clone();
        self.busy = true;
        self.running_tasks.push(Box::pin(async move {
            FinishedIdeTask::Request(carry_out(&context, &asked, request).await)
        }));
    }

    /// The workspace of the session of an agent that was named last.
    fn workspace_of(&self, cli_type: &str) -> Option<String> {
        let of = |follow: &&FollowedIdeSession| follow.name.split(':').next() == Some(cli_type);
        self.followed.iter().rev().find(of).map(|follow| follow.workspace.clone())
    }

    fn finish_task(&mut self, done: FinishedIdeTask) {
        match done {
            FinishedIdeTask::Request(IdeReply { frames, named }) => {
                self.busy = false;
                self.push(frames);
                named.into_iter().for_each(|named| self.follow(*named));
            }
            FinishedIdeTask::Followed(number, Some((follower, frames))) => {
                if self.followed.iter().any(|follow| follow.number == number) {
                    self.push(frames);
                    self.idle_followers.push(*follower);
                }
            }
            FinishedIdeTask::Followed(number, None) => self.followed.retain(|follow| follow.number != number),
            FinishedIdeTask::Stopped => {}
        }
    }

    /// Follows a session from where an answer has shown it. One that is followed already goes on as it is, unless
    /// it begins anew.
    fn follow(&mut self, named: NamedIdeSession) {
        let id = named.session.id;
        if let Some(at) = self.followed.iter().position(|follow| follow.session == id) {
            if !named.restart {
                self.followed[at..].rotate_left(1);
                return;
            }
            self.end_follow(at);
        }
        if self.followed.len() >= MAX_FOLLOWED_SESSIONS {
            self.end_follow(0);
        }
        self.followers_started += 1;
        let number = self.followers_started;
        let (stop, registration) = AbortHandle::new_pair();
        let workspace = named.session.workspace_path.clone();
        self.followed.push(FollowedIdeSession {
            session: id,
            number,
            name: named.name.clone(),
            workspace,
            stop,
        });
        let translator =
            IdeTranslator::new(named.name, &named.session, self.own_messages.clone(), &named.entries);
        let (engine, after) = (self.context.engine.clone(), named.after);
        let begun = async move {
            let follower = IdeFollower::new(engine, (id, number), after, translator).await.ok();
            // What comes first is waited for in the same way as what comes after it.
            FinishedIdeTask::Followed(number, follower.map(|follower| (Box::new(follower), Vec::new())))
        };
        self.running_tasks.push(abortable(begun, registration));
    }

    fn unfollow(&mut self, name: &str) {
        if let Some(at) = self.followed.iter().position(|follow| follow.name == name) {
            self.end_follow(at);
        }
    }

    fn end_follow(&mut self, at: usize) {
        let follow = self.followed.remove(at);
        follow.stop.abort();
        self.idle_followers.retain(|follower| follower.number != follow.number);
    }

    /// Has those go on who wait, when there is room for what they say.
    fn resume_followers(&mut self) {
        if self.connection.outgoing.len() >= BATCH {
            return;
        }
        for follower in std::mem::take(&mut self.idle_followers) {
            let number = follower.number;
            let Some(follow) = self.followed.iter_mut().find(|follow| follow.number == number) else {
                continue;
            };
            let (stop, registration) = AbortHandle::new_pair();
            follow.stop = stop;
            let next =
                async move { FinishedIdeTask::Followed(number, Box::new(follower).next_frames().await) };
            self.running_tasks.push(abortable(next, registration));
        }
    }

    /// Tells how agents stand, as far as it is not known.
    fn send_statuses(&mut self) {
        let agents = self.context.engine.agents();
        let now: Vec<(String, IdeAgentStatus)> = agents
            .into_iter()
            .filter_map(|agent| {
                let status = agent_status(&self.context, &agent)?;
                Some((agent, status))
            })
            .collect();
        let news: Vec<Bytes> = now
            .iter()
            .filter(|stands| !self.statuses.contains(stands))
            .map(|(agent, status)| {
                let frame = IdeFrame::AgentStatus {
                    cli_type: agent_to_cli_type(agent),
                    status: *status,
                    request_id: None,
                };
                framing::text(&frame)
            })
            .collect();
        self.statuses = now;
        self.push(news);
    }

    fn push(&mut self, frames: Vec<Bytes>) {
        frames.into_iter().for_each(|frame| self.connection.outgoing.push(frame));
    }

    fn ping(&mut self) -> Option<IdeSocketEnd> {
        self.ping_at = Instant::now() + PING_EVERY;
        if !self.connection.outgoing.is_empty() {
            // A client that reads slowly is not gone, and sees the ping only when it has read the rest.
            return None;
        }
        if self.awaits_pong {
            return Some(IdeSocketEnd::Close(1001, "no answer to a ping"));
        }
        self.awaits_pong = true;
        self.connection.outgoing.push(framing::ping());
        None
    }

    /// Ends a socket whose token was replaced.
    fn check_pass(&mut self) -> Option<IdeSocketEnd> {
        if self.checked.elapsed() < CHECK_EVERY {
            return None;
        }
        self.checked = Instant::now();
        (!self.pass.is_valid()).then_some(IdeSocketEnd::Close(4401, "unauthorized"))
    }

    /// The daemon stops: its turns end, and what there is to say of that is sent.
    async fn send_remaining_frames(&mut self) -> IdeSocketEnd {
        let deadline = Instant::now() + GRACE;
        loop {
            self.resume_followers();
            let idle = self.connection.outgoing.is_empty();
            if idle && self.running_tasks.is_empty() {
                return IdeSocketEnd::Close(1001, "the daemon is stopping");
            }
            tokio::select! {
                happened = self.connection.next_event(false) => {
                    if let WebSocketEvent::Gone | WebSocketEvent::ProtocolViolated(_) = happened {
                        return IdeSocketEnd::Gone;
                    }
                }
                Some(done) = self.running_tasks.next(), if !self.running_tasks.is_empty() => self.finish_task(done),
                () = tokio::time::sleep_until(deadline) => return IdeSocketEnd::Close(1001, "the daemon is stopping"),
            }
        }
    }
}

fn abortable(
    work: impl Future<Output = FinishedIdeTask> + Send + 'static,
    registration: futures_util::future::AbortRegistration,
) -> BoxFuture<'static, FinishedIdeTask> {
    Box::pin(async move { Abortable::new(work, registration).await.unwrap_or(FinishedIdeTask::Stopped) })
}

/// Returns when the daemon begins to stop.
async fn wait_until_stopping(stopping: &mut watch::Receiver<bool>) {
    _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Returns when something has changed; never, when nothing can.
async fn wait_for_change(changes: &mut Vec<watch::Receiver<u64>>) {
    if changes.is_empty() {
        std::future::pending::<()>().await;
    }
    let (outcome, at, _) = select_all(changes.iter_mut().map(|changes| Box::pin(changes.changed()))).await;
    if outcome.is_err() {
        changes.swap_remove(at);
    }
}
