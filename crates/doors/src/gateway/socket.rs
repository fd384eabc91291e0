//! One authenticated socket: takes requests, sends answers, and sends what happens in the sessions that it has named.
//!
//! Requests are carried out one after the other, so that what is said is said in order; those that cannot wait
//! (stopping a run, answering a question) are carried out at once. A socket has no queue of events: it has a cursor
//! in each relay, and takes from there as fast as its client reads.

use std::collections::VecDeque;
use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use ostler_door_kit::Pass;
use ostler_door_kit::websocket::{Connection, Happened, Incoming, framing};
use ostler_engine::EngineError;
use ostler_types::SessionId;
use tokio::time::Instant;

use super::Door;
use super::drives::{Bell, Drives};
use super::follow::Follow;
use super::frames::{ErrorResponse, Id, Response, RpcError, ServerEvent};
use super::methods::{Answer, Named, carry_out};
use super::params::{Call, Request, request};
use super::place::Place;
use super::relay::{BATCH, Taken};
use super::translate::approval_request;

/// Requests that may wait or be carried out at once; beyond that the socket is not read.
const REQUESTS: usize = 32;
/// Sessions that one socket follows. The one named longest ago gives way.
const FOLLOWED: usize = 256;
/// How often a busy socket asks whether its client may still be there.
const CHECK_EVERY: Duration = Duration::from_secs(5);
/// How often news may come first before everything else is looked at.
const STREAK: u32 = 16;
/// How long a socket has to send what is left when the daemon stops.
const GRACE: Duration = Duration::from_secs(2);

/// One socket.
pub(super) struct Socket {
    door: Arc<Door>,
    connection: Connection,
    pass: Pass,
    checked: Instant,
    /// Rung by the relays.
    bell: Arc<Bell>,
    /// The sessions that it has named, the one named longest ago first.
    follows: Vec<Follow>,
    /// The relays whose work falls to it.
    drives: Drives,
    /// How often news came first since everything else was looked at.
    streak: u32,
    /// Requests that wait for the one before them.
    waiting: VecDeque<Request>,
    /// Whether a request is carried out that others wait for.
    busy: bool,
    /// What is being done.
    work: FuturesUnordered<BoxFuture<'static, Done>>,
    /// When to ask whether the client is there.
    ping_at: Instant,
    /// Whether it was asked, and has said nothing since.
    asked: bool,
}

/// Something has been done.
enum Done {
    Request { id: Id, answer: Result<Answer, RpcError>, ordered: bool },
    Read { session: SessionId, read: Result<(Vec<Bytes>, Place), EngineError> },
}

/// How a socket ends.
enum End {
    /// With this code and reason.
    Close(u16, &'static str),
    /// It is gone already.
    Gone,
}

impl Socket {
    pub(super) fn new(door: Arc<Door>, connection: Connection, pass: Pass) -> Socket {
        let now = Instant::now();
        let ping_at = now + door.limits.ping_every;
        Socket {
            door,
            connection,
            pass,
            checked: now,
            bell: Arc::default(),
            follows: Vec::new(),
            drives: Drives::default(),
            streak: 0,
            waiting: VecDeque::new(),
            busy: false,
            work: FuturesUnordered::new(),
            ping_at,
            asked: false,
        }
    }

    /// Serves the client until one of the two has had enough.
    pub(super) async fn run(mut self) {
        let end = self.serve().await;
        // Nobody shall wait for a client that takes its time.
        self.drives.clear();
        let End::Close(code, reason) = end else { return };
        let frame = framing::close(code, reason);
        _ = tokio::time::timeout(GRACE, self.connection.send(frame)).await;
    }

