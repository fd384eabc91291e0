//! When servers start and stop, and how many of them there are.

use std::time::Duration;

use futures_util::future::join_all;
use ostler_mcp::{McpLimits, McpServers, ServerConfig, ServerState};
use serde_json::json;

use crate::fixture::{McpFixture, is_alive, misbehaving, names, test_limits, unconfined, until, within};

#[tokio::test]
async fn nothing_starts_before_it_is_needed() {
    let fixture = McpFixture::misbehaving(&[]);
    let status = fixture.status();
    assert_eq!((status.state, status.workspace), (ServerState::Stopped, None));
    assert_eq!(fixture.starts(), 0);
}

#[tokio::test]
async fn sessions_of_a_workspace_share_a_server() {
    let fixture = McpFixture::misbehaving(&[]);
    let sessions = join_all((0..8).map(|_| fixture.call("pid", json!({}))));
    let answers = within(sessions).await;
    assert!(answers.iter().all(|answer| answer.ok && answer.text == answers[0].text), "{answers:?}");
    assert_eq!(fixture.starts(), 1);
    // The same place by another name is the same workspace.
    let link = fixture.directory.path().join("link");
    std::os::unix::fs::symlink(fixture.workspace(), &link).expect("a link");
    fixture.servers.for_workspace(&link).await;
    assert_eq!(fixture.starts(), 1);
}

#[tokio::test]
async fn an_unused_server_is_stopped_and_comes_back() {
    let limits = McpLimits { idle: Duration::from_millis(200), ..test_limits() };
    let fixture = McpFixture::misbehaving_within(&[], limits);
    let tool = fixture.tool("pid").await;
    let (first, _) = fixture.run(&tool, json!({})).await;
    fixture.wait_for_state(ServerState::Stopped).await;
    assert!(!is_alive(&first.text));
    fixture.wait_for_note("input-closed").await;
    let starts = fixture.starts();
    // A tool that was given out before works as ever.
    let (second, _) = fixture.run(&tool, json!({})).await;
    assert!(second.ok && second.text != first.text, "{second:?}");
    assert_eq!(fixture.starts(), starts + 1);
}

#[tokio::test]
async fn a_server_is_not_stopped_while_it_is_called() {
    let limits = McpLimits { idle: Duration::from_millis(50), ..test_limits() };
    let fixture = McpFixture::misbehaving_within(&[], limits);
    let wait = fixture.tool("wait").await;
    let ((outcome, _), ()) = tokio::join!(fixture.run(&wait, json!({})), async {
        fixture.wait_for_note("called").await;
        // Far longer than it may be idle.
        tokio::time::sleep(Duration::from_millis(500)).await;
        fixture.note("go-on");
    });
    assert!(outcome.ok && outcome.text == "went on", "{outcome:?}");
    fixture.wait_for_state(ServerState::Stopped).await;
}

#[tokio::test]
async fn there_are_no_more_processes_than_allowed() {
    let directory = tempfile::tempdir().expect("a directory");
    let limits = McpLimits { processes: 1, evict_after: Duration::ZERO, ..test_limits() };
    let configs = vec![misbehaving(directory.path(), &[])];
    let servers = McpServers::new(configs, unconfined(), limits);
    let workspaces = ["one", "two"].map(|name| directory.path().join(name));
    workspaces.iter().for_each(|workspace| std::fs::create_dir(workspace).expect("a workspace"));
    assert!(!servers.for_workspace(&workspaces[0]).await.is_empty());
    // The first one has not been used since, so that it makes room.
    assert!(!servers.for_workspace(&workspaces[1]).await.is_empty());
    let states: Vec<_> = servers.status().into_iter().map(|status| status.state).collect();
    assert!(!states.contains(&ServerState::Restarting), "{states:?}");
    assert_eq!(states.iter().filter(|state| **state == ServerState::Ready).count(), 1);
    servers.shut_down().await;
}

#[tokio::test]
async fn where_nobody_makes_room_the_limit_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let limits = McpLimits { processes: 1, evict_after: Duration::from_secs(3600), ..test_limits() };
    let mut second = misbehaving(directory.path(), &[]);
    second.name = "second".to_owned();
    let servers = McpServers::new(vec![misbehaving(directory.path(), &[]), second], unconfined(), limits);
    let tools = servers.for_workspace(directory.path()).await;
    until(|| {
        servers.status()[1].state == ServerState::Unavailable
            || servers.status()[0].state == ServerState::Unavailable
    })
    .await;
    let status = servers.status();
    let (works, does_not) = if status[0].state == ServerState::Unavailable {
        (&status[1], &status[0])
    } else {
        (&status[0], &status[1])
    };
    assert_eq!(works.state, ServerState::Ready);
    assert!(
        does_not.error.as_deref().expect("it says why").contains("1 MCP servers run already"),
        "{does_not:?}"
    );
    assert_eq!(names(&tools), works.tools);
    servers.shut_down().await;
}

#[tokio::test]
async fn a_workspace_can_have_servers_of_its_own_and_lose_them() {
    let fixture = McpFixture::misbehaving(&[]);
    let workspace = fixture.workspace();
    let elsewhere = fixture.directory.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("another workspace");
    // It is called like the one that is there for all, and takes none of its names.
    let own = misbehaving(&elsewhere, &[]);
    fixture.servers.set_workspace_servers(&workspace, vec![own.clone()]).await;
    let tools = within(fixture.servers.for_workspace(&workspace)).await;
    let listed = names(&tools);
    assert!(listed.iter().any(|name| name == "mcp__server__pid"), "{listed:?}");
    let tool = tools.iter().find(|tool| tool.spec().name == "mcp__server-2__pid").expect("its own is there");
    let (first, _) = fixture.run(tool, json!({})).await;
    assert!(first.ok && is_alive(&first.text), "{first:?}");
    let others = names(&within(fixture.servers.for_workspace(&elsewhere)).await);
    assert!(!others.iter().any(|name| name.contains("server-2")), "{others:?}");

    fixture.servers.set_workspace_servers(&workspace, vec![own.clone()]).await;
    assert!(is_alive(&first.text), "what stays is not started again");
    let other = ServerConfig { disabled_tools: vec!["wait".to_owned()], ..own };
    fixture.servers.set_workspace_servers(&workspace, vec![other]).await;
    assert!(!is_alive(&first.text), "what was changed is another server");
    let (refused, _) = fixture.run(tool, json!({})).await;
    assert!(!refused.ok && refused.text.contains("has been stopped"), "{refused:?}");

    let tools = within(fixture.servers.for_workspace(&workspace)).await;
    let tool = tools.iter().find(|tool| tool.spec().name == "mcp__server-2__pid").expect("the new one");
    let (second, _) = fixture.run(tool, json!({})).await;
    assert!(is_alive(&second.text));
    fixture.servers.set_workspace_servers(&workspace, Vec::new()).await;
    assert!(!is_alive(&second.text));
    assert!(!names(&within(fixture.servers.for_workspace(&workspace)).await).concat().contains("server-2"));
    let (refused, _) = fixture.run(tool, json!({})).await;
    assert!(!refused.ok && !is_alive(&second.text), "a tool that was given out starts nothing: {refused:?}");
    fixture.servers.shut_down().await;
}

#[tokio::test]
async fn dropping_everything_ends_the_processes() {
    let fixture = McpFixture::misbehaving(&[]);
    let server = fixture.call("pid", json!({})).await.text;
    let offspring = fixture.call("offspring", json!({})).await.text;
    let McpFixture { directory, servers } = fixture;
    drop(servers);
    until(|| !is_alive(&server) && !is_alive(&offspring)).await;
    drop(directory);
}
