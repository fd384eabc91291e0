//! Two engines take sessions from each other at random. Clients write down what they were told and shown, and a checker
//! compares that with the log.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use ostler_engine::{EngineError, FeedItem, FeedSubscription, Subscription, SubscriptionItem};
use ostler_eventlog::{FeedPosition, FeedRecord, Log, LogError, LogLine, unseal_lines};
use ostler_testing::agent::{ScriptedAgent, done, finish, propose, run_call, stream};
use ostler_testing::shared_log::{LostAppend, SharedLog};
use ostler_types::{
    CallEvent, CancelTurn, Command, Delivery, Event, EventName, Message, MessageEvent, MessageId, Part,
    Record, Role, SessionChange, SessionId, State, SubmitMessage, ToolCallId, ToolKind, TurnId,
};

use crate::fixture::eventually;
use crate::ownership::{EngineNode, time_passes};

/// Seeds that every run tries; `OSTLER_OWNERSHIP_SEEDS` says another number, `OSTLER_OWNERSHIP_SEED` the only one.
const SEEDS: u64 = 40;
/// What each seed does.
const STEPS: usize = 16;
/// What a client tries before it gives up: the first tries may find that another engine has the session.
const TRIES: usize = 8;
/// As long as an engine pauses at most before it looks at the log of a session that it has lost.
const LONGEST_PAUSE: Duration = Duration::from_secs(8);
/// Sessions of one run: the first, and forks.
const SESSIONS: usize = 3;

#[tokio::test]
async fn two_engines_on_one_log_lose_nothing() {
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse().ok());
    let only: Option<u64> = number("OSTLER_OWNERSHIP_SEED");
    for seed in only.unwrap_or(1)..=only.or(number("OSTLER_OWNERSHIP_SEEDS")).unwrap_or(SEEDS) {
        let mut run = SeedRun::start(seed).await;
        for _ in 0..STEPS {
            run.step().await;
            run.look();
        }
        run.finish().await;
    }
}

/// What one seed does, and what its clients were told and shown.
struct SeedRun {
    seed: u64,
    random: u64,
    log: Arc<SharedLog>,
    nodes: [EngineNode; 2],
    sessions: Vec<SessionId>,
    /// The keys of messages that a client was told are recorded.
    acknowledged: Vec<(SessionId, String)>,
    keys: u64,
    clients: Vec<SeedSubscriber>,
    readers: Vec<SeedFeedReader>,
}

/// A subscriber of one session on one engine.
struct SeedSubscriber {
    session: SessionId,
    after: u64,
    subscription: Subscription,
    lines: Vec<LogLine>,
}

/// A reader of all sessions, which may move to the other engine with its cursor.
struct SeedFeedReader {
    node: usize,
    feed: FeedSubscription,
    records: Vec<FeedRecord>,
}

impl SeedRun {
    async fn start(seed: u64) -> SeedRun {
        let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
        let nodes = [EngineNode::start(&log, &clock).await, EngineNode::start(&log, &clock).await];
        let sessions = vec![nodes[0].create().await];
        let reader = |node: usize| {
            let feed = nodes[node].engine.subscribe_all(Some(FeedPosition(0))).unwrap();
            SeedFeedReader { node, feed, records: Vec::new() }
        };
        let readers = vec![reader(0), reader(1)];
        let random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let (acknowledged, clients) = (Vec::new(), Vec::new());
        let mut run = SeedRun { seed, random, log, nodes, sessions, acknowledged, keys: 0, clients, readers };
        for node in [0, 1] {
            (0..400).for_each(|_| {
                let (text, pauses) = (run.below(3), run.below(4));
                push_turn(&run.nodes[node].agent, text, pauses);
            });
            run.subscribe(run.sessions[0], node, 0).await;
        }
        run
    }

