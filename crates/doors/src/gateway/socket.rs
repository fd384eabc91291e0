//! One authenticated socket: takes requests, sends answers, and sends what happens in the sessions that it has named.
//!
//! Requests are carried out one after the other, so that what is said is said in order; those that cannot wait
//! (stopping a run, answering a question) are carried out at once. A socket holds a subscription to each session, and
//! takes from them as fast as its client reads; the queue of a subscription is bounded, and goes on from the log.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use ostler_door_kit::AccessGrant;
use ostler_door_kit::websocket::{
    WebSocketConnection, WebSocketEvent, WebSocketIncoming, WebSocketViolation, framing,
};
use ostler_engine::EngineError;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::GatewayState;
use super::follower::{BATCH, FollowerSubscription, GatewayFollower};
use super::frames::{ErrorResponse, GatewayRequestId, Response, RpcError, ServerEvent};
use super::methods::{GatewayReply, NamedGatewaySession, carry_out};
use super::params::{GatewayCall, GatewayRequest, parse_request};
use super::translate::approval_request;

/// Requests that may wait or be carried out at once; beyond that the socket is not read.
const MAX_OPEN_REQUESTS: usize = 32;
/// Bytes that may wait to be written before a socket is not read.
const MAX_UNWRITTEN_BYTES: usize = 4 * BATCH;
/// Sessions that one socket follows. The one named longest ago gives way.
const MAX_FOLLOWED_SESSIONS: usize = 256;
/// How often a busy socket asks whether its client may still be there.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// How long a socket has to send what is left when the daemon stops.
const GRACE: Duration = Duration::from_secs(2);

/// One socket.
pub(super) struct GatewaySocket {
    door: Arc<GatewayState>,
    connection: WebSocketConnection,
    pass: AccessGrant,
    checked: Instant,
    /// The sessions that it has named, the one named longest ago first.
    followers: Vec<GatewayFollower>,
    /// Subscriptions for them that are being made.
    subscribing: FuturesUnordered<BoxFuture<'static, FollowerSubscription>>,
    /// Notified when one of the subscriptions has something to send.
    events_ready: Arc<Notify>,
    /// Requests that wait for the one before them.
    queued_requests: VecDeque<GatewayRequest>,
    /// Whether a request is carried out that others wait for.
    busy: bool,
    /// Requests that are carried out.
    running_requests: FuturesUnordered<BoxFuture<'static, FinishedRequest>>,
    /// When to ask whether the client is there.
    ping_at: Instant,
    /// Whether it was asked, and has said nothing since.
    awaits_pong: bool,
}

/// A request that was carried out.
struct FinishedRequest {
    id: GatewayRequestId,
    answer: Result<GatewayReply, RpcError>,
    /// Whether others wait for it.
    ordered: bool,
}

/// How a socket ends.
enum GatewaySocketEnd {
    /// With this code and reason.
    Close(u16, &'static str),
    /// Because the client does not speak the protocol.
    Broken(WebSocketViolation),
    /// It is gone already.
    Gone,
}

impl GatewaySocket {
    pub(super) fn new(
        door: Arc<GatewayState>,
        connection: WebSocketConnection,
        pass: AccessGrant,
    ) -> GatewaySocket {
        let now = Instant::now();
        let ping_at = now + door.limits.ping_every;
        GatewaySocket {
            door,
            connection,
            pass,
            checked: now,
            followers: Vec::new(),
            subscribing: FuturesUnordered::new(),
            events_ready: Arc::default(),
            queued_requests: VecDeque::new(),
            busy: false,
            running_requests: FuturesUnordered::new(),
            ping_at,
            awaits_pong: false,
        }
    }

    /// Serves the client until one of the two has had enough.
    pub(super) async fn run(mut self) {
        match self.serve().await {
            GatewaySocketEnd::Close(code, reason) => {
                let frame = framing::close(code, reason);
                _ = tokio::time::timeout(GRACE, self.connection.send(frame)).await;
            }
            GatewaySocketEnd::Broken(violation) => self.connection.fail(violation).await,
            GatewaySocketEnd::Gone => {}
        }
    }

