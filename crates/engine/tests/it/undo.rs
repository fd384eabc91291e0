//! Undo: what turns did is taken back, what others did stays, and nothing is undone under a turn.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostler_agent::{ReportError, TurnContext};
use ostler_checkpoint::{CaptureOptions, Checkpoint, CheckpointStore};
use ostler_engine::{EngineError, UndoReport, UndoRequest};
use ostler_testing::agent::{ScriptedAgent, done, failed, say};
use ostler_types::{Command, Moment, NewSession, SessionId, TurnId, TurnReport};
use tempfile::TempDir;

use crate::fixture::{EngineFixture, TestEngine};

/// An engine with checkpoints, and a session in a workspace.
struct UndoFixture {
    daemon: TestEngine,
    agent: Arc<ScriptedAgent>,
    store: Arc<CheckpointStore>,
    workspace: TempDir,
    session: SessionId,
    _place: EngineFixture,
}

impl UndoFixture {
    async fn new() -> UndoFixture {
        let (mut place, agent) = (EngineFixture::new(), ScriptedAgent::new());
        let store = CheckpointStore::open(&place.data().join("checkpoints")).unwrap();
        let store = Arc::new(store.with_protected_names(Arc::new(protected_name)));
        place.checkpoints = Some(Arc::clone(&store));
        let (daemon, workspace) = (place.open(&agent).await, tempfile::tempdir().unwrap());
        let workspace_path = workspace.path().to_str().unwrap().to_owned();
        let new = NewSession { workspace_path, ..daemon.new_session() };
        let session = daemon.engine.create(new).await.unwrap().id;
        UndoFixture { daemon, agent, store, workspace, session, _place: place }
    }

    fn hand(&self) -> TurnWorkspace {
        TurnWorkspace { store: Arc::clone(&self.store), workspace: self.workspace.path().to_owned() }
    }

    /// A turn that writes a file, and is known by both its ends.
    async fn turn(&self, path: &'static str, content: &'static str) -> TurnId {
        let hand = self.hand();
        self.agent.push(move |turn| async move {
            hand.capture(&turn, Moment::Before).await?;
            hand.write(path, content);
            hand.capture(&turn, Moment::After).await?;
            say(&turn, "written").await?;
            done()
        });
        let id = self.daemon.say(self.session, "go").await;
        self.over(id).await;
        id
    }

    async fn over(&self, id: TurnId) {
        crate::fixture::eventually("the turn is over", async || {
            let view = self.daemon.engine.view(self.session).await.unwrap();
            view.turns.iter().any(|turn| turn.id == id && turn.ended_at.is_some())
        })
        .await;
    }

    async fn undo(&self, turn_id: TurnId, force: bool) -> Result<UndoReport, EngineError> {
        let ask = |preview| {
            let undo = UndoRequest { turn_id, preview, force };
            self.daemon.engine.undo(self.session, undo, "test".to_owned())
        };
        let preview = ask(true).await?;
        let undone = ask(false).await?;
        assert_eq!(preview, undone, "a preview says what is done");
        Ok(undone)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.workspace.path().join(path)).unwrap()
    }
}

/// What a turn's agent works with.
struct TurnWorkspace {
    store: Arc<CheckpointStore>,
    workspace: PathBuf,
}

impl TurnWorkspace {
    async fn capture(&self, turn: &TurnContext, moment: Moment) -> Result<(), ReportError> {
        let Checkpoint { id, files, bytes, left_out, .. } =
            self.store.capture(&self.workspace, &CaptureOptions::default()).unwrap();
        let checkpoint_id = id.to_string();
        turn.report(TurnReport::CheckpointCreated { checkpoint_id, moment, files, bytes, left_out }).await?;
        Ok(())
    }

    fn write(&self, path: impl AsRef<Path>, content: &str) {
        fs::write(self.workspace.join(path), content).unwrap();
    }
}

fn protected_name(_: &Path, path: &Path, _: bool) -> Option<&'static str> {
    path.ends_with(".mcp.json").then_some(".mcp.json")
}

fn code(result: Result<UndoReport, EngineError>) -> String {
    match result {
        Err(EngineError::Refused(refusal)) => refusal.code.into(),
        other => panic!("it was not refused: {other:?}"),
    }
}

#[tokio::test]
async fn what_somebody_did_between_two_turns_is_not_undone_with_them() {
    let scene = UndoFixture::new().await;
    scene.hand().write("mine", "old");
    let first = scene.turn("a", "first").await;
    scene.hand().write("mine", "between the turns");
    scene.turn("b", "second").await;
    let undone = scene.undo(first, false).await.unwrap();
    assert_eq!(
        (undone.deleted.as_slice(), undone.conflicts.len()),
        (&["a".to_owned(), "b".to_owned()][..], 0)
    );
    assert_eq!(scene.read("mine"), "between the turns");
    assert!(undone.note.contains("ignores"), "{}", undone.note);
    let told = scene.daemon.engine.messages(scene.session, None, 1).await.unwrap();
    assert!(serde_json::to_string(&told.messages).unwrap().contains("Deleted: a, b"));
}

