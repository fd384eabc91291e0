//! Sessions that another engine takes: two engines on one log, each with files of its own.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ostler_agent::Agent;
use ostler_engine::{Engine, EngineConfig, EngineError, Item};
use ostler_eventlog::{Log, LogError};
use ostler_index::Index;
use ostler_testing::agent::ScriptedAgent;
use ostler_testing::clock::FixedClock;
use ostler_testing::shared_log::SharedLog;
use ostler_types::{
    Accepted, Change, Command, Delivery, Event, EventName, Message, MessageId, NewRecord, NewSession, Part,
    Role, Secrets, SessionId, SubmitMessage, TurnId,
};
use tempfile::TempDir;

/// An engine on a log that others have too.
struct Node {
    engine: Engine,
    agent: Arc<ScriptedAgent>,
    clock: Arc<FixedClock>,
    dir: TempDir,
}

impl Node {
    fn start(log: &Arc<SharedLog>, clock: &Arc<FixedClock>) -> Node {
        let (dir, agent) = (tempfile::tempdir().unwrap(), ScriptedAgent::new());
        let (index, index_opened) = Index::open(&dir.path().join("index.db")).unwrap();
        let engine = Engine::start(EngineConfig {
            log: log.clone(),
            index,
            index_opened,
            data_dir: dir.path().to_owned(),
            agents: HashMap::from([("native".to_owned(), agent.clone() as Arc<dyn Agent>)]),
            clock: clock.clone(),
            checkpoints: None,
            worktrees: None,
            closed: Arc::new(|_| {}),
            rules: Vec::new(),
            workspace_approval: None,
            unfit_workspace: None,
            secrets: Secrets::default(),
            idle_after: Duration::from_secs(600),
            at_rest: false,
        });
        Node { engine, agent, clock: clock.clone(), dir }
    }

    async fn create(&self) -> SessionId {
        let (id, at) = (SessionId::new(self.engine.clock().uuid()), self.engine.clock().now());
        let workspace = self.dir.path().to_str().unwrap().to_owned();
        self.engine.create(NewSession::new(id, at, workspace, "scripted:model")).await.unwrap().id
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
    async fn title(&self, id: SessionId, title: &str) -> NewRecord {
        let mut session = self.engine.view(id).await.unwrap().session;
        session.title = Some(title.to_owned());
        use ostler_types::Clock as _;
        NewRecord { ts: self.clock.now(), turn_id: None, event: Event::SessionUpdated { session } }
    }
}

fn names(log: &SharedLog, id: SessionId) -> Vec<EventName> {
    log.lines(id).iter().filter_map(|line| line.name()).collect()
}

#[tokio::test]
async fn what_another_owner_appends_just_before_a_claim_is_not_missed() {
    let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
    let first = Node::start(&log, &clock);
    let id = first.create().await;
    let record = first.title(id, "from elsewhere").await;
    first.engine.stop().await;
    let second = Node::start(&log, &clock);
    let once = AtomicBool::new(true);
    log.before_claim(move |log, session| {
        if session == id && once.swap(false, Ordering::Relaxed) {
            log.steal_and_append(session, vec![record.clone()]).unwrap();
        }
    });
    let pinned = Change { pinned: Some(true), ..Change::default() };
    second.engine.submit(id, Command::Update(pinned)).await.unwrap();
    let session = second.engine.view(id).await.unwrap().session;
    assert_eq!(session.title.as_deref(), Some("from elsewhere"));
    assert!(session.pinned);
    second.engine.stop().await;
}

#[tokio::test]
async fn an_owner_that_lost_its_session_drops_its_agent_and_writes_nothing() {
    let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
    let node = Node::start(&log, &clock);
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
    use ostler_types::Clock as _;
    let event = Event::TurnCanceled { by: "elsewhere".to_owned(), reason: None };
    let record = NewRecord { ts: clock.now(), turn_id: Some(turn_id), event };
    log.append(id, epoch, before.len() as u64 + 1, vec![record]).await.unwrap();
    assert!(node.engine.view(id).await.unwrap().running_turn_id.is_none());
    let mut seen = Vec::new();
    while seen.last() != Some(&EventName::TurnCanceled) {
        if let Some(Item::Record(line)) = subscription.next().await.unwrap() {
            seen.extend(line.name());
        }
    }
    assert_eq!(seen, names(&log, id));
    node.engine.stop().await;
}

#[tokio::test]
async fn a_session_that_rested_and_was_used_elsewhere_is_read_again() {
    let (log, clock) = (Arc::new(SharedLog::default()), Arc::default());
    let (one, two) = (Node::start(&log, &clock), Node::start(&log, &clock));
    let id = one.create().await;
    for round in 0..4 {
        for node in [&one, &two] {
            let title = format!("round {round}");
            let change = Change { title: Some(title.clone()), ..Change::default() };
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