    async fn serve(&mut self) -> GatewaySocketEnd {
        let door = Arc::clone(&self.door);
        // Made once: to set a timer and take it back for each frame would cost more than the frame.
        let (mut stopped, mut alarm) =
            (pin!(door.stop.cancelled()), pin!(tokio::time::sleep_until(self.ping_at)));
        loop {
            self.start_next();
            self.send_events().await;
            // A client that does not read is not read either, or the answers to its mistakes would pile up.
            let reading = self.queued_requests.len() + self.running_requests.len() < MAX_OPEN_REQUESTS
                && self.connection.outgoing.len() < MAX_UNWRITTEN_BYTES;
            let has_room = self.connection.outgoing.len() < BATCH;
            let end = tokio::select! {
                happened = self.connection.next_event(reading) => self.handle_event(happened),
                Some(done) = self.running_requests.next(), if !self.running_requests.is_empty() => { self.finish_request(done); None }
                Some(subscribed) = self.subscribing.next(), if !self.subscribing.is_empty() => {
                    self.subscribed(subscribed);
                    None
                }
                // Without room, the subscriptions are looked at again when the rest has been written.
                () = self.events_ready.notified(), if has_room => None,
                () = alarm.as_mut() => {
                    let end = self.ping();
                    alarm.as_mut().reset(self.ping_at);
                    end
                }
                () = stopped.as_mut() => Some(self.send_remaining_events().await),
            };
            if let Some(end) = end.or_else(|| self.check_pass()) {
                return end;
            }
        }
    }

    fn handle_event(&mut self, happened: WebSocketEvent) -> Option<GatewaySocketEnd> {
        match happened {
            WebSocketEvent::Flushed => None,
            WebSocketEvent::Gone => Some(GatewaySocketEnd::Gone),
            WebSocketEvent::ProtocolViolated(violation) => Some(GatewaySocketEnd::Broken(violation)),
            WebSocketEvent::Received(incoming) => {
                self.awaits_pong = false;
                match incoming {
                    WebSocketIncoming::Complete(_) if !self.pass.is_valid() => {
                        return Some(GatewaySocketEnd::Close(4401, "unauthorized"));
                    }
                    WebSocketIncoming::Complete(message) => self.take_request(message.as_bytes()),
                    WebSocketIncoming::TooLarge => {
                        let limit = self.door.limits.max_frame_bytes;
                        let message =
                            format!("a frame may have {limit} bytes at most; this one was passed over");
                        self.refuse(None, &RpcError::request(&message));
                    }
                    WebSocketIncoming::Ping(content) => {
                        self.connection.outgoing.push(framing::pong(&content))
                    }
                    WebSocketIncoming::Pong => {}
                    WebSocketIncoming::Close => return Some(GatewaySocketEnd::Close(1000, "")),
                }
                None
            }
        }
    }

    fn take_request(&mut self, message: &[u8]) {
        match parse_request(message) {
            Ok(request) if request.call.is_urgent() => self.start(request, false),
            Ok(request) => self.queued_requests.push_back(request),
            Err((id, error)) => self.refuse(id.as_ref(), &error),
        }
    }

    /// Carries out the next request, once the answer to the one before is on its way.
    fn start_next(&mut self) {
        if self.busy || self.connection.outgoing.len() >= BATCH {
            return;
        }
        let Some(request) = self.queued_requests.pop_front() else { return };
        if self.queued_requests.is_empty() {
            self.queued_requests = VecDeque::new();
        }
        self.busy = true;
        if let GatewayCall::Send { session, .. } = request.call {
            // What the message leads to may not come before the answer that names its run.
            let named = self.followers.iter_mut().filter(|follow| follow.session == session);
            named.for_each(|follow| follow.is_held = true);
        }
        self.start(request, true);
    }

    fn start(&mut self, GatewayRequest { id, call }: GatewayRequest, ordered: bool) {
        let door = Arc::clone(&self.door);
        self.running_requests.push(Box::pin(async move {
            let answer = carry_out(&door, call).await;
            FinishedRequest { id, answer, ordered }
        }));
    }

    fn finish_request(&mut self, FinishedRequest { id, answer, ordered }: FinishedRequest) {
        if ordered {
            self.busy = false;
            self.followers.iter_mut().for_each(|follow| follow.is_held = false);
        }
        match answer {
            Ok(GatewayReply { outcome, named }) => {
                self.connection.outgoing.push(framing::text(&Response { id: &id, result: &outcome }));
                named.into_iter().for_each(|named| self.follow_session(&named));
            }
            Err(error) => self.refuse(Some(&id), &error),
        }
    }

