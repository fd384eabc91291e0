//! A server of tools that the owner configured, through a real daemon: its tools are listed, ask like any
//! program, and run in the sandbox.

use ostler_types::Policy;
use serde_json::{Value, json};

use crate::scripted::{ScriptedDaemon, call, policy_without_approvals};
use crate::tool_server;

/// The tool of a server, which tries to get out.
const TOOL: &str = r#"
NAME = "probe"
def tool(arguments):
    told = {"greeting": os.environ.get("GREETING"), "canary": os.environ.get("CANARY_KEY"), "words": arguments}
    return json.dumps(told | {place: write(place) for place in arguments["places"]})
"#;

async fn stage() -> ScriptedDaemon {
    let server = tool_server::script(&[tool_server::WRITE, TOOL].concat());
    let config = format!(
        "[mcp.x]\ncommand = [\"/usr/bin/python3\", \"-c\", '''{server}''']\nenv = {{ GREETING = \"hello\" }}\n\
         [mcp.broken]\ncommand = [\"/nonexistent/server\"]\n"
    );
    ScriptedDaemon::with(&config, &[("CANARY_KEY", "canary-7d1f")]).await
}

#[tokio::test]
async fn its_tools_are_listed_ask_and_run_confined() {
    let stage = stage().await;
    let path = format!("/v1/tools?workspace_path={}", stage.work.to_str().unwrap());
    let (status, listed) = stage.request("GET", &path, &Value::Null).await;
    assert_eq!(status, 200, "{listed}");
    let tool = listed["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == "mcp__x__probe");
    assert_eq!(tool.expect("it is listed")["kind"], "exec", "{listed}");
    let (_, without) = stage.request("GET", "/v1/tools", &Value::Null).await;
    assert!(!without["tools"].to_string().contains("mcp__"), "tools of servers belong to a workspace");

    let id = stage.session(Policy::default()).await;
    let inside = stage.work.join("inside.txt");
    let outside = stage.outside.join("outside.txt");
    let (inside, outside) = (inside.to_str().unwrap(), outside.to_str().unwrap());
    let step = call("mcp__x__probe", json!({"places": [inside, outside]}));
    let mut turn = stage.start(id, std::slice::from_ref(&step)).await;
    let asked = turn.until("approval_requested").await;
    assert!(stage.offered().contains(&"mcp__x__probe".to_owned()));
    assert_eq!(asked["data"]["kind"], "exec");
    assert!(!std::path::Path::new(inside).exists(), "nothing happens before the answer");
    assert_eq!(stage.answer(&asked, json!({"action": "approve"})).await.0, 200);
    turn.finish().await;
    let result = turn.result();
    assert!(result.ok, "{}", result.text);
    let told = &result.text;
    let told: Value =
        serde_json::from_str(&told[told.find('{').unwrap()..=told.rfind('}').unwrap()]).unwrap();
    assert_eq!(told[inside], "written", "{told}");
    assert_ne!(told[outside], "written", "{told}");
    assert_eq!(told["greeting"], "hello", "{told}");
    assert_eq!(told["canary"], Value::Null, "{told}");
    assert!(!std::path::Path::new(outside).exists());
}

#[tokio::test]
async fn a_server_that_does_not_start_is_named_and_stops_nothing() {
    let stage = stage().await;
    let id = stage.session(policy_without_approvals()).await;
    let turn = stage.play(id, &[call("mcp__broken__any", json!({}))]).await;
    assert_eq!(turn.records.last().unwrap()["type"], "turn_completed");
    let path = format!("/v1/tools?workspace_path={}", stage.work.to_str().unwrap());
    let (_, listed) = stage.request("GET", &path, &Value::Null).await;
    let servers = listed["servers"].as_array().unwrap();
    let broken = servers.iter().find(|server| server.to_string().contains("broken")).expect("it is named");
    assert!(broken.to_string().contains("/nonexistent/server"), "and why it does not run: {broken}");
}