    /// A number below `end`, by xorshift.
    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }

    fn index_below(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).expect("an index fits")
    }

    async fn step(&mut self) {
        let (what, node) = (self.below(14), self.index_below(2));
        let session = self.index_below(self.sessions.len());
        let session = self.sessions[session];
        match what {
            0 | 1 => self.submit(session, &[node]).await,
            2 | 3 => self.submit(session, &[node, 1 - node]).await,
            4 => _ = self.log.steal(session),
            5 => {
                let cancel = CancelTurn { turn_id: None, by: "test".to_owned(), reason: None };
                _ = self.nodes[node].engine.submit(session, Command::Cancel(cancel)).await;
            }
            6 => _ = self.nodes[node].engine.view(session).await,
            7 => {
                let after = self.below(self.log.lines(session).len() as u64 + 1);
                self.subscribe(session, node, after).await;
            }
            8 if self.clients.len() > 2 => {
                let left = self.index_below(self.clients.len());
                self.clients.swap_remove(left).check(self.seed, &self.log);
            }
            9 => {
                let reader = self.index_below(self.readers.len());
                self.readers[reader].change_engine(&self.nodes);
            }
            10 if self.sessions.len() < SESSIONS => {
                self.sessions
                    .extend(self.nodes[node].engine.fork(session, None).await.ok().map(|fork| fork.id));
            }
            11 => time_passes(LONGEST_PAUSE).await,
            12 => {
                // A third node works on the session, unless what it writes is lost.
                let record = self.nodes[node].title(session, &format!("from elsewhere {}", self.keys)).await;
                _ = self.log.steal_and_append(session, vec![record]);
            }
            _ => {
                let lost = [LostAppend::Written, LostAppend::Dropped][self.index_below(2)];
                self.log.lose_next_append(Some(lost));
            }
        }
    }

    /// Clients of these nodes send a message each, at the same time.
    async fn submit(&mut self, session: SessionId, nodes: &[usize]) {
        let first = self.keys + 1;
        self.keys += nodes.len() as u64;
        let told = nodes.iter().zip(first..).map(|(node, number)| {
            let (node, key) = (&self.nodes[*node], format!("key {number}"));
            async move { node.insist(session, &key).await.then_some((session, key)) }
        });
        let told: Vec<_> = join_all(told).await.into_iter().flatten().collect();
        self.acknowledged.extend(told);
    }

    /// Subscribes to a session on a node; from its start where the node does not know yet how long it is.
    async fn subscribe(&mut self, session: SessionId, node: usize, after: u64) {
        let engine = &self.nodes[node].engine;
        let (after, subscription) = match engine.subscribe(session, after).await {
            Ok(subscription) => (after, subscription),
            Err(_) => (0, engine.subscribe(session, 0).await.unwrap()),
        };
        self.clients.push(SeedSubscriber { session, after, subscription, lines: Vec::new() });
    }

    /// All clients take what is there for them.
    fn look(&mut self) {
        for client in &mut self.clients {
            let is_open = client.look();
            assert!(is_open, "seed {}: a stream of {} ended", self.seed, client.session);
        }
        self.readers.iter_mut().for_each(SeedFeedReader::look);
    }

    async fn finish(mut self) {
        self.log.lose_next_append(None);
        for session in self.sessions.clone() {
            self.come_to_rest(session).await;
            self.lose_on_one_node(session).await;
        }
        time_passes(LONGEST_PAUSE).await;
        eventually(&format!("seed {}: all clients see all records", self.seed), async || {
            self.look();
            let log = &self.log;
            self.clients.iter().all(|c| c.subscription.seen() == log.lines(c.session).len() as u64)
        })
        .await;
        join_all(self.nodes.iter().map(|node| node.engine.stop())).await;
        for client in &mut self.clients {
            assert!(!client.look(), "seed {}: a stream goes on after the engine", self.seed);
        }
        self.readers.iter_mut().for_each(SeedFeedReader::look);
        self.check();
    }

    /// Both engines write until neither has anything to do. An engine that writes nothing does not learn that it has
    /// lost a session.
    async fn come_to_rest(&mut self, session: SessionId) {
        let log = self.log.clone();
        eventually(&format!("seed {}: the session is at rest", self.seed), async || {
            self.touch(session, 0).await;
            self.touch(session, 1).await;
            let state = State::fold(&records(&log.lines(session))).unwrap();
            state.turn.is_none() && state.queue.is_empty()
        })
        .await;
    }

    /// One engine writes last, and the other one learns that it has lost the session.
    async fn lose_on_one_node(&mut self, session: SessionId) {
        self.touch(session, 0).await;
        self.touch(session, 1).await;
        let told = self.retitle(session, 0).await;
        assert!(matches!(told, Err(EngineError::Log(LogError::Fenced))), "seed {}: {told:?}", self.seed);
    }

    /// Writes on a node, which then owns the session.
    async fn touch(&mut self, session: SessionId, node: usize) {
        for _ in 0..TRIES {
            if self.retitle(session, node).await.is_ok() {
                return;
            }
        }
        panic!("seed {}: a session cannot be written to", self.seed);
    }

    async fn retitle(&mut self, session: SessionId, node: usize) -> Result<(), EngineError> {
        self.keys += 1;
        let change =
            SessionChange { title: Some(format!("title {}", self.keys)), ..SessionChange::default() };
        self.nodes[node].engine.submit(session, Command::Update(change)).await.map(drop)
    }

    fn check(&self) {
        for session in &self.sessions {
            self.check_log(*session);
        }
        for client in &self.clients {
            client.check(self.seed, &self.log);
        }
        for reader in &self.readers {
            reader.check(self.seed, &self.log);
        }
        let left = self.log.leftovers();
        assert!(left.is_empty(), "seed {}: {left:?}", self.seed);
    }

    /// What was acknowledged is there once; chains prove; epochs rise; each turn ends once, and each call that was
    /// proposed has one result.
    fn check_log(&self, session: SessionId) {
        let (seed, lines) = (self.seed, self.log.lines(session));
        unseal_lines(session, None, &lines).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let records = records(&lines);
        assert!(records.iter().zip(1..).all(|(record, seq)| record.seq == seq), "seed {seed}");
        assert!(self.log.epochs(session).is_sorted(), "seed {seed}: a former owner wrote");
        let keys: Vec<String> = records.iter().filter_map(key).collect();
        for (_, told) in self.acknowledged.iter().filter(|(of, _)| *of == session) {
            let found = keys.iter().filter(|key| *key == told).count();
            assert_eq!(found, 1, "seed {seed}: {told} was acknowledged");
        }
        let turns = |wanted: fn(EventName) -> bool| {
            let mut turns: Vec<Option<TurnId>> =
                records.iter().filter(|r| wanted(r.event.name())).map(|r| r.turn_id).collect();
            turns.sort_unstable();
            turns
        };
        let started = turns(|name| name == EventName::TurnStarted);
        assert_eq!(started, turns(EventName::ends_turn), "seed {seed}: turns and their ends");
        let mut calls: HashMap<(Option<TurnId>, ToolCallId), Vec<EventName>> = HashMap::new();
        for record in &records {
            let id = match &record.event {
                Event::Call(CallEvent::Started { tool_call, .. }) => &tool_call.id,
                Event::Call(CallEvent::Completed { tool_call, .. }) => &tool_call.id,
                _ => continue,
            };
            calls.entry((record.turn_id, id.clone())).or_default().push(record.event.name());
        }
        let (start, end) = (EventName::ToolCallStarted, EventName::ToolCallCompleted);
        let pairs = |names: &Vec<EventName>| *names == [start, end] || *names == [end];
        assert!(calls.values().all(pairs), "seed {seed}: calls and their results: {calls:?}");
    }
}

