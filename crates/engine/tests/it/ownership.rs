//! Sessions that another engine takes: two engines on one log, each with files of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostler_agent::Agent;
use ostler_documents::FileDocuments;
use ostler_engine::{Engine, EngineConfig, EngineError, Subscription, SubscriptionItem};
use ostler_eventlog::{Log, LogError, LogLine};
use ostler_index::SqliteIndex;
use ostler_local_runner::LocalRunner;
use ostler_testing::agent::{ScriptedAgent, stream};
use ostler_testing::clock::FixedClock;
use ostler_testing::shared_log::{LostAppend, SharedLog};
use ostler_types::{
    Accepted, Clock, Command, Delivery, Event, EventName, Message, MessageId, NewRecord, NewSession, Part,
    RefusalCode, Role, Secrets, SessionChange, SessionEvent, SessionId, SubmitMessage, TurnEvent, TurnId,
};
use tempfile::TempDir;

/// An engine on a log that others have too.
pub(crate) struct EngineNode {
    pub(crate) engine: Engine,
    pub(crate) agent: Arc<ScriptedAgent>,
    clock: Arc<FixedClock>,
    dir: TempDir,
}

impl EngineNode {
    pub(crate) async fn start(log: &Arc<SharedLog>, clock: &Arc<FixedClock>) -> EngineNode {
        let (dir, agent) = (tempfile::tempdir().unwrap(), ScriptedAgent::new());
        let (index, index_opened) = SqliteIndex::open(&dir.path().join("index.db")).unwrap();
        let engine = Engine::start(EngineConfig {
            log: log.clone(),
            index: Arc::new(index),
            index_opened,
            documents: Arc::new(FileDocuments::new(dir.path())),
            data_dir: dir.path().to_owned(),
            agents: HashMap::from([("native".to_owned(), agent.clone() as Arc<dyn Agent>)]),
            clock: clock.clone(),
            runner: Arc::new(LocalRunner::new(dir.path().to_owned())),
            rules: Vec::new(),
            secrets: Secrets::default(),
            idle_after: Duration::from_secs(600),
            turns_disabled: false,
        })
        .await;
        EngineNode { engine, agent, clock: clock.clone(), dir }
    }

    pub(crate) async fn create(&self) -> SessionId {
        self.engine.create(self.new_session()).await.unwrap().id
    }

    /// A session that is not made yet.
    fn new_session(&self) -> NewSession {
        let (id, at) = (SessionId::new(self.engine.clock().uuid()), self.engine.clock().now());
        // The log on disk makes the folder that the readable files go to.
        std::fs::create_dir_all(self.dir.path().join("sessions").join(id.to_string())).unwrap();
        NewSession::new(id, at, self.dir.path().to_str().unwrap().to_owned(), "scripted:model")
    }

    async fn say(&self, id: SessionId, delivery: Delivery) -> Result<Accepted, EngineError> {
        let clock = self.engine.clock();
        let message = Message {
            id: MessageId::new(clock.uuid()),
            role: Role::User,
            parts: vec![Part::text("go on")],
            created_at: clock.now(),
        };
        let (turn_id, by) = (TurnId::new(clock.uuid()), "test".to_owned());
        let submit = SubmitMessage { message, turn_id, delivery, auto_run: None, idempotency_key: None, by };
        self.engine.submit(id, Command::Submit(submit)).await
    }

    /// A record of another node: the session has another title.
    pub(crate) async fn title(&self, id: SessionId, title: &str) -> NewRecord {
        let mut session = self.engine.view(id).await.unwrap().session;
        session.title = Some(title.to_owned());
        NewRecord {
            ts: self.clock.now(),
            turn_id: None,
            event: Event::Session(SessionEvent::Updated { session }),
        }
    }
}

fn names(log: &SharedLog, id: SessionId) -> Vec<EventName> {
    log.lines(id).iter().filter_map(|line| line.name()).collect()
}

#[tokio::test]
async fn what_another_owner_appends_just_before_a_claim_is_not_missed() {
    let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
    let first = EngineNode::start(&log, &clock).await;
    let id = first.create().await;
    let record = first.title(id, "from elsewhere").await;
    first.engine.stop().await;
    let second = EngineNode::start(&log, &clock).await;
    let once = AtomicBool::new(true);
    log.before_claim(move |log, session| {
        if session == id && once.swap(false, Ordering::Relaxed) {
            log.steal_and_append(session, vec![record.clone()]).unwrap();
        }
    });
    let pinned = SessionChange { pinned: Some(true), ..SessionChange::default() };
    second.engine.submit(id, Command::Update(pinned)).await.unwrap();
    let session = second.engine.view(id).await.unwrap().session;
    assert_eq!(session.title.as_deref(), Some("from elsewhere"));
    assert!(session.pinned);
    second.engine.stop().await;
}

