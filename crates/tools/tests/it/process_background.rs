//! Commands in the background: what is seen of them, what they are given, and when they end.

use ostler_runner::{ToolContext, ToolOutcome};
use ostler_tools::Tools;
use ostler_types::ToolKind;
use serde_json::{Value, json};

use crate::fixture::{ToolFixture, session, soon, until};
use crate::sandboxed::Sandboxed;

async fn call(tools: &Tools, context: &ToolContext, tool: &str, input: Value) -> ToolOutcome {
    soon(tools.get(tool).unwrap().run(input, context.clone())).await
}

async fn background(tools: &Tools, context: &ToolContext, command: &str) -> String {
    let outcome = call(tools, context, "shell", json!({"command": command, "background": true})).await;
    assert!(outcome.ok, "{}", outcome.text);
    outcome.details.unwrap()["process_id"].as_str().unwrap().to_owned()
}

async fn act(tools: &Tools, context: &ToolContext, id: &str, action: &str) -> ToolOutcome {
    call(tools, context, "shell_process", json!({"process_id": id, "action": action, "wait_seconds": 30}))
        .await
}

/// Polls until this has been printed, and gives all that was.
async fn printed(tools: &Tools, context: &ToolContext, id: &str, mut text: String, expected: &str) -> String {
    while !text.contains(expected) {
        let outcome = act(tools, context, id, "poll").await;
        assert!(!outcome.text.starts_with(&format!("[process {id} is running")), "nothing came: {text}");
        text += &outcome.text;
    }
    text
}

#[tokio::test]
async fn a_process_is_polled_written_to_and_killed() {
    let world = Sandboxed::new().await;
    let (tools, context) = (&world.tools, world.context());
    let command = "echo ready; while read -r line; do echo \"got $line\"; done; echo over";
    let outcome = call(tools, &context, "shell", json!({"command": command, "background": true})).await;
    let details = outcome.details.unwrap();
    assert_eq!((&details["process_id"], &details["running"]), (&json!("p1"), &json!(true)));
    let text = printed(tools, &context, "p1", outcome.text, "ready\n").await;
    assert!(text.ends_with("[process p1 is running]"), "{text}");
    assert!(world.shown().contains("ready\n"));
    let write = json!({"process_id": "p1", "action": "write", "input": "one\ntwo\n", "wait_seconds": 30});
    let outcome = call(tools, &context, "shell_process", write).await;
    let text = printed(tools, &context, "p1", outcome.text, "got two\n").await;
    assert!(text.starts_with("got one\n") && !text.contains("ready"), "{text}");
    let poll = json!({"process_id": "p1", "action": "poll"});
    let outcome = call(tools, &context, "shell_process", poll).await;
    assert_eq!(outcome.text, "[process p1 is running]");
    let outcome = act(tools, &context, "p1", "kill").await;
    assert!(outcome.text.starts_with("[process p1 has ended: ended on request"), "{}", outcome.text);
    assert_eq!(outcome.details.unwrap()["running"], false);
    let write = json!({"process_id": "p1", "action": "write", "input": "x"});
    let outcome = call(tools, &context, "shell_process", write).await;
    assert!(!outcome.ok && outcome.text.contains("The process has ended"), "{}", outcome.text);
}

#[tokio::test]
async fn an_early_end_and_a_later_one_are_told() {
    let world = Sandboxed::new().await;
    let (tools, context) = (&world.tools, world.context());
    let early = json!({"command": "echo no; exit 3", "background": true});
    let outcome = call(&Tools::builtin(), &context, "shell", early).await;
    assert_eq!((outcome.ok, outcome.text.as_str()), (false, "no\n[process p1 has ended: exit code 3]"));
    let id = background(tools, &context, "read -r line; echo $line; touch /etc/x").await;
    let write = json!({"process_id": id, "action": "write", "input": "go\n", "wait_seconds": 30});
    let text = call(tools, &context, "shell_process", write).await.text;
    let text = printed(tools, &context, &id, text, "has ended").await;
    assert!(text.contains("has ended: exit code 1]\n[sandbox] denied"), "{text}");
}

#[tokio::test]
async fn processes_end_with_their_session_and_no_other() {
    let world = Sandboxed::new().await;
    let mark = format!("98764.{}", std::process::id());
    let command = format!("trap '' TERM HUP; (setsid sleep {mark} &); sleep {mark}; sleep {mark}");
    let (first, mut second) = (world.context(), world.context());
    second.session = session(2);
    let id = background(&world.tools, &first, &command).await;
    let other = background(&world.tools, &second, "sleep 1000").await;
    assert!(world.running(&mark) > 0);
    let outcome = act(&world.tools, &second, &id, "kill").await;
    assert!(!outcome.ok && outcome.text.contains("No process"), "{}", outcome.text);
    soon(world.tools.end_session(session(1))).await;
    until("all are killed", || world.running(&mark) == 0).await;
    let outcome = act(&world.tools, &first, &id, "poll").await;
    assert!(outcome.text.contains("this session has none"), "{}", outcome.text);
    let poll = json!({"process_id": other, "action": "poll"});
    assert!(call(&world.tools, &second, "shell_process", poll).await.text.contains("is running"));
    soon(world.tools.stop()).await;
    let outcome = call(&world.tools, &second, "shell", json!({"command": "true", "background": true})).await;
    assert!(!outcome.ok && outcome.text.contains("shutting down"), "{}", outcome.text);
}

