//! Fan-out of one session to many sockets. A relay follows the session once, makes each frame once, and keeps the
//! newest of them in a ring that is bounded in bytes; a socket has a cursor in the ring and nothing of its own. One
//! that has fallen behind the ring reads on by itself ([`catch_up`]) until it is back.
//!
//! A relay has no task: one of its sockets does its work ([`Drive`]) and rings the others. So a delta that one socket
//! waits for takes no detour.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use ostler_door_kit::websocket::Outgoing;
use ostler_engine::{Engine, EngineError, Item, Subscription};
use ostler_types::{MessageId, SessionId, Usage};
use tokio::sync::Semaphore;

use super::drives::Bell;
use super::place::{Entry, News, Place};
use super::translate::{Finished, finished, stopped_turn, translate};

/// Bytes of frames that one relay keeps. A larger frame is kept alone.
const RING_BYTES: usize = 256 * 1024;
/// Bytes that a socket is given at a time.
pub(super) const BATCH: usize = 64 * 1024;
/// Sockets that read for themselves at the same time.
const READERS: usize = 32;
/// How long a relay waits before it looks for a session again that broke down.
const PAUSE: Duration = Duration::from_millis(250);
/// How often it looks, without having seen anything in between.
const LOOKS: u32 = 20;

/// The relays of all sessions that are followed now.
pub(super) struct Relays {
    engine: Engine,
    running: Mutex<HashMap<SessionId, Arc<Relay>>>,
    readers: Semaphore,
}

/// One session's fan-out.
pub(super) struct Relay {
    ring: Mutex<Ring>,
    /// Whether somebody is to do the work.
    is_idle: AtomicBool,
}

/// The work of a relay, done by one of its sockets, whose bell is told of news; the others are rung for. Dropping it leaves
/// the work to another one.
pub(super) struct Drive {
    relay: Arc<Relay>,
    work: Option<BoxFuture<'static, ()>>,
}

struct Ring {
    /// Whoever follows; a bell is rung when there is something new.
    bells: Vec<Arc<Bell>>,
    /// The bell of the socket that does the work, which need not be rung.
    driver: Option<Arc<Bell>>,
    /// The work, while nobody does it.
    work: Option<BoxFuture<'static, ()>>,
    /// How far the relay has come; none before it has begun.
    head: Option<Place>,
    /// What came before the first entry.
    base: Place,
    /// The number of the first entry.
    first: u64,
    entries: VecDeque<Entry>,
    bytes: usize,
    /// Messages of which text is in the ring, and the records that finished them.
    finished: VecDeque<(MessageId, u64)>,
    /// Somebody is ahead of the relay, and waits for it.
    awaited: bool,
    /// No more will come.
    ended: bool,
}

/// What a socket was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// All that there is.
    All,
    /// As much as fits for now.
    Some,
    /// Nothing, since what comes next is not here any more; it is for [`Relays::catch_up`].
    Lagging,
    /// All that there will ever be.
    Ended,
}

impl Relays {
    pub(super) fn new(engine: Engine) -> Relays {
        Relays { engine, running: Mutex::default(), readers: Semaphore::new(READERS) }
    }

    /// Follows a session from now on. Whoever joins must leave.
    pub(super) fn join(self: &Arc<Self>, session: SessionId, bell: Arc<Bell>) -> Arc<Relay> {
        let mut running = self.running();
        let known = running.get(&session).filter(|relay| !relay.ring().ended);
        let relay = match known {
            Some(relay) => Arc::clone(relay),
            None => {
                let relay = Arc::new(Relay { ring: Mutex::new(Ring::new()), is_idle: AtomicBool::new(true) });
                relay.ring().work = Some(Box::pin(Arc::clone(&relay).run(self.engine.clone(), session)));
                running.insert(session, Arc::clone(&relay));
                relay
            }
        };
        relay.ring().bells.push(bell);
        relay
    }

    /// Follows no longer. With the last socket the relay ends, so whoever leaves must not keep a [`Drive`] of it.
    pub(super) fn leave(&self, session: SessionId, relay: &Arc<Relay>, bell: &Arc<Bell>) {
        let mut running = self.running();
        let mut ring = relay.ring();
        if let Some(index) = ring.bells.iter().position(|other| Arc::ptr_eq(other, bell)) {
            ring.bells.swap_remove(index);
        }
        if ring.bells.is_empty() {
            running.retain(|id, other| *id != session || !Arc::ptr_eq(other, relay));
            let work = ring.work.take();
            drop(ring);
            drop(work);
        }
    }

    /// How many sessions are followed now.
    pub(super) fn len(&self) -> usize {
        self.running().len()
    }

