//! Making, asking, listing, sleeping and removing sessions.

use std::time::Duration;

use ostler_engine::EngineError;
use ostler_index::ListFilter;
use ostler_testing::agent::{ScriptedAgent, done, say};
use ostler_types::{Accepted, Command, SessionChange, SessionStatus, State, SubmitMessage, TurnStatus};

use crate::checking_subscriber::CheckingSubscriber;
use crate::fixture::{EngineFixture, eventually, refusal_code};

#[tokio::test]
async fn a_message_is_answered_and_everybody_can_see_it() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push_text("hello yourself");
    let id = daemon.create().await;
    let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    let turn_id = daemon.say(id, "hello there").await;
    reader.until("turn_completed", 1).await;
    let expected = [
        "session_created",
        "message_added",
        "turn_started",
        "model_output_completed",
        "usage_recorded",
        "turn_completed",
    ];
    assert_eq!(reader.names(), expected);

    let view = daemon.engine.view(id).await.unwrap();
    assert_eq!((view.session.status, view.running_turn_id, view.last_seq), (SessionStatus::Active, None, 6));
    assert_eq!(view.session.title.as_deref(), Some("hello there"));
    assert_eq!((view.turns[0].id, view.turns[0].status), (turn_id, TurnStatus::Completed));
    assert_eq!(view.session.usage.output_tokens, 5);
    let messages = daemon.engine.messages(id, None, 10).await.unwrap();
    let texts: Vec<String> = messages.messages.iter().map(|message| message.text()).collect();
    assert_eq!((texts, messages.before), (vec!["hello there".to_owned(), "hello yourself".to_owned()], None));

    let listed = daemon.engine.list(ListFilter::default()).await.unwrap();
    assert_eq!(listed.sessions.len(), 1);
    assert_eq!((&listed.sessions[0].session, listed.sessions[0].last_seq), (&view.session, 6));
    let found = daemon
        .engine
        .list(ListFilter { q: Some("yourself".to_owned()), ..ListFilter::default() })
        .await
        .unwrap();
    assert_eq!(found.sessions.len(), 1);
    daemon.engine.flush_views(id).await.unwrap();
    let file = std::fs::read_to_string(daemon.session_dir(id).join("session.json")).unwrap();
    assert!(file.contains("hello there"));
}

#[tokio::test]
async fn an_unknown_session_or_agent_is_said_so_and_leaves_nothing() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let unknown = daemon.new_session().id;
    assert!(matches!(daemon.engine.view(unknown).await, Err(EngineError::NotFound)));
    assert!(matches!(daemon.cancel(unknown).await, Err(EngineError::NotFound)));
    assert!(matches!(daemon.engine.subscribe(unknown, 0).await, Err(EngineError::NotFound)));
    assert!(matches!(daemon.engine.messages(unknown, None, 10).await, Err(EngineError::NotFound)));
    assert!(matches!(daemon.engine.purge(unknown).await, Err(EngineError::NotFound)));

    let mut new = daemon.new_session();
    new.agent = "nobody".to_owned();
    let Err(EngineError::Refused(refusal)) = daemon.engine.create(new).await else { panic!("it was made") };
    assert_eq!(refusal.code, "unknown_agent");
    assert!(refusal.message.contains("native"), "{}", refusal.message);
    assert_eq!(daemon.engine.list(ListFilter::default()).await.unwrap().sessions, []);
    eventually("nobody is left awake", async || daemon.engine.awake_count() == 0).await;
}

#[tokio::test]
async fn one_key_makes_one_session_however_often_it_is_asked() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let with_key = |daemon: &crate::fixture::TestEngine| {
        let mut new = daemon.new_session();
        new.idempotency_key = Some("the key".to_owned());
        new
    };
    let tries = (0..16).map(|_| daemon.engine.create(with_key(&daemon)));
    let made = futures_util::future::join_all(tries).await;
    let ids: Vec<_> = made.into_iter().map(|session| session.unwrap().id).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(agent.prepared(), ids[..1], "the agent was told of the one session that was created");
    daemon.engine.stop().await;
    drop(daemon);

    let daemon = place.open(&agent).await;
    assert_eq!(daemon.engine.create(with_key(&daemon)).await.unwrap().id, ids[0]);
    assert_eq!(daemon.engine.list(ListFilter::default()).await.unwrap().sessions.len(), 1);
}

#[test]
fn one_key_makes_one_session_also_over_a_crash() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let make = || {
        place.until_crash(&agent, async |daemon| {
            let mut new = daemon.new_session();
            new.idempotency_key = Some("the key".to_owned());
            daemon.engine.create(new).await.unwrap().id
        })
    };
    let first = make();
    assert_eq!(make(), first);
    std::fs::remove_file(place.data().join("index.db")).unwrap();
    assert_eq!(make(), first);
}