#[tokio::test]
async fn processes_end_with_the_tools() {
    let world = Sandboxed::new().await;
    let mark = format!("98763.{}", std::process::id());
    background(&world.tools, &world.context(), &format!("setsid sleep {mark}")).await;
    let fixture = ToolFixture::new();
    let tools = Tools::builtin();
    background(&tools, &fixture.context(), &format!("sleep {mark} & sleep {mark}")).await;
    assert!(world.running(&mark) > 1);
    drop(tools);
    let mut world = world;
    world.tools = Tools::with_tools(Vec::new());
    until("all are killed", || world.running(&mark) == 0).await;
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing_running() {
    let world = Sandboxed::new().await;
    let mark = format!("98762.{}", std::process::id());
    let (shell, context) = (world.tools.get("shell").unwrap().clone(), world.context());
    let input = json!({"command": format!("sleep {mark}; sleep {mark}"), "background": true});
    let call = tokio::spawn(async move { shell.run(input, context).await });
    until("it has begun or returned", || world.running(&mark) > 0 || call.is_finished()).await;
    call.abort();
    if call.await.is_err() {
        until("it is killed", || world.running(&mark) == 0).await;
    }
}

#[tokio::test]
async fn there_are_only_so_many() {
    let fixture = ToolFixture::new();
    let (tools, context) = (Tools::builtin(), fixture.context());
    // Eight that run and one that is over by then.
    let ids =
        futures_util::future::join_all((0..8).map(|_| background(&tools, &context, "sleep 1000"))).await;
    let more = json!({"command": "sleep 1000", "background": true});
    let outcome = call(&tools, &context, "shell", more.clone()).await;
    assert!(
        !outcome.ok && outcome.text.contains("8 background processes of this session"),
        "{}",
        outcome.text
    );
    act(&tools, &context, &ids[3], "kill").await;
    assert!(call(&tools, &context, "shell", more).await.ok);
    let gone = act(&tools, &context, &ids[3], "poll").await;
    assert!(gone.text.contains("No process"), "{}", gone.text);
    soon(tools.stop()).await;
}

#[tokio::test]
async fn output_that_nobody_asks_for_is_bounded() {
    let fixture = ToolFixture::new();
    let (tools, context) = (Tools::builtin(), fixture.context());
    let command =
        "read -r go; head -c 20000000 /dev/zero | tr '\\0' x; echo; echo last; touch done; read -r end";
    let id = background(&tools, &context, command).await;
    let write = json!({"process_id": id, "action": "write", "input": "\n", "wait_seconds": 0});
    call(&tools, &context, "shell_process", write).await;
    until("all is printed", || fixture.path("done").exists()).await;
    let outcome = act(&tools, &context, &id, "poll").await;
    assert!(outcome.text.contains("bytes of earlier output were dropped"), "{}", &outcome.text[..200]);
    assert!(outcome.text.contains("x\nlast\n") && outcome.text.len() < 40_000);
    assert!(outcome.whole.unwrap().len() <= (1 << 20) + 200);
    soon(tools.stop()).await;
}

#[tokio::test]
async fn input_that_is_not_read_is_refused_in_the_end() {
    let fixture = ToolFixture::new();
    let (tools, context) = (Tools::builtin(), fixture.context());
    let id = background(&tools, &context, "sleep 1000").await;
    let write = json!({"process_id": id, "action": "write", "input": "x".repeat(60_000), "wait_seconds": 0});
    let mut outcome = call(&tools, &context, "shell_process", write.clone()).await;
    for _ in 0..40 {
        outcome = call(&tools, &context, "shell_process", write.clone()).await;
    }
    assert!(!outcome.ok && outcome.text.contains("has not read its earlier input"), "{}", outcome.text);
    soon(tools.stop()).await;
}

#[test]
fn looking_is_reading_and_the_rest_is_not() {
    let tools = Tools::builtin();
    let tool = tools.get("shell_process").unwrap();
    for (action, kind) in
        [("poll", ToolKind::Read), ("write", ToolKind::Exec), ("kill", ToolKind::Exec), ("x", ToolKind::Exec)]
    {
        assert_eq!(tool.kind_of(&json!({"process_id": "p1", "action": action})), kind, "{action}");
    }
    assert_eq!(tool.kind_of(&json!({})), ToolKind::Exec);
}

#[tokio::test]
async fn what_holds_a_place_for_a_process_is_not_shown() {
    let world = Sandboxed::new().await;
    let (tools, context) = (&world.tools, world.context());
    std::fs::create_dir_all(world.workspace.join(".claude")).unwrap();
    std::fs::write(world.workspace.join(".claude/settings.json"), "{}").unwrap();
    let id = background(tools, &context, "cat").await;
    let tree = call(tools, &context, "repo_tree", json!({})).await;
    assert_eq!(tree.text, ".claude/\n  settings.json\n");
    act(tools, &context, &id, "kill").await;
}

/// Nothing holds the settings of git while a command runs there, so none may run without an end.
#[tokio::test]
async fn nothing_runs_in_the_background_where_settings_cannot_be_held() {
    let world = Sandboxed::with(ostler_sandbox::BackendChoice::Landlock, |_| {}).await;
    let input = json!({"command": "touch made; sleep 1000", "background": true});
    let outcome = call(&world.tools, &world.context(), "shell", input).await;
    assert!(!outcome.ok && outcome.text.contains("install bubblewrap"), "{}", outcome.text);
    let outcome = call(&world.tools, &world.context(), "shell", json!({"command": "ls"})).await;
    assert!(outcome.ok && !outcome.text.contains("made"), "{}", outcome.text);
}
