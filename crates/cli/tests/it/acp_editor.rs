//! An editor that offers its buffers and names servers of tools, in front of a real daemon: tools see what it shows and
//! has not saved, what they write reaches it, its servers are one session's, and without it all is as before.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::process::binary;
use crate::scripted::{ScriptedDaemon, call, policy_without_approvals, prompt, shell, write};
use crate::tool_server;

/// How long anything is awaited before a test gives up.
const PATIENCE: Duration = Duration::from_secs(60);
/// What only a server of tools may know.
const SECRET: &str = "secret-of-the-editor-51c9";

/// A server with one tool, which says who runs it.
const TOOL: &str = r#"
NAME = "probe"
def tool(arguments):
    return write(arguments["place"]) + " with " + str(len(os.environ.get("TOKEN", "")))
"#;

/// What the editor shows of a file.
enum Buffer {
    Text(String),
    /// It cannot say.
    Broken,
    /// It does not answer.
    Silent,
}

/// `ostler acp`, and an editor with buffers in front of it.
struct FakeEditor {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    buffers: HashMap<String, Buffer>,
    /// The files that it was asked for, and told of.
    asked: Vec<String>,
    told: Vec<(String, String)>,
    /// The calls that it was asked to allow.
    allowed: Vec<String>,
}

impl FakeEditor {
    async fn start(stage: &ScriptedDaemon, files: bool) -> FakeEditor {
        let mut command = Command::from(binary());
        command.args(["acp", "--data-dir"]).arg(&stage.data);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let (buffers, asked, told, allowed) = (HashMap::new(), Vec::new(), Vec::new(), Vec::new());
        let mut editor = FakeEditor { child, input, output, buffers, asked, told, allowed };
        let fs = json!({"readTextFile": files, "writeTextFile": files});
        let hello = json!({"protocolVersion": 1, "clientCapabilities": {"fs": fs}});
        assert_eq!(
            editor.ask("initialize", hello).await["agentCapabilities"]["mcpCapabilities"]["http"],
            true
        );
        editor
    }

    fn show(&mut self, path: &Path, text: &str) {
        self.buffers.insert(path.display().to_string(), Buffer::Text(text.to_owned()));
    }

    async fn session(&mut self, stage: &ScriptedDaemon, servers: Value) -> Value {
        self.ask("session/new", json!({"cwd": stage.work, "mcpServers": servers})).await
    }

    /// Has a session's model play these steps, and waits for the end of the turn.
    async fn play(&mut self, session: &Value, steps: &[Value]) {
        let said = json!({"sessionId": session, "prompt": [{"type": "text", "text": prompt(steps)}]});
        assert_eq!(self.ask("session/prompt", said).await["stopReason"], "end_turn");
    }

    async fn send(&mut self, line: Value) {
        self.input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Sends a request and returns its result, doing meanwhile what the editor is asked.
    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.send(json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params})).await;
        loop {
            let mut line = self.next().await;
            if line["id"] == method {
                assert!(line["error"].is_null(), "{line}");
                return line["result"].take();
            }
        }
    }

    /// Does what it is asked, and nothing else.
    async fn attend(&mut self) {
        loop {
            self.next().await;
        }
    }

    /// Its next line, which it has served if it is a request.
    async fn next(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.output.next_line()).await.expect("it says more");
        let line: Value = serde_json::from_str(&line.unwrap().expect("it has not ended")).unwrap();
        if line["id"].is_number() && line["method"].is_string() {
            self.serve(&line).await;
        }
        line
    }

    async fn serve(&mut self, line: &Value) {
        let (id, params) = (&line["id"], &line["params"]);
        let path = params["path"].as_str().unwrap_or_default().to_owned();
        let result = match line["method"].as_str().unwrap() {
            "session/request_permission" => {
                self.allowed.push(params["toolCall"]["title"].as_str().unwrap().to_owned());
                json!({"outcome": {"outcome": "selected", "optionId": "once"}})
            }
            "fs/read_text_file" => {
                self.asked.push(path.clone());
                match self.buffers.get(&path) {
                    Some(Buffer::Text(text)) => json!({"content": text}),
                    Some(Buffer::Silent) => return,
                    Some(Buffer::Broken) => {
                        let error = json!({"code": -32603, "message": "no"});
                        return self.send(json!({"jsonrpc": "2.0", "id": id, "error": error})).await;
                    }
                    None => json!({"content": std::fs::read_to_string(&path).unwrap_or_default()}),
                }
            }
            "fs/write_text_file" => {
                let content = params["content"].as_str().unwrap().to_owned();
                self.buffers.insert(path.clone(), Buffer::Text(content.clone()));
                self.told.push((path, content));
                json!({})
            }
            other => panic!("{other}"),
        };
        self.send(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
    }

    /// Closes the editor, and waits until its agent has gone.
    async fn leave(mut self) {
        drop(self.input);
        tokio::time::timeout(PATIENCE, self.child.wait()).await.expect("it ends").unwrap();
    }
}

