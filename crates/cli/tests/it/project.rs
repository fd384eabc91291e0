//! What a workspace says in its own files, through a real daemon: nothing of it counts before it is trusted,
//! all of it does then, and nothing after.

use std::os::unix::fs::symlink;
use std::path::Path;

use ostler_types::Policy;
use serde_json::{Value, json};

use crate::process::binary;
use crate::scripted::{ScriptedDaemon, call, policy_without_approvals, shell, write};
use crate::tool_server;

/// A server that leaves a file where it was started, and has one tool.
const TOOL: &str = r#"
open("started.txt", "a").write("x")
NAME = "probe"
def tool(arguments):
    return write(arguments["place"]) + " by " + str(os.getpid())
"#;
const MCP_JSON: &str =
    r#"{"mcpServers": {"own": {"command": "python3", "args": ["server.py"], "env": {"A": "hidden-9"}}}}"#;

async fn stage() -> ScriptedDaemon {
    let stage = ScriptedDaemon::new("").await;
    stage.write("server.py", &tool_server::script(&[tool_server::WRITE, TOOL].concat()));
    stage.write(".mcp.json", MCP_JSON);
    stage
}

async fn trust(stage: &ScriptedDaemon, trusted: bool) -> Value {
    let body = json!({"workspace_path": stage.work.to_str().unwrap(), "trusted": trusted});
    let (status, answer) = stage.request("PUT", "/v1/trust", &body).await;
    assert_eq!(status, 200, "{answer}");
    answer
}

async fn brings(stage: &ScriptedDaemon) -> Value {
    let path = format!("/v1/trust?workspace_path={}", stage.work.to_str().unwrap());
    stage.request("GET", &path, &Value::Null).await.1["brings"].clone()
}

async fn has_probe(stage: &ScriptedDaemon, name: &str) -> bool {
    let path = format!("/v1/tools?workspace_path={}", stage.work.to_str().unwrap());
    let (status, listed) = stage.request("GET", &path, &Value::Null).await;
    assert_eq!(status, 200, "{listed}");
    listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == name)
}

/// The processes that run this workspace's server, seen from outside of their sandboxes.
fn running(stage: &ScriptedDaemon) -> usize {
    let of_workspace = |place: &Path| {
        let words = std::fs::read(place.join("cmdline")).unwrap_or_default();
        let words = String::from_utf8_lossy(&words).into_owned();
        words.contains("server.py") && words.contains(stage.work.to_str().unwrap())
    };
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    processes.filter(|entry| of_workspace(&entry.path())).count()
}

#[tokio::test]
async fn servers_of_a_workspace_run_once_it_is_trusted_and_not_after() {
    let stage = stage().await;
    let started = stage.work.join("started.txt");
    let id = stage.session(Policy::default()).await;
    stage.play(id, &[json!("hello")]).await;
    assert!(!has_probe(&stage, "mcp__own__probe").await);
    assert!(!stage.offered().iter().any(|name| name.starts_with("mcp__")));
    assert!(!started.exists(), "nothing is started before it is trusted");
    let shown = brings(&stage).await;
    assert_eq!(shown["servers"][0]["name"], "own", "{shown}");
    assert_eq!(shown["servers"][0]["file"], ".mcp.json");
    assert!(shown["servers"][0]["runs"].as_str().unwrap().contains("python3 server.py"), "{shown}");
    assert!(!shown.to_string().contains("hidden-9"), "values may be secret: {shown}");
    assert!(!started.exists(), "looking starts nothing");

    assert_eq!(trust(&stage, true).await["trusted"], true);
    assert!(has_probe(&stage, "mcp__own__probe").await);
    assert!(started.exists() && running(&stage) > 0);
    let outside = stage.outside.join("out.txt");
    let step = call("mcp__own__probe", json!({"place": outside}));
    let mut turn = stage.start(id, std::slice::from_ref(&step)).await;
    let asked = turn.until("approval_requested").await;
    assert_eq!(asked["data"]["kind"], "exec", "trust of a workspace allows no call");
    assert_eq!(stage.answer(&asked, json!({"action": "approve"})).await.0, 200);
    turn.finish().await;
    assert!(
        turn.result().ok && !turn.result().text.contains("written"),
        "it is confined: {:?}",
        turn.result()
    );
    assert!(!outside.exists());
    let elsewhere = format!("/v1/tools?workspace_path={}", stage.outside.to_str().unwrap());
    let (_, listed) = stage.request("GET", &elsewhere, &Value::Null).await;
    assert!(!listed["tools"].to_string().contains("mcp__own"), "it is the workspace's alone");

    assert_eq!(trust(&stage, false).await["trusted"], false);
    assert_eq!(running(&stage), 0, "it has ended when the answer comes");
    assert!(!has_probe(&stage, "mcp__own__probe").await);
    stage.play(id, &[json!("hello again")]).await;
    assert!(!stage.offered().iter().any(|name| name.starts_with("mcp__")));
    assert_eq!(running(&stage), 0);
}