    /// Reads on for one socket: about a batch of frames after a place, and the place after them. Holds nothing in
    /// between, however slow the socket.
    pub(super) async fn catch_up(
        &self,
        session: SessionId,
        mut place: Place,
    ) -> Result<(Vec<Bytes>, Place), EngineError> {
        let _reader = self.readers.acquire().await.expect("the semaphore is never closed");
        let mut subscription = self.engine.subscribe(session, place.seq).await?;
        let (mut frames, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH {
            let Some(item) = subscription.ready().await? else { break };
            for entry in translate(&item, &mut place, stopped_usage(&self.engine, session, &item).await) {
                bytes += entry.wire.len();
                frames.push(entry.wire);
            }
        }
        Ok((frames, place))
    }

    fn running(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<Relay>>> {
        self.running.lock().expect("no code panics while it holds the relays")
    }
}

impl Relay {
    /// Has the socket with this bell do the work, if nobody does it.
    pub(super) fn drive(self: &Arc<Self>, bell: &Arc<Bell>) -> Option<Drive> {
        // Mostly somebody does it, and only to look is cheaper than to write.
        if !self.is_idle.load(Ordering::Acquire) || !self.is_idle.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut ring = self.ring();
        let work = ring.work.take()?;
        ring.driver = Some(Arc::clone(bell));
        Some(Drive { relay: Arc::clone(self), work: Some(work) })
    }

    /// Gives a socket what is new to it. `cursor` is where it stands in the ring, once it has stood there.
    pub(super) fn take(&self, cursor: &mut Option<u64>, place: &mut Place, out: &mut Outgoing) -> Taken {
        self.ring().take(cursor, place, out)
    }

    async fn run(self: Arc<Self>, engine: Engine, session: SessionId) {
        let mut place = None;
        let mut looks = 0;
        loop {
            let before = place.clone();
            if let Err(error) = self.follow(&engine, session, &mut place).await {
                tracing::debug!(%session, %error, "a session is followed no longer");
                break;
            }
            // Its actor ended, which happens when the disk failed under it; the next one goes on.
            looks = if before == place { looks + 1 } else { 0 };
            if looks > LOOKS || *engine.stopping().borrow() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
        let mut ring = self.ring();
        ring.ended = true;
        ring.ring();
    }

    /// Follows a session until its actor ends. An error says that there is nothing more to follow.
    async fn follow(
        &self,
        engine: &Engine,
        session: SessionId,
        place: &mut Option<Place>,
    ) -> Result<(), EngineError> {
        let after = match place {
            Some(place) => place.seq,
            None => engine.view(session).await?.last_seq,
        };
        let mut subscription = engine.subscribe(session, after).await?;
        let place = place.get_or_insert_with(|| Place::after(after));
        self.ring().begin(place);
        loop {
            let Some(item) = subscription.next().await? else { return Ok(()) };
            self.publish(engine, session, item, &mut subscription, place).await?;
        }
    }

    /// Publishes an item and all that is ready after it, then rings once.
    async fn publish(
        &self,
        engine: &Engine,
        session: SessionId,
        first: Item,
        subscription: &mut Subscription,
        place: &mut Place,
    ) -> Result<(), EngineError> {
        let (mut item, mut bytes, mut news) = (first, 0, false);
        loop {
            let usage = match &item {
                Item::Record(_) => stopped_usage(engine, session, &item).await,
                Item::Delta(_) => None,
            };
            let entries = translate(&item, place, usage);
            bytes += entries.iter().map(|entry| entry.wire.len()).sum::<usize>();
            news |= !entries.is_empty();
            let finished = finished(&item);
            // Whatever comes of looking for more, what there is must be told.
            let next = if bytes < BATCH { subscription.ready().await } else { Ok(None) };
            let mut ring = self.ring();
            ring.push(entries, finished, place);
            match next {
                Ok(Some(more)) => item = more,
                end => {
                    if news || ring.awaited {
                        ring.awaited = false;
                        ring.ring();
                    }
                    return end.map(drop);
                }
            }
        }
    }

    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().expect("no code panics while it holds a ring")
    }
}

impl Future for Drive {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if let Some(work) = &mut self.work {
            ready!(work.as_mut().poll(context));
            self.work = None;
        }
        Poll::Ready(())
    }
}

impl Drop for Drive {
    fn drop(&mut self) {
        let mut work = self.work.take();
        let mut ring = self.relay.ring();
        ring.driver = None;
        // Without anybody to do it, the work has come to its end.
        if work.is_some() && !ring.bells.is_empty() {
            ring.work = work.take();
            self.relay.is_idle.store(true, Ordering::Release);
            ring.ring();
        }
        drop(ring);
        drop(work);
    }
}

/// What a turn took that the item says was stopped.
async fn stopped_usage(engine: &Engine, session: SessionId, item: &Item) -> Option<Usage> {
    let turn_id = stopped_turn(item)?;
    let view = engine.view(session).await.ok()?;
    view.turns.iter().find(|turn| turn.id == turn_id).map(|turn| turn.usage)
}

impl Ring {
    fn new() -> Ring {
        Ring {
            bells: Vec::new(),
            driver: None,
            work: None,
            head: None,
            base: Place::default(),
            first: 0,
            entries: VecDeque::new(),
            bytes: 0,
            finished: VecDeque::new(),
            awaited: false,
            ended: false,
        }
    }