fn read(path: &str) -> Value {
    call("read_file", json!({"path": path}))
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    call("edit_file", json!({"path": path, "old": old, "new": new}))
}

/// The results of all calls of a session, in the order of its log.
fn results(stage: &ScriptedDaemon, session: &Value) -> Vec<String> {
    let log = stage.data.join(format!("sessions/{}/events.ndjson", session.as_str().unwrap()));
    let records = std::fs::read_to_string(log).unwrap();
    let records = records.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let ended = records.filter(|record| record["type"] == "tool_call_completed");
    ended
        .map(|record| record["data"]["tool_result"]["parts"][0]["text"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn tools_see_what_is_not_saved_and_what_they_write_reaches_the_editor() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "one\ntwo\n");
    stage.write("clean.txt", "clean\n");
    stage.write("dos.txt", "one\r\ntwo\r\n");
    let mut editor = FakeEditor::start(&stage, true).await;
    let session = editor.session(&stage, json!([])).await["sessionId"].take();
    editor.show(&stage.work.join("a.txt"), "one\nTWO, not saved\n");
    editor.show(&stage.work.join("new.txt"), "only in the editor\n");
    editor.show(&stage.work.join("dos.txt"), "one\ntwo\n");
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-three\n+four\n*** End Patch";
    let steps = [
        read("a.txt"),
        edit("a.txt", "TWO, not saved", "three"),
        call("apply_patch", json!({"patch": patch})),
        edit("clean.txt", "clean", "changed"),
        edit("dos.txt", "two", "three"),
        read("new.txt"),
    ];
    editor.play(&session, &steps).await;
    let results = results(&stage, &session);
    assert!(
        results[0].contains("2\tTWO, not saved") && results[0].contains("unsaved changes. Commands"),
        "{results:?}"
    );
    assert!(
        results[1].contains("1 line added, 1 removed") && results[1].contains("and saved"),
        "{results:?}"
    );
    assert_eq!(stage.read("a.txt"), "one\nfour\n");
    assert_eq!(stage.read("dos.txt"), "one\r\nthree\r\n", "line ends are the file's");
    assert!(results[5].contains("only in the editor"), "{results:?}");
    let path = stage.work.join("a.txt").display().to_string();
    assert_eq!(
        editor.told,
        [(path, "one\nthree\n".to_owned())],
        "what shows nothing unsaved follows the disk"
    );
    assert_eq!(editor.allowed.len(), 4, "every change was asked about");
}

#[tokio::test]
async fn a_buffer_that_is_late_is_not_taken_for_one_that_is_not_saved() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "one\n");
    let mut editor = FakeEditor::start(&stage, true).await;
    let session = editor.session(&stage, json!([])).await["sessionId"].take();
    editor.show(&stage.work.join("a.txt"), "one\n");
    editor.play(&session, &[read("a.txt"), shell("echo two > a.txt"), read("a.txt")]).await;
    assert!(results(&stage, &session)[2].contains("1\ttwo"), "{:?}", results(&stage, &session));
    // By our own change, too.
    editor.play(&session, &[edit("a.txt", "two", "three"), read("a.txt")]).await;
    assert_eq!(stage.read("a.txt"), "three\n");
    assert!(results(&stage, &session)[4].contains("1\tthree"));
    assert!(editor.told.is_empty());
}

#[tokio::test]
async fn an_editor_that_does_not_answer_or_has_gone_leaves_the_disk() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "on disk\n");
    stage.write("b.txt", "on disk\n");
    let mut editor = FakeEditor::start(&stage, true).await;
    let session = editor.session(&stage, json!([])).await["sessionId"].take();
    editor.buffers.insert(stage.work.join("a.txt").display().to_string(), Buffer::Broken);
    editor.play(&session, &[read("a.txt")]).await;
    editor.buffers.insert(stage.work.join("a.txt").display().to_string(), Buffer::Silent);
    editor.show(&stage.work.join("b.txt"), "not saved\n");
    // One that owes an answer is not asked again.
    editor.play(&session, &[read("a.txt"), read("b.txt")]).await;
    let told = results(&stage, &session);
    assert!(told.iter().all(|told| told.contains("on disk")) && told.len() == 3, "{told:?}");
    assert_eq!(editor.asked.len(), 2, "{:?}", editor.asked);
    editor.leave().await;

    let mut editor = FakeEditor::start(&stage, true).await;
    editor.show(&stage.work.join("b.txt"), "not saved\n");
    let load = json!({"sessionId": session, "cwd": stage.work, "mcpServers": []});
    editor.ask("session/load", load).await;
    let id = session.as_str().unwrap().parse().unwrap();
    // Somebody else drives the session, which the editor shows all the same.
    let steps = [read("b.txt")];
    let seen = tokio::select! {
        turn = stage.play(id, &steps) => turn.result().text,
        () = editor.attend() => unreachable!("it attends for ever"),
    };
    assert!(seen.contains("not saved"), "{seen}");
    editor.leave().await;
    assert!(stage.play(id, &steps).await.result().text.contains("on disk"));
}

