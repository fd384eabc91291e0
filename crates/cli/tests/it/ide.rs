//! The ide door of the real binary, which is killed and comes back.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::process::{DaemonProcess, binary};

const CONFIG: &str = "[models]\ndefault = \"demo:demo\"\n[gateway]\nenabled = false\n";

/// One socket.
struct IdeTestSocket {
    stream: TcpStream,
    requests: u64,
}

impl IdeTestSocket {
    fn open(process: &DaemonProcess, data: &Path) -> IdeTestSocket {
        let address = process.address.unwrap();
        let token = std::fs::read_to_string(data.join("token")).unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        let request = format!(
            "GET /ws HTTP/1.1\r\nHost: {address}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             Origin: http://localhost:3000\r\nSec-WebSocket-Protocol: ostler-ide, ostler-token.{}\r\n\r\n",
            token.trim()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.push(byte[0]);
        }
        let head = String::from_utf8(head).unwrap().to_lowercase();
        assert!(head.starts_with("http/1.1 101"), "{head}");
        assert!(head.contains("sec-websocket-protocol: ostler-ide\r\n"), "the token is not repeated: {head}");
        IdeTestSocket { stream, requests: 0 }
    }

    fn tell(&mut self, kind: &str, mut fields: Value) {
        fields["type"] = json!(kind);
        let text = fields.to_string();
        let length = u16::try_from(text.len()).unwrap();
        // A mask of zeros leaves the text as it is.
        let mut frame = vec![0x81, 0x80 | 126];
        frame.extend(length.to_be_bytes());
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.stream.write_all(&frame).unwrap();
    }

    /// The next frame; none when the connection is lost.
    fn frame(&mut self) -> Option<Value> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head).ok()?;
        assert_eq!(head[0], 0x81, "a text");
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length).ok()?;
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length).ok()?;
                u64::from_be_bytes(length)
            }
            short => u64::from(short),
        };
        let mut content = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut content).ok()?;
        Some(serde_json::from_slice(&content).unwrap())
    }

    fn until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.frame().expect("the connection lasts");
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    fn ask(&mut self, kind: &str, mut fields: Value) -> Value {
        self.requests += 1;
        let id = json!(self.requests);
        fields["requestId"] = id.clone();
        self.tell(kind, fields);
        loop {
            let frame = self.frame().expect("the connection lasts");
            if frame["requestId"] == id {
                return frame;
            }
        }
    }
}

#[test]
fn what_was_said_is_there_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let (data, work) = (dir.path().join("data"), dir.path().join("work"));
    std::fs::create_dir_all(&work).unwrap();
    let process = DaemonProcess::serve(&data, CONFIG);
    let mut socket = IdeTestSocket::open(&process, &data);
    let added = socket.ask("project:add", json!({"path": work}));
    let project = added["project"]["id"].clone();
    let created = socket.ask("session:create", json!({"projectId": project, "cliType": "ostler"}));
    let session = created["sessionId"].clone();
    let words = (1..60).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
    socket.tell("session:send", json!({"sessionId": session, "content": format!("say {words} slowly")}));
    let mut seen = String::new();
    // Long enough for what came first to be on disk, where text that streams is kept twice a second.
    while !seen.contains("w40") {
        seen += socket.until("session:chunk")["content"].as_str().unwrap();
    }
    process.kill();
    while let Some(frame) = socket.frame() {
        assert_eq!(frame["type"], "session:chunk");
        seen += frame["content"].as_str().unwrap();
    }

    let process = DaemonProcess::serve(&data, CONFIG);
    let mut socket = IdeTestSocket::open(&process, &data);
    let projects = socket.ask("project:list", json!({}));
    assert_eq!(projects["projects"], json!([added["project"]]));
    let listed = socket.ask("session:list", json!({"projectId": project}))["sessions"].clone();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["id"], session);
    assert!(listed[0]["title"].as_str().unwrap().starts_with("say w1 w2"), "{listed}");
    let history = socket.ask("session:open", json!({"sessionId": session}))["entries"].clone();
    assert_eq!(history[0]["content"], json!(format!("say {words} slowly")));
    let kept = history[1]["content"].as_str().unwrap();
    assert!(kept.starts_with("w1 w2") && words.starts_with(kept.trim_end()), "{kept:?}");
    assert!(seen.starts_with(kept) || kept.starts_with(&seen), "{seen:?} was seen, {kept:?} was kept");
    socket.tell("session:send", json!({"sessionId": session, "content": "say hello"}));
    assert_eq!(socket.until("session:complete")["sessionId"], session);
}