#[tokio::test]
async fn one_key_adds_one_message() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push_text("once");
    let id = daemon.create().await;
    let send = || {
        let mut command = daemon.message("hello", ostler_types::Delivery::Queue);
        let Command::Submit(SubmitMessage { idempotency_key, .. }) = &mut command else { unreachable!() };
        *idempotency_key = Some("k".to_owned());
        daemon.engine.submit(id, command)
    };
    let (one, two) = tokio::join!(send(), send());
    assert_eq!(one.unwrap(), two.unwrap());
    daemon.recorded(id, "turn_completed", 1).await;
    assert!(matches!(send().await.unwrap(), Accepted::Message { turn_id: Some(_), .. }));
    assert_eq!(daemon.names(id).await.iter().filter(|name| **name == "message_added").count(), 1);
}

#[tokio::test]
async fn a_session_sleeps_and_wakes_as_it_was() {
    let agent = ScriptedAgent::new();
    let place = EngineFixture { idle_after: Duration::from_millis(5), ..EngineFixture::new() };
    let daemon = place.open(&agent).await;
    agent.push_text("first answer");
    let id = daemon.create().await;
    daemon.say(id, "first").await;
    daemon.recorded(id, "turn_completed", 1).await;
    let before = daemon.engine.view(id).await.unwrap();
    eventually("it sleeps", async || daemon.engine.awake_count() == 0).await;

    let records = daemon.records(id).await;
    let woken = daemon.engine.view(id).await.unwrap();
    assert_eq!(woken, State::fold(&records).unwrap().view());
    assert_eq!(woken, before);
    assert_eq!(daemon.engine.awake_count(), 1);

    let (history, seen) = tokio::sync::oneshot::channel();
    agent.push(|turn| async move {
        let texts: Vec<String> = turn.history.iter().map(|message| message.text()).collect();
        history.send(texts).unwrap();
        say(&turn, "second answer").await?;
        done()
    });
    daemon.say(id, "second").await;
    assert_eq!(seen.await.unwrap(), ["first", "first answer", "second"]);
}

#[tokio::test]
async fn somebody_who_looks_on_keeps_it_awake() {
    let agent = ScriptedAgent::new();
    let place = EngineFixture { idle_after: Duration::from_millis(5), ..EngineFixture::new() };
    let daemon = place.open(&agent).await;
    let (watched, other) = (daemon.create().await, daemon.create().await);
    let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(watched, 0).await.unwrap());
    eventually("the other one sleeps", async || daemon.engine.awake_count() == 1).await;
    daemon.engine.view(other).await.unwrap();
    agent.push_text("still here");
    daemon.say(watched, "hello").await;
    reader.until("turn_completed", 1).await;
}

#[tokio::test]
async fn settings_change_and_a_closed_session_takes_no_more() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let id = daemon.create().await;
    let change =
        SessionChange { title: Some("a name".to_owned()), archived: Some(true), ..SessionChange::default() };
    daemon.engine.submit(id, Command::Update(change.clone())).await.unwrap();
    assert_eq!(daemon.engine.submit(id, Command::Update(change)).await.unwrap(), Accepted::Unchanged);
    let listed =
        daemon.engine.list(ListFilter { archived: Some(true), ..ListFilter::default() }).await.unwrap();
    assert_eq!(listed.sessions[0].session.title.as_deref(), Some("a name"));
    daemon.engine.submit(id, Command::Close { by: "test".to_owned() }).await.unwrap();
    assert_eq!(
        refusal_code(daemon.engine.submit(id, daemon.message("x", Default::default())).await),
        "session_closed"
    );
    assert_eq!(daemon.names(id).await, ["session_created", "session_updated", "session_completed"]);
}

#[tokio::test]
async fn a_purged_session_is_gone_everywhere() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|turn| async move {
        turn.canceled.cancelled().await;
        done()
    });
    let (id, kept) = (daemon.create().await, daemon.create().await);
    daemon.say(id, "a word to find").await;
    agent.started(1).await;
    let mut reader = CheckingSubscriber::new(daemon.engine.subscribe(id, 0).await.unwrap());
    reader.until("turn_started", 1).await;
    daemon.engine.purge(id).await.unwrap();
    assert_eq!(agent.ended_turns().len(), 1);
    while reader.step().await {}
    assert_eq!((reader.count("turn_canceled"), reader.count("session_completed")), (1, 1));
    assert!(matches!(daemon.engine.view(id).await, Err(EngineError::NotFound)));
    assert!(!daemon.session_dir(id).exists());
    let listed = daemon.engine.list(ListFilter::default()).await.unwrap();
    assert_eq!(listed.sessions.iter().map(|listed| listed.session.id).collect::<Vec<_>>(), [kept]);
    let found =
        daemon.engine.list(ListFilter { q: Some("find".to_owned()), ..ListFilter::default() }).await.unwrap();
    assert_eq!(found.sessions, []);
    daemon.engine.view(kept).await.unwrap();
}