#[tokio::test]
async fn an_editor_is_not_asked_for_what_tools_may_not_see() {
    let stage = ScriptedDaemon::new("").await;
    std::fs::write(stage.outside.join("x"), "outside").unwrap();
    std::os::unix::fs::symlink(stage.outside.join("x"), stage.work.join("link")).unwrap();
    stage.write("real/a.txt", "real\n");
    std::os::unix::fs::symlink(&stage.work, stage.outside.join("project")).unwrap();
    let mut editor = FakeEditor::start(&stage, true).await;
    let spelled = stage.outside.join("project");
    let session =
        editor.ask("session/new", json!({"cwd": spelled, "mcpServers": []})).await["sessionId"].take();
    let outside = stage.outside.join("x").display().to_string();
    let steps = [read("../outside/x"), read("link"), read(&outside), read(".git/config"), read("real/a.txt")];
    for step in steps {
        editor.play(&session, &[step]).await;
    }
    assert_eq!(editor.asked, [spelled.join("real/a.txt").display().to_string()], "as the editor spells it");
    let mut without = FakeEditor::start(&stage, false).await;
    let session = without.session(&stage, json!([])).await["sessionId"].take();
    without.play(&session, &[read("real/a.txt"), write("real/b.txt", "b")]).await;
    assert!(without.asked.is_empty() && without.told.is_empty(), "it does not offer its files");
}

fn server(name: &str) -> Value {
    let env = json!([{"name": "TOKEN", "value": SECRET}]);
    json!({"name": name, "command": "/usr/bin/python3", "args": ["-c", tool_server::script(&[tool_server::WRITE, TOOL].concat())], "env": env})
}

#[tokio::test]
async fn servers_of_an_editor_are_its_sessions_and_go_with_it() {
    let stage = ScriptedDaemon::new("[mcp.taken]\ncommand = [\"/nonexistent/server\"]\n").await;
    let mut editor = FakeEditor::start(&stage, false).await;
    let http = json!({"type": "http", "name": "web", "url": "file:///x", "headers": []});
    let mut made = editor.session(&stage, json!([server("x"), server("taken"), http])).await;
    let told = &made["_meta"]["ostler.mcpServers"];
    assert_eq!(told["used"], json!(["x"]), "{told}");
    assert_eq!(told["not_used"].as_array().unwrap().len(), 2, "{told}");
    let session = made["sessionId"].take();
    let outside = stage.outside.join("y").display().to_string();
    let probe = |place: &str| call("mcp__x__probe", json!({"place": place}));
    editor.play(&session, &[probe("inside.txt"), probe(&outside)]).await;
    assert_eq!(editor.allowed.len(), 2, "it is asked about like any program: {:?}", editor.allowed);
    let seen = results(&stage, &session);
    let length = SECRET.len();
    assert!(seen[0].contains(&format!("written with {length}")), "it has its secret: {seen:?}");
    assert!(!seen[1].contains("written") && !stage.outside.join("y").exists(), "it is confined: {seen:?}");
    assert!(stage.last_asked().contains("The user's editor provides these MCP servers"));

    // Another session has none of them.
    let id = stage.session(policy_without_approvals()).await;
    stage.play(id, &[json!("hello")]).await;
    assert!(!stage.offered().iter().any(|name| name.starts_with("mcp__x")), "{:?}", stage.offered());

    editor.leave().await;
    let id = session.as_str().unwrap().parse().unwrap();
    let turn = stage.play(id, &[probe("z")]).await;
    assert!(turn.result().text.contains("Unknown skill: mcp__x__probe"));
    assert!(stage.last_asked().contains("no longer shows this session"));
    assert!(!stage.offered().iter().any(|name| name.starts_with("mcp__x")));
    stage.play(id, &[json!("hello")]).await;
    assert_eq!(stage.last_asked().matches("no longer shows this session").count(), 1, "it is said once");
    for entry in files_below(stage.data.parent().unwrap()) {
        let content = std::fs::read(&entry).unwrap_or_default();
        let found = content.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!found, "the secret is in {}", entry.display());
    }
}

fn files_below(place: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(place).into_iter().flatten().flatten() {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.extend(files_below(&entry.path())),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found
}

#[tokio::test]
async fn servers_are_given_anew_when_a_session_is_loaded() {
    let stage = ScriptedDaemon::new("").await;
    let mut editor = FakeEditor::start(&stage, false).await;
    let session = editor.session(&stage, json!([server("x")])).await["sessionId"].take();
    editor.leave().await;
    let mut editor = FakeEditor::start(&stage, false).await;
    let load = json!({"sessionId": session, "cwd": stage.work, "mcpServers": [server("x")]});
    let loaded = editor.ask("session/load", load).await;
    assert_eq!(loaded["_meta"]["ostler.mcpServers"]["used"], json!(["x"]), "{loaded}");
    editor.play(&session, &[call("mcp__x__probe", json!({"place": "inside.txt"}))]).await;
    assert!(results(&stage, &session)[0].contains("written"));
}