#[tokio::test]
async fn a_protected_file_that_changed_during_a_turn_is_left_as_it_is_and_named() {
    let scene = UndoFixture::new().await;
    scene.hand().write(".mcp.json", "A");
    let turn = scene.turn(".mcp.json", "B").await;
    for force in [false, true] {
        let undone = scene.undo(turn, force).await.unwrap();
        assert_eq!((undone.restored.len(), undone.conflicts.len()), (0, 0), "{undone:?}");
        let [(path, why)] = undone.left_out.as_slice() else { panic!("it is not named: {undone:?}") };
        assert_eq!(path, ".mcp.json");
        assert!(why.contains("left as it is"), "{why}");
        assert_eq!(scene.read(".mcp.json"), "B");
    }
}

#[tokio::test]
async fn a_turn_that_was_stopped_is_undone_by_how_it_left_the_workspace() {
    let scene = UndoFixture::new().await;
    let hand = scene.hand();
    hand.write("mine", "old");
    scene.agent.push(move |turn| async move {
        let _lease = hand.store.lease_for_change(&hand.workspace).await;
        hand.capture(&turn, Moment::Before).await?;
        hand.write("a", "half");
        turn.canceled.cancelled().await;
        hand.capture(&turn, Moment::After).await?;
        assert_eq!(
            turn.report(TurnReport::TakeSteering).await,
            Err(ReportError::TurnOver),
            "nothing else is heard"
        );
        let again = hand.capture(&turn, Moment::After).await;
        assert_eq!(again, Err(ReportError::TurnOver), "it is heard once");
        failed("turn_over")
    });
    let turn = scene.daemon.say(scene.session, "go").await;
    scene.daemon.recorded(scene.session, "checkpoint_created", 1).await;
    scene.daemon.cancel(scene.session).await.unwrap();
    // The agent may still be at it; an undo waits for it.
    let ask = UndoRequest { turn_id: turn, preview: false, force: false };
    let undone = scene.daemon.engine.undo(scene.session, ask, "test".to_owned()).await.unwrap();
    assert_eq!((undone.deleted.len(), undone.conflicts.len()), (1, 0), "{undone:?}");
    assert_eq!(scene.read("mine"), "old");
}

#[tokio::test]
async fn a_session_that_is_closed_can_be_undone_and_hears_nothing_of_it() {
    let scene = UndoFixture::new().await;
    let turn = scene.turn("a", "x").await;
    let close = Command::Close { by: "test".to_owned() };
    scene.daemon.engine.submit(scene.session, close).await.unwrap();
    let records = scene.daemon.names(scene.session).await.len();
    assert_eq!(scene.undo(turn, false).await.unwrap().deleted, ["a"]);
    assert_eq!(scene.daemon.names(scene.session).await.len(), records);
}

#[tokio::test]
async fn a_turn_that_was_not_captured_says_why_it_cannot_be_undone() {
    let scene = UndoFixture::new().await;
    let hand = scene.hand();
    scene.agent.push(move |turn| async move {
        let reason = "there are too many files".to_owned();
        turn.report(TurnReport::CheckpointFailed { moment: Moment::Before, reason }).await?;
        hand.write("a", "x");
        say(&turn, "done").await?;
        done()
    });
    let first = scene.daemon.say(scene.session, "go").await;
    scene.over(first).await;
    assert_eq!(code(scene.undo(first, false).await), "not_captured");
    scene.turn("b", "x").await;
    let undone = scene.undo(first, false).await.unwrap();
    assert_eq!(undone.deleted, ["b"]);
    assert!(undone.note.contains("there are too many files"), "{}", undone.note);
}

#[tokio::test]
async fn nothing_is_undone_while_another_session_changes_the_workspace() {
    let scene = UndoFixture::new().await;
    let turn = scene.turn("a", "x").await;
    let other = scene.store.lease_for_change(scene.workspace.path()).await;
    let (engine, session) = (scene.daemon.engine.clone(), scene.session);
    let ask = UndoRequest { turn_id: turn, preview: false, force: false };
    let undo = tokio::spawn(async move { engine.undo(session, ask, "test".to_owned()).await });
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    assert_eq!(scene.read("a"), "x");
    drop(other);
    assert_eq!(undo.await.unwrap().unwrap().deleted, ["a"]);
}