impl SeedSubscriber {
    /// Takes what is there. Returns whether more may come.
    fn look(&mut self) -> bool {
        while let Some(next) = self.subscription.next().now_or_never() {
            match next.unwrap() {
                Some(SubscriptionItem::Record(line)) => self.lines.push(LogLine::clone(&line)),
                Some(SubscriptionItem::Delta(_)) => {}
                None => return false,
            }
        }
        true
    }

    /// It saw the lines of the log, from its cursor on, without a gap.
    fn check(&self, seed: u64, log: &SharedLog) {
        let lines = log.lines(self.session);
        let from = usize::try_from(self.after).expect("a seq fits");
        let expected = &lines[from..from + self.lines.len()];
        assert_eq!(self.lines, expected, "seed {seed}: what a subscriber of {} saw", self.session);
    }
}

impl SeedFeedReader {
    fn look(&mut self) {
        while let Some(next) = self.feed.next().now_or_never() {
            if let FeedItem::Record(record) = next.unwrap() {
                self.records.push(record);
            }
        }
    }

    fn change_engine(&mut self, nodes: &[EngineNode; 2]) {
        self.look();
        self.node = 1 - self.node;
        self.feed = nodes[self.node].engine.subscribe_all(Some(self.feed.position())).unwrap();
    }

