//! A data directory, engines on it, and the few things that every test asks of them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ostler_agent::Agent;
use ostler_checkpoint::CheckpointStore;
use ostler_documents::FileDocuments;
use ostler_engine::{Engine, EngineConfig, EngineError};
use ostler_eventlog::{Disk, FileLog, Log, OpenError, RealDisk};
use ostler_git::{GitWorktrees, Isolation};
use ostler_index::SqliteIndex;
use ostler_local_runner::LocalRunner;
use ostler_testing::agent::ScriptedAgent;
use ostler_testing::clock::FixedClock;
use ostler_types::{
    Accepted, AnswerApproval, CancelTurn, Command, Delivery, Message, MessageId, NewSession, Part,
    PendingApproval, Role, Scope, Secrets, SessionId, SubmitMessage, TurnId, Verdict,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;

/// A data directory that engines come and go on.
pub(crate) struct EngineFixture {
    pub(crate) dir: TempDir,
    pub(crate) clock: Arc<FixedClock>,
    pub(crate) idle_after: Duration,
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) checkpoints: Option<Arc<CheckpointStore>>,
    pub(crate) worktrees: TempDir,
}

/// An engine with its agent.
pub(crate) struct TestEngine {
    pub(crate) engine: Engine,
    pub(crate) agent: Arc<ScriptedAgent>,
    pub(crate) log: Arc<FileLog>,
    workspace: String,
}

impl EngineFixture {
    pub(crate) fn new() -> EngineFixture {
        let (dir, clock) = (tempfile::tempdir().unwrap(), Arc::default());
        let (idle_after, disk) = (Duration::from_secs(600), Arc::new(RealDisk));
        let worktrees = tempfile::tempdir().unwrap();
        EngineFixture { dir, clock, idle_after, disk, checkpoints: None, worktrees }
    }

    pub(crate) fn with_disk(disk: Arc<dyn Disk>) -> EngineFixture {
        EngineFixture { disk, ..EngineFixture::new() }
    }

    pub(crate) fn data(&self) -> &Path {
        self.dir.path()
    }

    /// Starts an engine whose sessions are run by this agent, as `native`.
    pub(crate) async fn open(&self, agent: &Arc<ScriptedAgent>) -> TestEngine {
        self.open_as(agent, &["native"]).await
    }

    /// Starts an engine that knows the agent by these names. The engine before it may take a moment to
    /// let go of the directory.
    pub(crate) async fn open_as(&self, agent: &Arc<ScriptedAgent>, names: &[&str]) -> TestEngine {
        let mut opened = None;
        eventually("the directory is free", async || match FileLog::open(self.data(), self.disk.clone()) {
            Ok(log) => {
                opened = Some(Arc::new(log));
                true
            }
            Err(OpenError::Locked { .. }) => false,
            Err(error) => panic!("{error}"),
        })
        .await;
        let log = opened.expect("the directory was opened");
        let (index, index_opened) = SqliteIndex::open(&self.data().join("index.db")).unwrap();
        let known = |name: &&str| ((*name).to_owned(), agent.clone() as Arc<dyn Agent>);
        let engine = Engine::start(EngineConfig {
            log: log.clone(),
            index: Arc::new(index),
            index_opened,
            documents: Arc::new(FileDocuments::new(self.data())),
            data_dir: self.data().to_owned(),
            agents: names.iter().map(known).collect::<HashMap<_, _>>(),
            clock: self.clock.clone(),
            runner: Arc::new(self.runner()),
            rules: Vec::new(),
            secrets: Secrets::default(),
            idle_after: self.idle_after,
            turns_disabled: false,
        })
        .await;
        let workspace = self.data().to_str().unwrap().to_owned();
        TestEngine { engine, agent: agent.clone(), log, workspace }
    }

    fn runner(&self) -> LocalRunner {
        let worktrees = GitWorktrees::new(self.worktrees.path().to_owned(), Isolation::None);
        let runner = LocalRunner::new(self.data().to_owned()).with_worktrees(worktrees);
        match &self.checkpoints {
            Some(store) => runner.with_checkpoints(Arc::clone(store)),
            None => runner,
        }
    }

    /// Runs a daemon in a runtime of its own until the test is done with it, then ends it as a crash
    /// does: nothing is told, and every task is dropped where it stands.
    pub(crate) fn until_crash<T>(
        &self,
        agent: &Arc<ScriptedAgent>,
        test: impl AsyncFnOnce(&TestEngine) -> T,
    ) -> T {
        let runtime = runtime();
        let result = runtime.block_on(async {
            let daemon = self.open(agent).await;
            test(&daemon).await
        });
        drop(runtime);
        result
    }