    async fn serve(&mut self) -> End {
        let door = Arc::clone(&self.door);
        // Made once: to set a timer and take it back for each frame would cost more than the frame.
        let (mut stopped, mut alarm) = (pin!(door.stop.told()), pin!(tokio::time::sleep_until(self.ping_at)));
        loop {
            self.start_next();
            // Mostly all that there is can be written at once, and nothing has to be looked at again.
            if !self.pump() && !self.connection.outgoing.is_empty() {
                let written = self.connection.happens(false).now_or_never();
                if let Some(Happened::Gone) = written {
                    return End::Gone;
                }
            }
            let reading = self.waiting.len() + self.work.len() < REQUESTS;
            let idle = self.connection.outgoing.is_empty();
            let (is_driving, is_told) = (!self.drives.is_empty(), self.follows.iter().any(Follow::is_told));
            let end = tokio::select! {
                biased;
                // News is what there mostly is; the others have their turn all the same.
                () = self.drives.news(&self.bell), if is_driving && self.streak < STREAK => {
                    self.streak += 1;
                    self.wake();
                    None
                }
                happened = self.connection.happens(reading) => self.happened(happened),
                Some(done) = self.work.next(), if !self.work.is_empty() => { self.done(done); None }
                // What cannot be written yet is looked at again when the rest is written.
                () = self.bell.rung(), if idle && is_told => { self.wake(); None }
                () = alarm.as_mut() => {
                    let end = self.ping();
                    alarm.as_mut().reset(self.ping_at);
                    end
                }
                () = stopped.as_mut() => Some(self.last_words().await),
                () = ready(()), if self.streak >= STREAK => { self.streak = 0; None }
            };
            if let Some(end) = end.or_else(|| self.check_pass()) {
                return end;
            }
        }
    }

    fn happened(&mut self, happened: Happened) -> Option<End> {
        match happened {
            Happened::Flushed => None,
            Happened::Gone => Some(End::Gone),
            Happened::Broken(violation) => Some(End::Close(violation.code, violation.reason)),
            Happened::Received(incoming) => {
                self.asked = false;
                match incoming {
                    Incoming::Message(_) if !self.pass.holds() => {
                        return Some(End::Close(4401, "unauthorized"));
                    }
                    Incoming::Message(message) => self.take_request(&message),
                    Incoming::TooLarge => {
                        let limit = self.door.limits.max_frame_bytes;
                        let message =
                            format!("a frame may have {limit} bytes at most; this one was passed over");
                        self.refuse(None, &RpcError::request(&message));
                    }
                    Incoming::Ping(content) => self.connection.outgoing.push(framing::pong(&content)),
                    Incoming::Pong => {}
                    Incoming::Close => return Some(End::Close(1000, "")),
                }
                None
            }
        }
    }

    fn take_request(&mut self, message: &[u8]) {
        match request(message) {
            Ok(request) if request.call.is_urgent() => self.start(request, false),
            Ok(request) => self.waiting.push_back(request),
            Err((id, error)) => self.refuse(id.as_ref(), &error),
        }
    }

    /// Carries out the next request, once the answer to the one before is on its way.
    fn start_next(&mut self) {
        if self.busy || self.connection.outgoing.len() >= BATCH {
            return;
        }
        let Some(request) = self.waiting.pop_front() else { return };
        if self.waiting.is_empty() {
            self.waiting = VecDeque::new();
        }
        self.busy = true;
        if let Call::Send { session, .. } = request.call {
            // What the message leads to may not come before the answer that names its run.
            self.follow(session).into_iter().for_each(|follow| follow.held = true);
        }
        self.start(request, true);
    }

    fn start(&mut self, Request { id, call }: Request, ordered: bool) {
        let door = Arc::clone(&self.door);
        self.work.push(Box::pin(async move {
            let answer = carry_out(&door, call).await;
            Done::Request { id, answer, ordered }
        }));
    }

    fn done(&mut self, done: Done) {
        match done {
            Done::Request { id, answer, ordered } => {
                if ordered {
                    self.busy = false;
                    self.follows.iter_mut().for_each(|follow| follow.held = false);
                }
                match answer {
                    Ok(Answer { outcome, named }) => {
                        self.connection.outgoing.push(framing::text(&Response { id: &id, result: &outcome }));
                        named.into_iter().for_each(|named| self.name(&named));
                    }
                    Err(error) => self.refuse(Some(&id), &error),
                }
            }
            Done::Read { session, read } => match read {
                Ok((frames, place)) => {
                    frames.iter().for_each(|frame| self.connection.outgoing.push(frame.clone()));
                    if let Some(follow) = self.follow(session) {
                        follow.has_read(place, frames.is_empty());
                    }
                }
                Err(error) => {
                    tracing::debug!(%session, %error, "a session is followed no longer");
                    self.drop_follows(|follow| follow.session == session);
                }
            },
        }
    }

    fn refuse(&mut self, id: Option<&Id>, error: &RpcError) {
        self.connection.outgoing.push(framing::text(&ErrorResponse { id, error }));
    }