    /// It saw each record of each session once, in order. Records of a session that was removed may be missing.
    fn check(&self, seed: u64, log: &SharedLog) {
        let mut seen: HashMap<SessionId, Vec<LogLine>> = HashMap::new();
        for record in &self.records {
            seen.entry(record.session_id).or_default().push(record.line.clone());
        }
        assert!(self.records.is_sorted_by(|one, two| one.next < two.next), "seed {seed}: positions rise");
        let made = log.sessions(None, usize::MAX).now_or_never().expect("it does not wait").unwrap();
        for session in made {
            let read = seen.remove(&session).unwrap_or_default();
            assert_eq!(read, log.lines(session), "seed {seed}: what a reader of the feed saw of {session}");
        }
    }
}

impl EngineNode {
    /// Sends a message with a key, again and again until it is told that it was recorded.
    async fn insist(&self, id: SessionId, key: &str) -> bool {
        for _ in 0..TRIES {
            let clock = self.engine.clock();
            let message = Message {
                id: MessageId::new(clock.uuid()),
                role: Role::User,
                parts: vec![Part::text(key)],
                created_at: clock.now(),
            };
            let (turn_id, by) = (TurnId::new(clock.uuid()), "test".to_owned());
            let (delivery, idempotency_key) = (Delivery::Queue, Some(key.to_owned()));
            let submit = SubmitMessage { message, turn_id, delivery, auto_run: None, idempotency_key, by };
            match self.engine.submit(id, Command::Submit(submit)).await {
                Ok(_) => return true,
                Err(EngineError::Log(LogError::Fenced | LogError::Lost | LogError::Conflict { .. })) => {}
                Err(other) => panic!("{other:?}"),
            }
        }
        false
    }
}

/// Adds a turn: with a call, with text that is kept in drafts, or short. Others may act in its pauses.
fn push_turn(agent: &ScriptedAgent, text: u64, pauses: u64) {
    agent.push(move |turn| async move {
        if text == 0 {
            let call = propose(&turn, "call", "read", serde_json::json!({})).await?;
            pause(pauses).await;
            run_call(&turn, &call, ToolKind::Read).await?;
        }
        // Half of it is enough for a draft at once, without waiting for a clock.
        let (id, half) = (turn.message_id(), "x".repeat(if text == 1 { 9 << 10 } else { 4 }));
        stream(&turn, id, 0, &half);
        pause(pauses).await;
        stream(&turn, id, half.len(), &half);
        pause(pauses).await;
        finish(&turn, id, vec![Part::text(half.repeat(2))]).await?;
        done()
    });
}

async fn pause(times: u64) {
    for _ in 0..times {
        tokio::task::yield_now().await;
    }
}

fn records(lines: &[LogLine]) -> Vec<Record> {
    lines.iter().map(|line| line.record().unwrap()).collect()
}

fn key(record: &Record) -> Option<String> {
    match &record.event {
        Event::Message(MessageEvent::Added { idempotency_key, .. })
        | Event::Message(MessageEvent::Queued { idempotency_key, .. }) => idempotency_key.clone(),
        _ => None,
    }
}
