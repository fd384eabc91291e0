//! Updates, and what an agent says of itself.

use agent_client_protocol::v1::schema::{SessionConfigOption, SessionModeState};
use ostler_acp::{
    AcpContentPiece, AcpUpdate, AgentStateChange, OfferedSettings, SettingRequest, apply_update, from_update,
    to_commands, to_config_options, to_plan,
};
use ostler_types::AgentState;
use serde_json::{Value, json};

fn update(update: Value) -> AcpUpdate {
    let (session, update) = from_update(json!({"sessionId": "s", "update": update})).unwrap();
    assert_eq!(session, "s");
    update
}

#[test]
fn what_is_not_known_is_kept_as_it_came() {
    let table = [
        json!({"sessionUpdate": "from_the_future", "x": [1, {"y": 2}]}),
        json!({"sessionUpdate": "tool_call_update"}),
        json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "hologram"}}),
        json!({"no": "kind"}),
        json!(7),
        Value::Null,
    ];
    for raw in table {
        let AcpUpdate::Unknown { raw: kept, .. } = update(raw.clone()) else { panic!("{raw}") };
        assert_eq!(kept, raw);
    }
    for params in [json!({}), json!({"sessionId": 1, "update": {}}), json!([]), Value::Null] {
        assert_eq!(from_update(params), None);
    }
}

#[test]
fn words_are_words() {
    let chunk = |kind: &str| {
        update(json!({
            "sessionUpdate": kind, "content": {"type": "text", "text": "hi"}, "messageId": "m", "_meta": {"x": 1}
        }))
    };
    let (piece, message) = (AcpContentPiece::Text("hi".to_owned()), Some("m".to_owned()));
    assert_eq!(chunk("agent_message_chunk"), AcpUpdate::Text { piece, message: message.clone() });
    assert_eq!(chunk("agent_thought_chunk"), AcpUpdate::Thought { text: "hi".to_owned(), message });
    assert!(matches!(chunk("user_message_chunk"), AcpUpdate::Echo { .. }));
}

#[test]
fn a_state_is_put_together_from_updates() {
    let (mut state, mut offered) = (AgentState::default(), OfferedSettings::default());
    let mut heard = |told: Value| apply_update(&mut state, &mut offered, &update(told));
    let plan = json!({"sessionUpdate": "plan", "entries": [
        {"content": "a", "priority": "high", "status": "in_progress"},
        {"content": "b", "priority": "nonsense", "status": "pending"},
    ]});
    assert_eq!(heard(plan.clone()), AgentStateChange::Description);
    assert_eq!(heard(plan), AgentStateChange::Nothing, "the same again is nothing new");
    let commands = json!([{"name": "init", "description": "Begins", "input": {"hint": "where"}}]);
    let commands = json!({"sessionUpdate": "available_commands_update", "availableCommands": commands});
    assert_eq!(heard(commands), AgentStateChange::Description);
    let usage = json!({"sessionUpdate": "usage_update", "used": 5, "size": 9});
    assert_eq!(heard(usage), AgentStateChange::TokenCounts);
    assert_eq!(heard(json!({"sessionUpdate": "from_the_future"})), AgentStateChange::Nothing);
    assert_eq!(
        (state.plan.len(), state.plan[0].status.as_str()),
        (1, "in_progress"),
        "a bad entry is skipped"
    );
    assert_eq!((state.commands[0].hint.as_deref(), state.context_window), (Some("where"), Some(9)));
    assert_eq!(to_plan(&state.plan).entries.len(), 1);
    assert_eq!(to_commands(&state.commands).available_commands[0].name, "init");
}

fn modes() -> SessionModeState {
    serde_json::from_value(json!({
        "currentModeId": "ask", "availableModes": [{"id": "ask", "name": "Ask"}, {"id": "code", "name": "Code"}]
    }))
    .unwrap()
}

fn options() -> Vec<SessionConfigOption> {
    serde_json::from_value(json!([
        {"id": "permissions", "name": "Mode", "category": "mode", "type": "select", "currentValue": "ask",
         "options": [{"value": "ask", "name": "Ask"}, {"value": "code", "name": "Code"}]},
        {"id": "model", "name": "Model", "category": "model", "type": "select", "currentValue": "m1",
         "options": [{"group": "g", "name": "G", "options": [{"value": "m1", "name": "M1"}, {"value": "m2", "name": "M2"}]}]},
        {"id": "fast", "name": "Fast", "type": "boolean", "currentValue": true},
    ]))
    .unwrap()
}

#[test]
fn modes_and_options_are_settings() {
    let mut offered = OfferedSettings::new(Some(modes()), None);
    assert_eq!(offered.settings()[0].choices.len(), 2);
    assert!(matches!(offered.request("s", "mode", "code"), Some(SettingRequest::Mode(_))));
    offered.set_mode("code");
    assert_eq!(offered.settings()[0].current.as_deref(), Some("code"));

    // An agent that has both means one thing by them.
    let both = OfferedSettings::new(Some(modes()), Some(options()));
    let names: Vec<String> = both.settings().into_iter().map(|setting| setting.id).collect();
    assert_eq!(names, ["permissions", "model", "fast"]);
    assert_eq!(both.settings()[1].choices.len(), 2, "groups are flattened");
    assert_eq!(both.settings()[2].current.as_deref(), Some("true"));
    let wire = |setting: &str, choice: &str| match both.request("s", setting, choice) {
        Some(SettingRequest::Option(request)) => serde_json::to_value(request).unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(wire("mode", "code")["configId"], "permissions");
    assert_eq!(wire("model", "m2")["value"], "m2");
    assert_eq!(
        (&wire("fast", "false")["value"], &wire("fast", "false")["type"]),
        (&json!(false), &json!("boolean"))
    );
    assert_eq!(both.request("s", "nothing", "x"), None);
    assert_eq!(to_config_options(&both.settings()).len(), 3);
}
