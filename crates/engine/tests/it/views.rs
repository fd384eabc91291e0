//! Views: what can be deleted and comes back, and pages that agree with the whole.

use ostler_index::{ListFilter, SessionListing};
use ostler_testing::agent::{ScriptedAgent, done, say};
use ostler_types::{Command, Message, Part, Role, SubmitMessage, TurnReport};

use crate::fixture::{EngineFixture, TestEngine, eventually};

async fn lists(daemon: &TestEngine) -> Vec<SessionListing> {
    let search = |q: &str| ListFilter { q: Some(q.to_owned()), ..ListFilter::default() };
    let mut lists = Vec::new();
    for filter in [ListFilter::default(), search("needle"), search("answer")] {
        lists.push(daemon.engine.list(filter).await.unwrap());
    }
    lists
}

#[test]
fn an_index_that_was_deleted_is_made_again() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let before = place.until_stop(&agent, async |daemon| {
        for number in 0..6 {
            agent.push_text(&format!("answer {number}"));
            let id = daemon.create().await;
            daemon.say(id, if number == 3 { "a needle" } else { "hay" }).await;
            daemon.recorded(id, "turn_completed", 1).await;
        }
        // The index hears of a record after its subscribers have.
        eventually("the index knows that the turns are over", async || {
            let listing = daemon.engine.list(ListFilter::default()).await.unwrap();
            listing.sessions.iter().all(|listed| listed.running_turn_id.is_none())
        })
        .await;
        lists(daemon).await
    });
    assert_eq!((before[0].sessions.len(), before[1].sessions.len(), before[2].sessions.len()), (6, 1, 6));
    for file in ["index.db", "index.db-wal", "index.db-shm"] {
        let _ = std::fs::remove_file(place.data().join(file));
    }
    let sessions = std::fs::read_dir(place.data().join("sessions")).unwrap();
    for folder in sessions {
        for view in ["session.json", "snapshot.json"] {
            let _ = std::fs::remove_file(folder.as_ref().unwrap().path().join(view));
        }
    }
    let after = place.until_stop(&agent, async |daemon| lists(daemon).await);
    assert_eq!(after, before);
    let id = before[0].sessions[0].session.id;
    assert!(place.data().join("sessions").join(id.to_string()).join("session.json").exists());
}

#[tokio::test]
async fn what_a_model_is_told_of_the_workspace_is_found_by_nobody_who_searches() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    agent.push(|turn| async move {
        let parts = vec![Part::text("a tree, a map, and a needle in it")];
        let (id, created_at) = (turn.message_id(), turn.clock.now());
        turn.report(TurnReport::NoteAdded { message: Message { id, role: Role::System, parts, created_at } })
            .await?;
        say(&turn, "the answer").await?;
        done()
    });
    let id = daemon.create().await;
    daemon.say(id, "hay").await;
    daemon.recorded(id, "turn_completed", 1).await;
    let found: Vec<usize> = lists(&daemon).await.iter().map(|list| list.sessions.len()).collect();
    assert_eq!(found, [1, 0, 1], "it is there, and no needle, and the answer");
}

#[tokio::test]
async fn pages_backwards_are_the_conversation_forwards() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    let id = daemon.create().await;
    for number in 0..300 {
        let mut command = daemon.message(&format!("message {number}"), Default::default());
        let Command::Submit(SubmitMessage { auto_run, .. }) = &mut command else { unreachable!() };
        *auto_run = Some(false);
        daemon.engine.submit(id, command).await.unwrap();
        if number % 50 == 49 {
            agent.push_text(&format!("answer {number}"));
            let turn_id = ostler_types::TurnId::new(daemon.engine.clock().uuid());
            daemon.engine.submit(id, Command::Run { turn_id }).await.unwrap();
            daemon.recorded(id, "turn_completed", number / 50 + 1).await;
        }
    }
    let forwards: Vec<Message> =
        daemon.records(id).await.iter().filter_map(|record| record.event.message(record.ts)).collect();
    assert_eq!(forwards.len(), 306);
    for limit in [1, 7, 100, 305, 306, 1000] {
        let (mut backwards, mut before, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = daemon.engine.messages(id, before, limit).await.unwrap();
            assert!(page.messages.len() <= limit);
            backwards.splice(0..0, page.messages);
            pages += 1;
            before = page.before;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(backwards, forwards, "limit {limit}");
        assert_eq!(pages, forwards.len().div_ceil(limit));
    }
}
