//! The readable files beside a log: written, caught up after a crash, made again, and removed with the session.

use ostler_engine::EngineError;
use ostler_testing::agent::ScriptedAgent;
use ostler_types::{Command, NewRecord, NewSession, SessionId};

use crate::fixture::{EngineFixture, TestEngine, eventually};

async fn one_turn(daemon: &TestEngine, new: NewSession) -> SessionId {
    let id = daemon.engine.create(new).await.unwrap().id;
    daemon.agent.push_text("an answer");
    daemon.say(id, "a question").await;
    daemon.recorded(id, "turn_completed", 1).await;
    id
}

#[tokio::test]
async fn what_was_said_can_be_read_in_the_folder_and_comes_back_when_it_is_deleted() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let id = one_turn(&daemon, daemon.new_session()).await;
    daemon.engine.flush_views(id).await.unwrap();
    let folder = daemon.session_dir(id);
    let context = std::fs::read_to_string(folder.join("context.md")).unwrap();
    assert!(context.contains("a question") && context.contains("an answer"), "{context}");
    assert!(folder.join("session.db").is_file() && folder.join("transcript.jsonl").is_file());
    std::fs::write(folder.join("context.md"), "nonsense").unwrap();
    daemon.engine.rebuild_views().await.unwrap();
    assert_eq!(std::fs::read_to_string(folder.join("context.md")).unwrap(), context);
    assert!(matches!(
        daemon.engine.flush_views(SessionId::new(daemon.engine.clock().uuid())).await,
        Ok(()) | Err(EngineError::Log(_) | EngineError::NotFound)
    ));
}

#[test]
fn they_are_caught_up_at_the_next_start() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let id = place.until_crash(&agent, async |daemon| one_turn(daemon, daemon.new_session()).await);
    let context = place.data().join(format!("sessions/{id}/context.md"));
    _ = std::fs::remove_file(&context);
    place.until_stop(&agent, async |_| {
        eventually("it is written", async || {
            std::fs::read_to_string(&context).is_ok_and(|text| text.contains("an answer"))
        })
        .await;
    });
}

#[tokio::test]
async fn those_in_a_folder_of_their_own_go_with_the_session() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let root = tempfile::tempdir().unwrap();
    let mut new = daemon.new_session();
    new.log_root = Some(root.path().display().to_string());
    let id = one_turn(&daemon, new).await;
    daemon.engine.flush_views(id).await.unwrap();
    let [folder] = std::fs::read_dir(root.path()).unwrap().collect::<Vec<_>>().try_into().unwrap();
    assert!(folder.unwrap().path().join("context.md").is_file());
    daemon.engine.purge(id).await.unwrap();
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 0);
}

#[tokio::test]
async fn a_name_belongs_to_one_open_session() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let named = || NewSession { name: Some("bob".to_owned()), ..daemon.new_session() };
    let (one, other) = tokio::join!(daemon.engine.create(named()), daemon.engine.create(named()));
    let (made, refused) = if one.is_ok() { (one, other) } else { (other, one) };
    let id = made.unwrap().id;
    assert!(matches!(refused, Err(EngineError::Refused(refusal)) if refusal.code == "name_taken"));
    assert_eq!(daemon.engine.by_name("bob").await.unwrap(), Some(id));
    assert_eq!(daemon.engine.by_name("eve").await.unwrap(), None);
    daemon.engine.submit(id, Command::Close { by: "test".to_owned() }).await.unwrap();
    assert_eq!(daemon.engine.by_name("bob").await.unwrap(), None);
    daemon.engine.create(named()).await.unwrap();
}

#[tokio::test]
async fn imported_records_become_a_session_in_which_nothing_runs() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let id = one_turn(&daemon, daemon.new_session()).await;
    agent.push(|turn| async move {
        turn.canceled.cancelled().await;
        ostler_testing::agent::done()
    });
    daemon.say(id, "still running").await;
    daemon.say(id, "still waiting").await;
    let new = |record: ostler_types::Record| NewRecord {
        ts: record.ts,
        turn_id: record.turn_id,
        event: record.event,
    };
    let records: Vec<NewRecord> = daemon.records(id).await.into_iter().map(new).collect();
    let there = daemon.engine.import(records.clone()).await;
    assert!(matches!(there, Err(EngineError::Refused(refusal)) if refusal.code == "session_exists"));
    let bad = daemon.engine.import(records[1..].to_vec()).await;
    assert!(matches!(bad, Err(EngineError::Refused(refusal)) if refusal.code == "bad_import"));
    daemon.engine.purge(id).await.unwrap();
    let session = daemon.engine.import(records).await.unwrap();
    assert_eq!(session.id, id);
    let view = daemon.engine.view(id).await.unwrap();
    assert_eq!((view.running_turn_id, view.queue.len(), view.turns.len()), (None, 0, 2));
    assert_eq!(daemon.engine.list(Default::default()).await.unwrap().sessions.len(), 1);
    let lines = daemon.engine.read_records(id, 2, 1).await.unwrap();
    assert_eq!(lines.iter().map(|line| line.seq).collect::<Vec<_>>(), [2]);
    daemon.agent.push_text("goes on");
    daemon.say(id, "go on").await;
    daemon.recorded(id, "turn_completed", 2).await;
}