    /// Follows a session from where an answer has shown it. One that is followed already goes on as it is.
    fn name(&mut self, named: &Named) {
        if let Some(index) = self.follows.iter().position(|follow| follow.session == named.session) {
            self.follows[index..].rotate_left(1);
            return;
        }
        if self.follows.len() >= FOLLOWED {
            let released = self.follows[0].session;
            self.drop_follows(|follow| follow.session == released);
            let session_key = released.uuid();
            self.connection.outgoing.push(framing::text(&ServerEvent::Released { session_key }));
        }
        for approval in &named.approvals {
            let event = ServerEvent::ApprovalRequest(approval_request(approval));
            self.connection.outgoing.push(framing::text(&event));
        }
        let relays = Arc::clone(&self.door.relays);
        let mut follow = Follow::new(relays, named.session, named.seq, Arc::clone(&self.bell));
        follow.drive().into_iter().for_each(|drive| self.drives.push(drive));
        self.follows.push(follow);
    }

    /// Takes from the relays as much as can be written now. Says whether there may be more to take once it is written.
    fn pump(&mut self) -> bool {
        let mut lagging = None;
        let (mut more, mut ended) = (false, false);
        for follow in &mut self.follows {
            if self.connection.outgoing.len() >= BATCH {
                more = true;
                break;
            }
            match follow.take(&mut self.connection.outgoing) {
                Taken::All => {}
                Taken::Some => more = true,
                Taken::Lagging => lagging = lagging.or(Some(follow)),
                Taken::Ended => {
                    follow.ended = true;
                    ended = true;
                }
            }
        }
        if let Some(follow) = lagging {
            follow.reading = true;
            let (session, place, door) = (follow.session, follow.place.clone(), Arc::clone(&self.door));
            self.work.push(Box::pin(async move {
                Done::Read { session, read: door.relays.catch_up(session, place).await }
            }));
        }
        if ended {
            self.drop_follows(|follow| follow.ended);
        }
        more
    }

    /// Follows some sessions no longer. Their relays are left to others; which of the drives are theirs need not be
    /// known, since the rest can be taken again.
    fn drop_follows(&mut self, which: impl Fn(&Follow) -> bool) {
        self.follows.retain(|follow| !which(follow));
        self.drives.clear();
        self.follows.iter_mut().for_each(Follow::release);
        self.wake();
    }

    /// The relays have something new, so those who found nothing may look again.
    fn wake(&mut self) {
        for follow in &mut self.follows {
            follow.waits = false;
            // Whoever did the work of a relay may have gone.
            if follow.is_told()
                && let Some(drive) = follow.drive()
            {
                self.drives.push(drive);
            }
        }
    }

    fn follow(&mut self, session: SessionId) -> Option<&mut Follow> {
        self.follows.iter_mut().find(|follow| follow.session == session)
    }

    fn ping(&mut self) -> Option<End> {
        self.ping_at = Instant::now() + self.door.limits.ping_every;
        if !self.connection.outgoing.is_empty() {
            // A client that reads slowly is not gone, and sees the ping only when it has read the rest.
            return None;
        }
        if self.asked {
            return Some(End::Close(1001, "no answer to a ping"));
        }
        self.asked = true;
        self.connection.outgoing.push(framing::ping());
        None
    }

    /// Ends a socket whose token was replaced.
    fn check_pass(&mut self) -> Option<End> {
        if self.checked.elapsed() < CHECK_EVERY {
            return None;
        }
        self.checked = Instant::now();
        (!self.pass.holds()).then_some(End::Close(4401, "unauthorized"))
    }

    /// The daemon stops: turns have ended, and what the relays still say of them is sent.
    async fn last_words(&mut self) -> End {
        let deadline = Instant::now() + GRACE;
        loop {
            self.wake();
            self.pump();
            let idle = self.connection.outgoing.is_empty();
            if idle && self.follows.is_empty() {
                return End::Close(1001, "the daemon is stopping");
            }
            let happened = tokio::select! {
                happened = self.connection.happens(false) => happened,
                () = self.bell.rung(), if idle => Happened::Flushed,
                () = self.drives.news(&self.bell), if !self.drives.is_empty() => Happened::Flushed,
                () = tokio::time::sleep_until(deadline) => return End::Close(1001, "the daemon is stopping"),
            };
            if let Happened::Gone | Happened::Broken(_) = happened {
                return End::Gone;
            }
        }
    }
}
