//! A key that can be recognised goes through a real daemon by every way that a key can come, to servers that
//! say it back in every way that they might. It must not be found in anything that is kept or shown.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use futures_util::StreamExt;
use ostler_api_types::{CreateSession, SendMessage};
use ostler_client::{Client, DaemonEndpoint};
use serde_json::{Value, json};

use crate::process::binary;
use crate::raw_server::{RawServer, RawServerReply, RawServerRequest};

/// By where the key comes from, with the protocol that it is then sent by.
const SOURCES: [(&str, &str, &str); 3] = [
    ("environment", "openai-chat", "sk-canary-env-8f3b1c+/="),
    ("file", "openai-responses", "sk-canary-file-\"5d0e\"-77a1"),
    ("command", "anthropic", "sk-canary-command-b2946ed0"),
];
/// What the server does with the key; each is also the prompt that asks for it.
const ECHOES: [&str; 6] = ["refused", "limited", "malformed", "escaped", "midway", "page"];

#[tokio::test]
async fn no_key_is_kept_or_shown() {
    let dir = tempfile::tempdir().unwrap();
    let heads = Arc::new(Mutex::new(String::new()));
    let kept = heads.clone();
    let server = RawServer::start(move |asked| {
        kept.lock().unwrap().push_str(&asked.head);
        echo(asked)
    })
    .await;
    let daemon = CanaryDaemon::start(dir.path(), &config(dir.path(), &server)).await;
    let mut shown = String::new();
    for (name, _, _) in SOURCES {
        for prompt in ECHOES {
            shown.push_str(&daemon.fails(dir.path(), &format!("{name}:m"), prompt).await);
        }
    }
    let log = daemon.stop();
    let config_file = dir.path().join("config.toml");
    for arguments in [vec!["config", "show"], vec!["models"], vec!["models", "--json", "-vv"]] {
        let mut command = binary();
        command.args(&arguments).arg("--config").arg(&config_file).env("CANARY_KEY", SOURCES[0].2);
        let output = command.arg("--data-dir").arg(dir.path().join("data")).output().unwrap();
        assert!(output.status.success(), "{arguments:?}");
        shown.push_str(&String::from_utf8(output.stdout).unwrap());
        shown.push_str(&String::from_utf8(output.stderr).unwrap());
    }
    let mut files = Vec::new();
    read_all(&dir.path().join("data"), &mut files);
    let raw_logs = files.iter().filter(|(path, _)| path.ends_with("raw.jsonl")).count();
    assert_eq!(raw_logs, SOURCES.len() * ECHOES.len(), "each session has a raw log");
    let heads = heads.lock().unwrap();
    for (name, _, key) in SOURCES {
        assert!(heads.contains(key), "the key from the {name} was never sent");
        for spelling in spellings(key) {
            assert!(!shown.contains(&spelling), "{spelling} from the {name} was shown");
            assert!(!log.contains(&spelling), "{spelling} from the {name} is in the daemon's log");
            for (path, content) in &files {
                assert!(!contains(content, &spelling), "{spelling} from the {name} is in {path}");
            }
        }
    }
}

/// A text as it may stand in a file: as it is, in JSON, and in JSON in JSON.
fn spellings(key: &str) -> Vec<String> {
    let quoted = |text: &str| {
        let quoted = Value::from(text).to_string();
        quoted[1..quoted.len() - 1].to_owned()
    };
    vec![key.to_owned(), quoted(key), quoted(&quoted(key)), escaped(key)]
}

/// As a server might write it that escapes everything.
fn escaped(text: &str) -> String {
    text.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect()
}

/// Says the key back in the way that the prompt asks for.
fn echo(asked: &RawServerRequest) -> RawServerReply {
    let header = |line: &str| {
        let (name, value) = line.split_once(": ")?;
        let value = value.trim_start_matches("Bearer ").to_owned();
        matches!(name.to_lowercase().as_str(), "authorization" | "x-api-key").then_some(value)
    };
    let key = asked.head.lines().find_map(header).expect("a key is sent");
    let error = |kind: &str| {
        let message = format!("the key {key} and again Bearer {key}");
        json!({"type": "error", "error": {"type": kind, "message": message, "param": {"key": key}}})
            .to_string()
    };
    match asked.prompt().as_str() {
        "refused" => RawServerReply::whole("401 Unauthorized", error("authentication_error")),
        "limited" => RawServerReply::whole("403 Forbidden", error("permission_error")),
        "malformed" => RawServerReply::whole("400 Bad Request", format!("no JSON, only {key}")),
        "escaped" => RawServerReply::whole(
            "400 Bad Request",
            format!("{{\"error\":{{\"message\":\"{}\"}}}}", escaped(&key)),
        ),
        "midway" => {
            let pieces = vec![format!("event: error\ndata: {}\n\n", error("invalid_request_error"))];
            RawServerReply { status: "200 OK", kind: "text/event-stream", pieces, together: None }
        }
        _ => {
            let pieces = vec![format!("<html>{key}</html>")];
            RawServerReply { status: "200 OK", kind: "text/html", pieces, together: None }
        }
    }
}