    fn refuse(&mut self, id: Option<&GatewayRequestId>, error: &RpcError) {
        self.connection.outgoing.push(framing::text(&ErrorResponse { id, error }));
    }

    /// Follows a session from where an answer has shown it. One that is followed already goes on as it is.
    fn follow_session(&mut self, named: &NamedGatewaySession) {
        if let Some(index) = self.followers.iter().position(|follow| follow.session == named.session) {
            self.followers[index..].rotate_left(1);
            return;
        }
        if self.followers.len() >= MAX_FOLLOWED_SESSIONS {
            let session_key = self.followers.remove(0).session.uuid();
            self.connection.outgoing.push(framing::text(&ServerEvent::Released { session_key }));
        }
        for approval in &named.approvals {
            let event = ServerEvent::ApprovalRequest(approval_request(approval));
            self.connection.outgoing.push(framing::text(&event));
        }
        let follow = GatewayFollower::new(named.session, named.seq);
        self.subscribe(&follow);
        self.followers.push(follow);
    }

    fn subscribe(&self, follow: &GatewayFollower) {
        let subscribed = follow.subscribe(self.door.engine.clone(), Arc::clone(&self.events_ready));
        self.subscribing.push(Box::pin(subscribed));
    }

    fn subscribed(&mut self, subscribed: FollowerSubscription) {
        let session = subscribed.session;
        let Some(index) = self.followers.iter().position(|follow| follow.session == session) else { return };
        if let Err(error) = self.followers[index].set_subscription(subscribed) {
            self.unfollow(index, &error);
        }
    }

    /// Sends what has happened in the sessions, as far as there is room.
    async fn send_events(&mut self) {
        let mut index = 0;
        while index < self.followers.len() && self.connection.outgoing.len() < BATCH {
            let (engine, follow) = (&self.door.engine, &mut self.followers[index]);
            match follow.send_ready(engine, &mut self.connection.outgoing).await {
                Ok(()) if !follow.is_over() => index += 1,
                Ok(()) if follow.restart(engine) => {
                    self.subscribe(&self.followers[index]);
                    index += 1;
                }
                Ok(()) => _ = self.followers.remove(index),
                Err(error) => self.unfollow(index, &error),
            }
        }
    }

    fn unfollow(&mut self, index: usize, error: &EngineError) {
        let session = self.followers.remove(index).session;
        tracing::debug!(%session, %error, "a session is followed no longer");
    }

    fn ping(&mut self) -> Option<GatewaySocketEnd> {
        self.ping_at = Instant::now() + self.door.limits.ping_every;
        if !self.connection.outgoing.is_empty() {
            // A client that reads slowly is not gone, and sees the ping only when it has read the rest.
            return None;
        }
        if self.awaits_pong {
            return Some(GatewaySocketEnd::Close(1001, "no answer to a ping"));
        }
        self.awaits_pong = true;
        self.connection.outgoing.push(framing::ping());
        None
    }

    /// Ends a socket whose token was replaced.
    fn check_pass(&mut self) -> Option<GatewaySocketEnd> {
        if self.checked.elapsed() < CHECK_EVERY {
            return None;
        }
        self.checked = Instant::now();
        (!self.pass.is_valid()).then_some(GatewaySocketEnd::Close(4401, "unauthorized"))
    }

    /// The daemon stops: turns have ended, and what the subscriptions still say of them is sent.
    async fn send_remaining_events(&mut self) -> GatewaySocketEnd {
        let deadline = Instant::now() + GRACE;
        loop {
            self.send_events().await;
            if self.connection.outgoing.is_empty() && self.followers.is_empty() {
                return GatewaySocketEnd::Close(1001, "the daemon is stopping");
            }
            let has_room = self.connection.outgoing.len() < BATCH;
            tokio::select! {
                happened = self.connection.next_event(false) => {
                    if let WebSocketEvent::Gone | WebSocketEvent::ProtocolViolated(_) = happened {
                        return GatewaySocketEnd::Gone;
                    }
                }
                // Events that are held back go out once their request is answered.
                Some(done) = self.running_requests.next(), if !self.running_requests.is_empty() => self.finish_request(done),
                Some(subscribed) = self.subscribing.next(), if !self.subscribing.is_empty() => {
                    self.subscribed(subscribed);
                }
                () = self.events_ready.notified(), if has_room => {}
                () = tokio::time::sleep_until(deadline) => return GatewaySocketEnd::Close(1001, "the daemon is stopping"),
            }
        }
    }
}