    /// Runs a daemon and stops it in order.
    pub(crate) fn until_stop<T>(
        &self,
        agent: &Arc<ScriptedAgent>,
        test: impl AsyncFnOnce(&TestEngine) -> T,
    ) -> T {
        self.until_crash(agent, async |daemon| {
            let result = test(daemon).await;
            daemon.engine.stop().await;
            result
        })
    }
}

impl TestEngine {
    /// The folder of a session.
    pub(crate) fn session_dir(&self, id: SessionId) -> PathBuf {
        self.engine.log_path(id).parent().unwrap().to_owned()
    }

    pub(crate) fn new_session(&self) -> NewSession {
        let clock = self.engine.clock();
        NewSession::new(SessionId::new(clock.uuid()), clock.now(), self.workspace.clone(), "scripted:model")
    }

    /// Makes a session with the default policy, under which writing and running ask.
    pub(crate) async fn create(&self) -> SessionId {
        self.engine.create(self.new_session()).await.unwrap().id
    }

    pub(crate) fn message(&self, text: &str, delivery: Delivery) -> Command {
        let clock = self.engine.clock();
        let message = Message {
            id: MessageId::new(clock.uuid()),
            role: Role::User,
            parts: vec![Part::text(text)],
            created_at: clock.now(),
        };
        let (turn_id, by) = (TurnId::new(clock.uuid()), "test".to_owned());
        let (auto_run, idempotency_key) = (None, None);
        Command::Submit(SubmitMessage { message, turn_id, delivery, auto_run, idempotency_key, by })
    }

    /// Sends a message, and returns the turn that will answer it.
    pub(crate) async fn say(&self, id: SessionId, text: &str) -> TurnId {
        self.deliver(id, text, Delivery::Queue).await
    }

    pub(crate) async fn deliver(&self, id: SessionId, text: &str, delivery: Delivery) -> TurnId {
        match self.engine.submit(id, self.message(text, delivery)).await.unwrap() {
            Accepted::Message { turn_id: Some(turn_id), .. } => turn_id,
            other => panic!("{other:?}"),
        }
    }

    pub(crate) async fn cancel(&self, id: SessionId) -> Result<Accepted, EngineError> {
        let cancel = Command::Cancel(CancelTurn { turn_id: None, by: "test".to_owned(), reason: None });
        self.engine.submit(id, cancel).await
    }

    pub(crate) async fn answer(
        &self,
        approval: &PendingApproval,
        verdict: Verdict,
        scope: Scope,
    ) -> Result<Accepted, EngineError> {
        let (turn_id, tool_call_id) = (approval.turn_id, approval.tool_call_id.clone());
        let (reason, by) = (None, "test".to_owned());
        let answer = Command::Answer(AnswerApproval {
            turn_id,
            tool_call_id,
            verdict,
            scope,
            reason,
            review: None,
            option: None,
            by,
        });
        self.engine.submit(approval.session_id, answer).await
    }

    /// Waits until so many approvals wait in all sessions.
    pub(crate) async fn approvals(&self, count: usize) -> Vec<PendingApproval> {
        let mut approvals = Vec::new();
        eventually("approvals wait", async || {
            approvals = self.engine.approvals().await.unwrap();
            approvals.len() == count
        })
        .await;
        approvals
    }

    /// Every record of a session, from its log.
    pub(crate) async fn records(&self, id: SessionId) -> Vec<ostler_types::Record> {
        let mut records = Vec::new();
        loop {
            let lines = self.log.read(id, records.len() as u64 + 1, 1 << 20).await.unwrap();
            if lines.is_empty() {
                return records;
            }
            records.extend(lines.iter().map(|line| line.record().unwrap()));
        }
    }

    /// The names of every record of a session.
    pub(crate) async fn names(&self, id: SessionId) -> Vec<&'static str> {
        self.records(id).await.iter().map(|record| record.event.name().as_str()).collect()
    }

    /// Waits until a session has this many records of a name.
    pub(crate) async fn recorded(&self, id: SessionId, name: &str, count: usize) {
        eventually(name, async || {
            self.names(id).await.iter().filter(|found| **found == name).count() >= count
        })
        .await;
    }
}

/// A runtime of one thread: when it is dropped, no task sees another one go.
pub(crate) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Asks again and again until it holds, for a long while but not for ever. For what nobody tells of.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    for _ in 0..5_000 {
        if holds().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    panic!("it never came true: {what}");
}

/// The words of a refusal, for asserts.
pub(crate) fn refusal_code(result: Result<Accepted, EngineError>) -> String {
    match result {
        Err(EngineError::Refused(refusal)) => refusal.code.into(),
        other => panic!("it was not refused: {other:?}"),
    }
}