/// A provider for each source of a key.
fn config(dir: &Path, server: &RawServer) -> String {
    let mut text = "[logging]\nstreams = [\"context\", \"raw\"]\n".to_owned();
    for (name, kind, key) in SOURCES {
        let file = dir.join(format!("{name}.key"));
        std::fs::write(&file, key).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        let file = file.to_str().unwrap();
        let source = match name {
            "environment" => "api_key_env = \"CANARY_KEY\"".to_owned(),
            "file" => format!("api_key_file = \"{file}\""),
            _ => format!("api_key_command = [\"/bin/cat\", \"{file}\"]"),
        };
        let address = server.address;
        text += &format!(
            "[providers.{name}]\nkind = \"{kind}\"\nbase_url = \"http://{address}\"\n{source}\nmodels = [\"m\"]\n"
        );
    }
    text
}

/// A daemon that tells all that it can, into a file.
struct CanaryDaemon {
    child: Child,
    client: Client,
    log: std::path::PathBuf,
}

impl CanaryDaemon {
    async fn start(dir: &Path, config: &str) -> CanaryDaemon {
        let (file, data, log) = (dir.join("config.toml"), dir.join("data"), dir.join("stderr"));
        std::fs::write(&file, config).unwrap();
        let mut command = binary();
        command.args(["serve", "--listen", "127.0.0.1:0", "-vv", "--config"]).arg(&file);
        command.arg("--data-dir").arg(&data).env("CANARY_KEY", SOURCES[0].2).env("OSTLER_LOG", "trace");
        command.stdout(Stdio::piped()).stderr(std::fs::File::create(&log).unwrap());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("ostler is ready at http://").unwrap().parse().unwrap();
        let token = std::fs::read_to_string(data.join("token")).unwrap().trim().to_owned();
        let client = Client::connect(DaemonEndpoint::Tcp(address), Some(token)).await.unwrap();
        CanaryDaemon { child, client, log }
    }

    /// Has a turn fail, and gives all that a client is shown of it.
    async fn fails(&self, work: &Path, model: &str, prompt: &str) -> String {
        let workspace_path = work.to_str().unwrap().to_owned();
        let model = Some(model.to_owned());
        let new = CreateSession { workspace_path, model, ..CreateSession::default() };
        let id = self.client.create_session(&new).await.unwrap();
        self.client.send_message(id, &SendMessage::prompt(prompt)).await.unwrap();
        let mut events = self.client.events(id, 0, true).await.unwrap();
        let mut shown = String::new();
        loop {
            let line = events.next().await.unwrap().unwrap();
            shown.push_str(&line.raw);
            assert_ne!(line.name, "turn_completed", "{prompt}: {}", line.raw);
            if line.name == "turn_failed" {
                return shown;
            }
        }
    }

    /// Ends it in order, and gives what it said.
    fn stop(mut self) -> String {
        rustix::process::kill_process(
            rustix::process::Pid::from_child(&self.child),
            rustix::process::Signal::TERM,
        )
        .unwrap();
        assert!(self.child.wait().unwrap().success());
        let log = std::fs::read(&self.log).unwrap();
        assert!(log.len() > 1000, "the daemon tells what it does");
        String::from_utf8_lossy(&log).into_owned()
    }
}

impl Drop for CanaryDaemon {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn read_all(dir: &Path, files: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            read_all(&entry.path(), files);
        } else if kind.is_file() {
            files.push((entry.path().display().to_string(), std::fs::read(entry.path()).unwrap()));
        }
    }
}

fn contains(content: &[u8], text: &str) -> bool {
    content.windows(text.len()).any(|window| window == text.as_bytes())
}