#[tokio::test]
async fn an_owner_that_lost_its_session_drops_its_agent_and_writes_nothing() {
    let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
    let node = EngineNode::start(&log, &clock).await;
    node.agent.push(|_| std::future::pending());
    let id = node.create().await;
    node.say(id, Delivery::Queue).await.unwrap();
    node.agent.started(1).await;
    let mut subscription = node.engine.subscribe(id, 0).await.unwrap();
    let before = names(&log, id);
    let epoch = log.steal(id);

    let refused = node.say(id, Delivery::Steer).await;
    assert!(matches!(refused, Err(EngineError::Log(LogError::Fenced))), "{refused:?}");
    node.agent.ended(1).await;
    assert_eq!(names(&log, id), before);
    assert_eq!(log.refused(), 1, "it tried once, and not again");

    // The other owner ends the turn; the subscriber sees it as soon as the session is woken here again.
    let turn_id = node.agent.turns()[0];
    let event = Event::Turn(TurnEvent::Canceled { by: "elsewhere".to_owned(), reason: None });
    let record = NewRecord { ts: clock.now(), turn_id: Some(turn_id), event };
    log.append(id, epoch, before.len() as u64 + 1, vec![record]).await.unwrap();
    assert!(node.engine.view(id).await.unwrap().running_turn_id.is_none());
    let mut seen = Vec::new();
    while seen.last() != Some(&EventName::TurnCanceled) {
        seen.extend(next_line(&mut subscription).await.name());
    }
    assert_eq!(seen, names(&log, id));
    node.engine.stop().await;
}

#[tokio::test]
async fn subscribers_of_a_lost_session_see_what_others_append_without_a_command() {
    let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
    let node = EngineNode::start(&log, &clock).await;
    let id = node.create().await;
    let mut subscription = node.engine.subscribe(id, 0).await.unwrap();
    let record = node.title(id, "from elsewhere").await;
    log.steal_and_append(id, vec![record.clone()]).unwrap();
    let pinned = SessionChange { pinned: Some(true), ..SessionChange::default() };
    node.engine.submit(id, Command::Update(pinned)).await.unwrap_err();
    // It pauses for longer and longer, and looks again all the same.
    for round in 0..4 {
        let seen = read_to_end_of(&mut subscription, &log, id).await;
        assert_eq!(seen, log.lines(id)[log.lines(id).len() - seen.len()..]);
        assert_eq!(node.engine.awake_count(), 0, "it follows, and takes nothing away from the owner");
        log.steal_and_append(id, vec![record.clone()]).unwrap();
        time_passes(Duration::from_secs(10 * round)).await;
    }
    // A session that the other owner removes has no more to show.
    read_to_end_of(&mut subscription, &log, id).await;
    let epoch = log.steal(id);
    log.remove(id, epoch).await.unwrap();
    time_passes(Duration::from_secs(10)).await;
    assert!(subscription.next().await.unwrap().is_none());
    node.engine.stop().await;
}

#[tokio::test]
async fn a_session_whose_storage_did_not_answer_goes_on_by_itself_while_somebody_looks_on() {
    for lost in [LostAppend::Written, LostAppend::Dropped] {
        let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
        let node = EngineNode::start(&log, &clock).await;
        node.agent.push(|_| std::future::pending());
        node.agent.push_text("after the outage");
        let id = node.create().await;
        node.say(id, Delivery::Queue).await.unwrap();
        node.agent.started(1).await;
        node.say(id, Delivery::Queue).await.unwrap();
        let mut subscription = node.engine.subscribe(id, 0).await.unwrap();
        log.lose_next_append(Some(lost));
        let told = node.say(id, Delivery::Queue).await;
        assert!(matches!(told, Err(EngineError::Log(LogError::Lost))), "{told:?}");
        // Nobody asks for anything: the interrupted turn ends, and the queue goes on.
        time_passes(Duration::from_secs(1)).await;
        let mut seen = Vec::new();
        while seen.last() != Some(&EventName::TurnCompleted) {
            seen.extend(next_line(&mut subscription).await.name());
        }
        assert!(seen.contains(&EventName::TurnFailed), "{seen:?}");
        node.engine.stop().await;
    }
}

/// The next record that a subscriber is shown, whose stream must go on.
async fn next_line(subscription: &mut Subscription) -> LogLine {
    loop {
        if let SubscriptionItem::Record(line) =
            subscription.next().await.unwrap().expect("the stream goes on")
        {
            return LogLine::clone(&line);
        }
    }
}

