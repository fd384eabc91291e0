//! Servers that other people wrote, as they are published.

use std::collections::BTreeMap;
use std::path::Path;

use ostler_mcp::{ServerConfig, ServerState, Transport};
use ostler_types::ToolKind;
use serde_json::json;

use crate::fixture::{McpFixture, names, real_servers, test_limits};

fn node(program: &str) -> String {
    real_servers().join("node/node_modules/.bin").join(program).display().to_string()
}

fn python(program: &str) -> String {
    real_servers().join("python/bin").join(program).display().to_string()
}

#[tokio::test]
async fn everything_over_stdio() {
    let fixture = McpFixture::of_command(&[&node("mcp-server-everything"), "stdio"]);
    let tools = fixture.tools().await;
    assert!(tools.len() > 5, "{:?} {:?}", names(&tools), fixture.status());
    assert!(tools.iter().all(|tool| tool.kind() == ToolKind::Exec));
    let status = fixture.status();
    assert_eq!((status.state, status.protocol.as_deref()), (ServerState::Ready, Some("2025-11-25")));

    let echo = fixture.call("echo", json!({ "message": "héllo" })).await;
    assert!(echo.ok && echo.text.contains("héllo"), "{echo:?}");
    let image = fixture.call("get-tiny-image", json!({})).await;
    assert_eq!(image.attachments.len(), 1, "{}", image.text);
    assert!(image.attachments[0].0 == "image/png" && image.attachments[0].1.starts_with(b"\x89PNG"));
    let structured = fixture.call("get-structured-content", json!({ "location": "Chicago" })).await;
    let details = structured.details.expect("there are details");
    assert!(details["structured"]["temperature"].is_number(), "{details}");
    let wrong = fixture.call("get-sum", json!({ "a": "no number" })).await;
    assert!(!wrong.ok && !wrong.text.is_empty(), "{wrong:?}");
    let resource =
        fixture.call("get-resource-reference", json!({ "resourceType": "Text", "resourceId": 1 })).await;
    assert!(resource.ok && resource.text.contains("[The resource "), "{resource:?}");
}

#[tokio::test]
async fn progress_of_everything_is_shown() {
    let fixture = McpFixture::of_command(&[&node("mcp-server-everything"), "stdio"]);
    let tool = fixture.tool("trigger-long-running-operation").await;
    let (outcome, shown) = fixture.run(&tool, json!({ "duration": 1, "steps": 3 })).await;
    assert!(outcome.ok, "{outcome:?}");
    assert!(shown.contains("1 of 3") && shown.contains("2 of 3"), "{shown}");
}

#[tokio::test]
async fn everything_is_told_the_workspace_as_its_root() {
    let fixture = McpFixture::of_command(&[&node("mcp-server-everything"), "stdio"]);
    // It asks after the handshake, and offers this tool when it knows that roots can be asked for.
    let roots = fixture.call("get-roots-list", json!({})).await;
    let workspace = fixture.workspace().display().to_string();
    assert!(roots.ok && roots.text.contains(&workspace), "{roots:?}");
}

#[tokio::test]
async fn files_within_what_the_server_was_given() {
    let program = node("mcp-server-filesystem");
    let config = |directory: &Path| {
        let command = vec![program, directory.join("workspace").display().to_string()];
        ServerConfig::new("server", Transport::Stdio { command, env: BTreeMap::new() })
    };
    let fixture = McpFixture::new(config, test_limits());
    std::fs::write(fixture.workspace().join("a.txt"), "some words").expect("a file");
    let inside = fixture.workspace().join("a.txt");
    let read = fixture.call("read_text_file", json!({ "path": inside })).await;
    assert!(read.ok && read.text.contains("some words"), "{read:?}");
    let outside = fixture.call("read_text_file", json!({ "path": "/etc/hostname" })).await;
    assert!(!outside.ok && outside.text.contains("denied"), "{outside:?}");
    let summary = fixture.tool("write_file").await.summary(&json!({ "path": "x", "content": "a\u{202e}b" }));
    assert!(
        summary.contains("write_file") && summary.contains("server") && summary.contains("\\u{202e}"),
        "{summary}"
    );
}

#[tokio::test]
async fn the_state_of_a_repository() {
    let fixture = McpFixture::of_command(&[&python("mcp-server-git")]);
    let workspace = fixture.workspace();
    let made = std::process::Command::new("git").args(["init", "--quiet"]).current_dir(&workspace).status();
    assert!(made.expect("git runs").success());
    std::fs::write(workspace.join("new.txt"), "").expect("a file");
    let status = fixture.call("git_status", json!({ "repo_path": workspace })).await;
    assert!(status.ok && status.text.contains("new.txt"), "{status:?}");
    let elsewhere = fixture.call("git_status", json!({ "repo_path": "/" })).await;
    assert!(!elsewhere.ok, "{elsewhere:?}");
}

#[tokio::test]
async fn the_time_in_two_places() {
    let fixture = McpFixture::of_command(&[&python("mcp-server-time"), "--local-timezone", "UTC"]);
    let times = json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let converted = fixture.call("convert_time", times).await;
    assert!(converted.ok && converted.text.contains("T21:00"), "{converted:?}");
    assert_eq!(fixture.status().protocol.as_deref(), Some("2026-07-28"));
    let tool = fixture.tool("convert_time").await.spec();
    assert_eq!(tool.input_schema["type"], "object");
    assert!(tool.input_schema["properties"]["time"].is_object(), "{}", tool.input_schema);
}