#[tokio::test]
async fn a_turn_that_began_in_trust_starts_nothing_after_it() {
    let stage = stage().await;
    trust(&stage, true).await;
    let id = stage.session(policy_without_approvals()).await;
    let mut asking = Policy::default();
    asking.approval.require_for_kinds.clear();
    asking.approval.require_for_tools = vec!["mcp__own__probe".to_owned()];
    let asks = stage.session(asking).await;
    let step = call("mcp__own__probe", json!({"place": stage.work.join("in.txt")}));
    let mut turn = stage.start(asks, std::slice::from_ref(&step)).await;
    let asked = turn.until("approval_requested").await;
    trust(&stage, false).await;
    assert_eq!(running(&stage), 0);
    assert_eq!(stage.answer(&asked, json!({"action": "approve"})).await.0, 200);
    turn.finish().await;
    assert!(!turn.result().ok && turn.result().text.contains("stopped"), "{:?}", turn.result());
    assert!(!stage.work.join("in.txt").exists());
    stage.play(id, &[json!("hello")]).await;
    assert_eq!(running(&stage), 0);
}

#[tokio::test]
async fn settings_are_read_again_when_they_change_and_after_a_crash() {
    let mut stage = stage().await;
    trust(&stage, true).await;
    assert!(has_probe(&stage, "mcp__own__probe").await);
    stage.write(".mcp.json", r#"{"mcpServers": {}}"#);
    assert!(!has_probe(&stage, "mcp__own__probe").await);
    assert_eq!(running(&stage), 0, "what is not named any more is stopped");
    stage.write(".ostler/config.toml", "[mcp.other]\ncommand = [\"python3\", \"server.py\"]\n");
    assert!(has_probe(&stage, "mcp__other__probe").await);
    stage.crash().await;
    assert!(has_probe(&stage, "mcp__other__probe").await, "trust is kept");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_told_and_stop_nothing() {
    let stage = stage().await;
    trust(&stage, true).await;
    let id = stage.session(policy_without_approvals()).await;
    let config = stage.work.join(".ostler/config.toml");
    std::fs::create_dir(stage.work.join(".ostler")).unwrap();
    let secret = stage.outside.join("elsewhere.toml");
    std::fs::write(&secret, "[verify]\ncommands = [\"touch ran.txt\"]\n").unwrap();
    let large = format!("# {}\n[verify]\ncommands = [\"touch ran.txt\"]\n", "x".repeat(70_000));
    type Make<'a> = &'a dyn Fn(&Path);
    let cases: [(Make<'_>, &str); 7] = [
        (&|path| symlink(&secret, path).unwrap(), "symbolic link"),
        (&|path| std::fs::write(path, &large).unwrap(), "larger than 64 KiB"),
        (&|path| std::fs::write(path, b"[verify]\ncommands = [\"\xff\"]").unwrap(), "not UTF-8"),
        (&|path| std::fs::write(path, "[verify\n").unwrap(), "line 1"),
        (&|path| std::fs::create_dir(path).unwrap(), "not a file"),
        (
            &|path| {
                let text = "[verify]\ncommands = [\"touch ran.txt\"]\n[providers.mock]\nbase_url = \"http://127.0.0.1:9\"\n";
                std::fs::write(path, text).unwrap();
            },
            "a workspace cannot set",
        ),
        (
            &|path| {
                std::fs::write(path, "sandbox = \"off\"\n[verify]\ncommands = [\"touch ran.txt\"]\n").unwrap()
            },
            "`sandbox`: a workspace cannot set",
        ),
    ];
    for (number, (make, words)) in cases.into_iter().enumerate() {
        make(&config);
        let turn = stage.play(id, &[write("a.txt", &number.to_string())]).await;
        let end = turn.records.last().unwrap();
        assert_eq!(end["type"], "turn_completed", "{words}: {end}");
        let said = end["data"]["verification"].as_str().unwrap();
        assert!(said.contains(".ostler/config.toml") && said.contains(words), "{said}");
        assert!(!stage.work.join("ran.txt").exists(), "{words}");
        let problems = brings(&stage).await["problems"].clone();
        assert!(problems[0].as_str().unwrap().contains(words), "{problems}");
        assert!(has_probe(&stage, "mcp__own__probe").await, "the other file is used all the same");
        if config.symlink_metadata().unwrap().is_dir() {
            std::fs::remove_dir(&config).unwrap();
        } else {
            std::fs::remove_file(&config).unwrap();
        }
    }
    let loop_of_links = stage.work.join(".ostler");
    std::fs::remove_dir(&loop_of_links).unwrap();
    symlink(&stage.outside, &loop_of_links).unwrap();
    assert!(brings(&stage).await["problems"][0].as_str().unwrap().contains("symbolic link"));
}

#[tokio::test]
async fn a_workspace_says_how_it_is_checked_and_what_is_asked_about() {
    let stage = ScriptedDaemon::new("").await;
    stage.write(
        ".ostler/config.toml",
        "[verify]\ncommands = [\"touch ran.txt\"]\n[approval]\nrequire_for_kinds = [\"read\"]\n",
    );
    let id = stage.session(policy_without_approvals()).await;
    let read = call("read_file", json!({"path": ".ostler/config.toml"}));
    let turn = stage.play(id, &[read.clone(), write("a.txt", "1")]).await;
    assert!(turn.results()[0].ok, "it is not heard before it is trusted");
    assert!(!stage.work.join("ran.txt").exists());

    trust(&stage, true).await;
    let mut turn = stage.start(id, &[read.clone(), write("a.txt", "2")]).await;
    let asked = turn.until("approval_requested").await;
    let summary = asked["data"]["summary"].as_str().unwrap();
    assert!(summary.contains("The settings of this workspace ask for it"), "{summary}");
    assert_eq!(stage.answer(&asked, json!({"action": "approve", "scope": "session"})).await.0, 200);
    let end = turn.finish().await;
    assert_eq!(end["data"]["verified"], true, "{end}");
    assert!(stage.work.join("ran.txt").exists());
    // An answer for the session stands, whoever wanted the question.
    stage.play(id, std::slice::from_ref(&read)).await;

    trust(&stage, false).await;
    let other = stage.session(policy_without_approvals()).await;
    let turn = stage.play(other, &[read]).await;
    assert!(turn.result().ok);
}

#[tokio::test]
async fn rules_of_a_workspace_hold_as_they_were_when_it_was_trusted() {
    let stage = ScriptedDaemon::new("").await;
    let rules = |commands: &[&str]| {
        let rule = |command: &&str| format!("{{ tool = \"shell\", subject = \"{command}\" }}");
        let rules: Vec<String> = commands.iter().map(rule).collect();
        stage.write(".ostler/config.toml", &format!("[approval]\nrules = [{}]\n", rules.join(", ")));
    };
    rules(&["touch one.txt"]);
    let id = stage.session(Policy::default()).await;
    let first = shell("touch one.txt");
    let mut turn = stage.start(id, std::slice::from_ref(&first)).await;
    let asked = turn.until("approval_requested").await;
    assert_eq!(stage.answer(&asked, json!({"action": "deny"})).await.0, 200);
    turn.finish().await;

    trust(&stage, true).await;
    let turn = stage.play(id, std::slice::from_ref(&first)).await;
    assert_eq!(turn.all("approval_granted")[0]["by"], "rule");
    // Somebody pulls a change that would let more through.
    rules(&["touch one.txt", "touch two.txt"]);
    stage.play(id, std::slice::from_ref(&first)).await;
    let mut turn = stage.start(id, &[shell("touch two.txt")]).await;
    let asked = turn.until("approval_requested").await;
    assert_eq!(stage.answer(&asked, json!({"action": "deny"})).await.0, 200);
    turn.finish().await;
    let shown = brings(&stage).await;
    assert_eq!([&shown["rules"][0]["in_force"], &shown["rules"][1]["in_force"]], [true, false], "{shown}");
    assert!(shown["problems"].to_string().contains("trust it again"), "{shown}");

    trust(&stage, true).await;
    stage.play(id, &[shell("touch two.txt")]).await;
    // What the owner's own policy names by its tool is theirs to answer.
    let mut named = Policy::default();
    named.approval.require_for_tools = vec!["shell".to_owned()];
    let strict = stage.session(named).await;
    let mut turn = stage.start(strict, &[first]).await;
    turn.until("approval_requested").await;
}

#[tokio::test]
async fn the_commands_tell_what_a_workspace_would_bring() {
    let mut stage = stage().await;
    stage.write("Makefile", "test:\n\ttrue\n");
    stage.write(".ostler/config.toml", "[approval]\nrequire_for_tools = [\"search\"]\n");
    stage.stop();
    let ostler = |arguments: &[&str]| {
        let mut command = binary();
        command.args(arguments).arg("--data-dir").arg(&stage.data).current_dir(&stage.work);
        let output = command.output().unwrap();
        let [out, errors] = [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(output.status.success(), "{arguments:?}: {errors}");
        (out, errors)
    };
    let (shown, _) = ostler(&["trust", "--show"]);
    for words in [
        "is not trusted",
        "It would bring:",
        "make test",
        "own: A=… python3 server.py",
        "every call of search",
    ] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    let (_, told) = ostler(&["run", "--model", "demo:demo", "hello"]);
    assert!(told.contains("has its own settings") && told.contains("`ostler trust`"), "{told}");
    let (shown, _) = ostler(&["trust"]);
    assert!(shown.contains("is trusted") && shown.contains("It brings:"), "{shown}");
    let (_, told) = ostler(&["run", "--model", "demo:demo", "hello"]);
    assert!(!told.contains("has its own settings"), "{told}");
    assert!(!ostler(&["trust", "--revoke"]).0.contains("It brings:"));
}