/// What a subscriber is shown until it has seen the whole log.
async fn read_to_end_of(subscription: &mut Subscription, log: &SharedLog, id: SessionId) -> Vec<LogLine> {
    let mut seen = Vec::new();
    while subscription.seen() < log.lines(id).len() as u64 {
        seen.push(next_line(subscription).await);
    }
    seen
}

/// Lets time pass without waiting.
pub(crate) async fn time_passes(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_former_owner_keeps_no_drafts_and_settles_nothing() {
    let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
    let node = EngineNode::start(&log, &clock).await;
    let (go, gone) = tokio::sync::oneshot::channel::<()>();
    node.agent.push(|turn| async move {
        _ = gone.await;
        // Enough to be kept at once, without waiting for a clock.
        stream(&turn, MessageId::new(turn.clock.uuid()), 0, &"x".repeat(16 << 10));
        std::future::pending().await
    });
    let id = node.create().await;
    node.say(id, Delivery::Queue).await.unwrap();
    node.agent.started(1).await;
    let mut subscription = node.engine.subscribe(id, log.lines(id).len() as u64).await.unwrap();
    log.steal(id);
    go.send(()).unwrap();
    let shown = subscription.next().await.unwrap();
    assert!(matches!(shown, Some(SubscriptionItem::Delta(_))), "{shown:?}");
    assert!(log.drafts(id).await.unwrap().is_empty());
    // A session at rest is released when the engine stops, by its owner only.
    let (idle, kept) = (node.create().await, node.create().await);
    log.steal(idle);
    node.engine.stop().await;
    let unsettled = log.unsettled().await.unwrap();
    assert!(unsettled.contains(&id) && unsettled.contains(&idle), "their owner has to look at them");
    assert!(!unsettled.contains(&kept));
    assert!(log.drafts(id).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_session_that_rested_and_was_used_elsewhere_is_read_again() {
    let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
    let (one, two) = (EngineNode::start(&log, &clock).await, EngineNode::start(&log, &clock).await);
    let id = one.create().await;
    for round in 0..4 {
        for node in [&one, &two] {
            let title = format!("round {round}");
            let change = SessionChange { title: Some(title.clone()), ..SessionChange::default() };
            // The first try finds that the other engine has the session, the second claims it.
            let mut told = node.engine.submit(id, Command::Update(change.clone())).await;
            if matches!(told, Err(EngineError::Log(LogError::Fenced))) {
                told = node.engine.submit(id, Command::Update(change)).await;
            }
            told.unwrap();
            let title = format!("round {round}");
            assert_eq!(node.engine.view(id).await.unwrap().session.title, Some(title));
        }
    }
    let lines = log.lines(id);
    assert!(lines.iter().zip(1..).all(|(line, seq)| line.seq == seq));
    one.engine.stop().await;
    two.engine.stop().await;
}

/// The index of each engine knows nothing of the other's sessions, so only the log can tell.
#[tokio::test]
async fn a_key_makes_one_session_and_a_name_belongs_to_one_whichever_engine_is_asked() {
    let (log, clock) = (Arc::new(SharedLog::default()), Arc::new(FixedClock::default()));
    let (one, two) = (EngineNode::start(&log, &clock).await, EngineNode::start(&log, &clock).await);
    let with_key =
        |node: &EngineNode| NewSession { idempotency_key: Some("key".to_owned()), ..node.new_session() };
    let first = one.engine.create(with_key(&one)).await.unwrap();
    let again = two.engine.create(with_key(&two)).await.unwrap();
    assert_eq!(again.id, first.id);
    let named = |node: &EngineNode| NewSession { name: Some("stable".to_owned()), ..node.new_session() };
    let holder = one.engine.create(named(&one)).await.unwrap();
    let refused = two.engine.create(named(&two)).await.unwrap_err();
    assert!(
        matches!(&refused, EngineError::Refused(refusal) if refusal.code == RefusalCode::NameTaken),
        "{refused}"
    );
    let both = NewSession { idempotency_key: Some("key".to_owned()), ..named(&two) };
    assert_eq!(two.engine.create(both).await.unwrap().id, first.id, "the key comes first");
    assert_eq!(log.sessions(None, 10).await.unwrap().len(), 2);
    // A closed session has no name any more.
    one.engine.submit(holder.id, Command::Close { by: "test".to_owned() }).await.unwrap();
    two.engine.create(named(&two)).await.unwrap();
    one.engine.stop().await;
    two.engine.stop().await;
}