#[test]
fn sessions_of_an_agent_have_its_own_ids_and_those_it_keeps_are_adopted_on_request() {
    let dir = tempfile::tempdir().unwrap();
    let (data, work, notes) = (dir.path().join("data"), dir.path().join("work"), dir.path().join("notes"));
    std::fs::create_dir_all(&work).unwrap();
    std::fs::create_dir_all(&notes).unwrap();
    std::fs::write(notes.join("kept-1:a:b"), "").unwrap();
    let config = format!("{CONFIG}{}", crate::agents::fault(&notes, &["lists"]));
    let process = DaemonProcess::serve(&data, &config);
    let mut socket = IdeTestSocket::open(&process, &data);
    let status = |frame: &Value| (frame["cliType"].clone(), frame["status"].clone());
    // An agent that merely does not run has no status to tell.
    assert_eq!(status(&socket.until("agent:status")), (json!("ostler"), json!("connected")));
    let added = socket.ask("project:add", json!({"path": work}));
    let project = added["project"]["id"].clone();
    let created = socket.ask("session:create", json!({"projectId": project, "cliType": "fault"}));
    let session = created["sessionId"].as_str().unwrap().to_owned();
    assert!(session.starts_with("fault:fault-"), "the agent's own id: {session}");
    socket.tell("session:send", json!({"sessionId": session, "content": "say:hello"}));
    assert_eq!(socket.until("session:complete")["sessionId"], session);

    let listed = |socket: &mut IdeTestSocket| {
        socket.ask("session:list", json!({"projectId": project}))["sessions"].clone()
    };
    assert_eq!(
        listed(&mut socket).as_array().unwrap().len(),
        1,
        "what the agent keeps does not appear unasked"
    );
    let found = socket.ask("session:discover", json!({"projectId": project, "cliType": "fault"}));
    let kept =
        found["sessions"].as_array().unwrap().iter().find(|it| it["adopted"] == false).unwrap().clone();
    assert_eq!((&kept["id"], &kept["title"]), (&json!("fault:kept-1:a:b"), &json!("About kept-1:a:b")));
    let adopted = socket.ask("session:adopt", json!({"projectId": project, "sessionId": kept["id"]}));
    assert_eq!((&adopted["type"], &adopted["sessionId"]), (&json!("session:created"), &kept["id"]));
    assert_eq!(listed(&mut socket).as_array().unwrap().len(), 2);
    let history = socket.ask("session:open", json!({"sessionId": kept["id"]}))["entries"].clone();
    assert_eq!(history[0]["content"], "replayed question");
    assert_eq!(history[1]["content"], "replayed answer");
    process.kill();

    // With all agents down the list is there, and the ids lead where they led.
    let process = DaemonProcess::serve(&data, &config);
    let mut socket = IdeTestSocket::open(&process, &data);
    let ids: Vec<Value> =
        listed(&mut socket).as_array().unwrap().iter().map(|item| item["id"].clone()).collect();
    assert!(ids.contains(&kept["id"]) && ids.contains(&json!(session)), "{ids:?}");
    socket.tell("session:send", json!({"sessionId": kept["id"], "content": "say:on"}));
    assert_eq!(socket.until("session:complete")["sessionId"], kept["id"]);
}

#[test]
fn projects_are_kept_from_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    let (data, work) = (dir.path().join("data"), dir.path().join("work"));
    std::fs::create_dir_all(&work).unwrap();
    let run = |arguments: &[&str]| {
        let mut command: Command = binary();
        let done =
            command.arg("projects").args(arguments).arg("--data-dir").arg(&data).current_dir(&work).output();
        let done = done.unwrap();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (done.status.success(), said(&done.stdout), said(&done.stderr))
    };
    let path = work.canonicalize().unwrap().display().to_string();
    let (ok, added, _) = run(&["add"]);
    assert!(ok && added.trim_end().ends_with(&path), "{added}");
    let (ok, _, error) = run(&["add", "."]);
    assert!(!ok && error.contains("Project already added"), "{error}");
    assert_eq!(run(&["list"]), (true, added, String::new()));
    let (_, listed, _) = run(&["list", "--json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!((&listed[0]["path"], &listed[0]["name"]), (&json!(path), &json!("work")));
    let (ok, _, error) = run(&["rm", "/no/such"]);
    assert!(!ok && error.contains("No project `"), "{error}");
    assert!(run(&["rm", "."]).0);
    assert_eq!(run(&["list"]), (true, String::new(), String::new()));
}