    fn begin(&mut self, place: &Place) {
        if self.head.is_none() {
            self.base = place.clone();
            self.head = Some(place.clone());
            self.ring();
        }
    }

    /// Adds entries, and forgets the oldest where there is no room.
    fn push(&mut self, entries: Vec<Entry>, finished: Finished, place: &Place) {
        for entry in entries {
            self.bytes += entry.wire.len();
            self.entries.push_back(entry);
        }
        self.finish(finished, place.seq);
        self.forget_while(|ring| ring.bytes > RING_BYTES && ring.entries.len() > 1);
        match &mut self.head {
            Some(head) => head.move_to(place),
            None => self.head = Some(place.clone()),
        }
    }

    /// Forgets the oldest entries.
    fn forget_while(&mut self, more: impl Fn(&Ring) -> bool) {
        while more(self) {
            let Some(entry) = self.entries.pop_front() else { break };
            self.bytes -= entry.wire.len();
            self.first += 1;
            self.base.pass(&entry);
        }
        // What was finished before the base is of no text in the ring.
        while let Some((message_id, _)) = self.finished.pop_front_if(|(_, seq)| *seq < self.base.seq) {
            self.base.forget(message_id);
        }
    }

    /// Remembers which messages get no more text after this record.
    fn finish(&mut self, finished: Finished, seq: u64) {
        let ids: Vec<MessageId> = match finished {
            Finished::Nothing => return,
            Finished::Message(id) => vec![id],
            Finished::All => {
                let of = |entry: &Entry| entry.span.map(|span| span.message_id);
                self.base.message().into_iter().chain(self.entries.iter().filter_map(of)).collect()
            }
        };
        for id in ids {
            let known = self.finished.iter().any(|(known, _)| *known == id);
            let of = |entry: &Entry| entry.span.is_some_and(|span| span.message_id == id);
            if !known && (self.base.has_begun(id) || self.entries.iter().rev().any(of)) {
                self.finished.push_back((id, seq));
            }
        }
    }

    fn take(&mut self, cursor: &mut Option<u64>, place: &mut Place, out: &mut Outgoing) -> Taken {
        let here = if self.ended { Taken::Ended } else { Taken::All };
        let Some(head) = self.head.as_ref().map(|head| head.seq) else { return here };
        // Only what the relay has seen can be compared with what the socket knows.
        self.awaited |= head < place.seq;
        if head < place.seq {
            return here;
        }
        let seq_of =
            |id: MessageId| self.finished.iter().find(|(known, _)| *known == id).map(|(_, seq)| *seq);
        let mut at = match *cursor {
            Some(at) if at >= self.first => at,
            Some(_) | None if place.covers(&self.base, seq_of) => self.first,
            Some(_) | None => {
                (*cursor, self.awaited) = (None, true);
                return Taken::Lagging;
            }
        };
        let offset = usize::try_from(at - self.first).unwrap_or(usize::MAX);
        for entry in self.entries.range(offset.min(self.entries.len())..) {
            if out.len() >= BATCH {
                *cursor = Some(at);
                return Taken::Some;
            }
            match place.judge(entry, seq_of) {
                News::Old => {}
                News::Next => {
                    out.push(entry.wire.clone());
                    place.pass(entry);
                }
                News::Gap => {
                    (*cursor, self.awaited) = (None, true);
                    return Taken::Lagging;
                }
            }
            at += 1;
        }
        *cursor = Some(at);
        if let Some(head) = self.head.as_ref().filter(|head| head.seq > place.seq) {
            place.clone_from(head);
        }
        if self.bells.len() == 1 {
            // Nobody else needs it, and memory that was just used is the cheapest to use again.
            self.forget_while(|ring| ring.first < at);
        }
        here
    }

    /// Tells everybody that there is something new.
    fn ring(&mut self) {
        if let Some(driver) = &self.driver {
            driver.note();
        }
        let is_driver = |bell: &Arc<Bell>| self.driver.as_ref().is_some_and(|own| Arc::ptr_eq(own, bell));
        self.bells.iter().filter(|bell| !is_driver(bell)).for_each(|bell| bell.ring());
    }
}
