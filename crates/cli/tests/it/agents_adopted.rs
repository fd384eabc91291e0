//! Sessions that were begun outside: an agent lists them when it is asked, and they are taken over once.

use ostler_api_types::CreateSession;
use serde_json::json;

use crate::agents::{ask, fault};
use crate::scripted::ScriptedDaemon;

#[tokio::test]
async fn a_session_that_an_agent_keeps_is_taken_over_once_with_what_was_said() {
    let notes = tempfile::tempdir().unwrap();
    std::fs::write(notes.path().join("kept-1"), "").unwrap();
    let stage = ScriptedDaemon::new(&fault(notes.path(), &["lists"])).await;
    let work = stage.work.display().to_string();
    let (_, none) = stage.request("GET", "/v1/sessions", &json!(null)).await;
    assert_eq!(none["sessions"], json!([]), "nothing appears unasked");
    let kept = stage.client.agent_sessions("fault", &work).await.unwrap();
    assert_eq!((kept[0].agent_session_id.as_str(), kept[0].session_id), ("kept-1", None));

    let adopt = CreateSession {
        workspace_path: work.clone(),
        agent: Some("fault".to_owned()),
        adopt: Some("kept-1".to_owned()),
        ..CreateSession::default()
    };
    let id = stage.client.create_session(&adopt).await.unwrap();
    let page = stage.client.messages(id, None, None).await.unwrap();
    let said: Vec<String> = page.messages.iter().map(|message| message.text()).collect();
    assert_eq!(said[..2], ["replayed question", "replayed answer"]);
    let view = stage.client.session(id).await.unwrap();
    assert_eq!(view.session.agent_session_id.as_deref(), Some("kept-1"));
    assert_eq!(view.session.title.as_deref(), Some("replayed question"));

    assert_eq!(stage.client.create_session(&adopt).await.unwrap(), id, "it is taken over once");
    let kept = stage.client.agent_sessions("fault", &work).await.unwrap();
    assert_eq!(kept[0].session_id, Some(id));
    let (_, end) = ask(&stage, id, "say:on").await;
    assert_eq!(end["type"], "turn_completed", "{end}");
    let log = std::fs::read_to_string(stage.data.join(format!("sessions/{id}/events.ndjson"))).unwrap();
    assert_eq!(log.matches("replayed question").count(), 1, "and recorded once");
    let heard = std::fs::read_to_string(notes.path().join("notes")).unwrap();
    assert_eq!(heard.lines().filter(|line| line.starts_with("session/load")).count(), 1, "{heard}");

    let (status, refused) = stage
        .request("POST", "/v1/sessions", &json!({"workspace_path": work, "agent": "fault", "adopt": "gone"}))
        .await;
    assert_eq!(status, 409, "{refused}");
    let native = json!({"workspace_path": work, "adopt": "kept-1"});
    assert_eq!(stage.request("POST", "/v1/sessions", &native).await.0, 422);
    let unknown = format!("/v1/agents/nobody/sessions?workspace_path={work}");
    assert_eq!(stage.request("GET", &unknown, &json!(null)).await.0, 404);
}
