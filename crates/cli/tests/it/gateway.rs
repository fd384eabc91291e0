//! The gateway of the real binary, driven by a WebSocket client of other people's (`tests/gateway/client.py`), which
//! checks every frame against the published schema.

use std::io::{BufRead, BufReader, Lines};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use crate::process::binary;
use crate::raw_server::{RawServer, RawServerReply};

/// A daemon with a gateway, killed when dropped.
struct GatewayDaemon {
    child: Child,
    /// What it has to say of itself.
    greeting: String,
    token: String,
}

impl GatewayDaemon {
    fn start(dir: &Path, config: &str) -> GatewayDaemon {
        let file = dir.join("config.toml");
        std::fs::create_dir_all(dir.join("work")).unwrap();
        let work = dir.join("work").display().to_string();
        std::fs::write(&file, format!("[gateway]\nworkspace = {work:?}\n{config}")).unwrap();
        let mut command = binary();
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(&file);
        command.arg("--data-dir").arg(dir.join("data")).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut greeting = String::new();
        for line in lines.map(Result::unwrap) {
            greeting += &format!("{line}\n");
            if line.contains("try, in another terminal") {
                break;
            }
        }
        let token = std::fs::read_to_string(dir.join("data/token")).unwrap().trim().to_owned();
        GatewayDaemon { child, greeting, token }
    }

    /// Where the gateway is: on a port of its own, or at its path.
    fn url(&self) -> String {
        let (_, rest) =
            self.greeting.split_once("the gateway is at ").expect("the daemon says where its gateway is");
        rest.split_whitespace().next().unwrap().to_owned()
    }

    fn client(&self, arguments: &[&str]) -> Command {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
        let mut command = Command::new(python(&root));
        command.arg(root.join("tests/gateway/client.py")).arg(self.url());
        command.arg(root.join("docs/protocols/gateway.schema.json")).args(arguments);
        command.env("GATEWAY_TOKEN", &self.token).stdout(Stdio::piped());
        command
    }

    /// Runs the client to its end, and returns the JSON that it prints.
    fn ask(&self, arguments: &[&str]) -> Value {
        let done = self.client(arguments).stderr(Stdio::piped()).output().unwrap();
        assert!(done.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).unwrap()
    }

    /// Asks the daemon to stop, and waits until it has.
    fn stop(mut self) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for GatewayDaemon {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// A Python with the client's libraries.
fn python(root: &Path) -> PathBuf {
    let directory = root.join("target/gateway-client");
    let script = root.join("tests/gateway/setup.sh");
    let done = Command::new(&script).arg(&directory).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "the client is missing; run {} and see why: {said}", script.display());
    directory.join("python/bin/python3")
}

/// A model that remembers a name, if it is told all of the conversation.
async fn provider() -> RawServer {
    RawServer::start(|asked| {
        let said = asked.body["messages"].to_string();
        let answer = if !asked.prompt().contains("What is my name") {
            "Nice to meet you."
        } else if said.contains("my name is Alice") {
            "Your name is Alice."
        } else {
            "I do not know."
        };
        RawServerReply::chat(&answer.split_inclusive(' ').map(str::to_owned).collect::<Vec<_>>())
    })
    .await
}

const ANY_PORT: &str = "listen = \"127.0.0.1:0\"\n";

#[tokio::test]
async fn the_steps_of_the_protocol_by_a_client_of_other_people() {
    let dir = tempfile::tempdir().unwrap();
    let provider = provider().await;
    let config = format!(
        "{ANY_PORT}[models]\ndefault = \"mock:m\"\n[providers.mock]\nkind = \"openai-chat\"\nmodels = [\"m\"]\n\
         base_url = \"http://{}/v1\"\n",
        provider.address
    );
    let place = dir.path().to_owned();
    tokio::task::spawn_blocking(move || {
        let daemon = GatewayDaemon::start(&place, &config);
        let learnt = daemon.ask(&["talk"]);
        daemon.stop();
        let daemon = GatewayDaemon::start(&place, &config);
        daemon.ask(&["again", &learnt.to_string()]);
        daemon.stop();
        let session = format!("sess_{}", learnt["key"].as_str().unwrap().replace('-', ""));
        let log =
            std::fs::read_to_string(place.join("data/sessions").join(session).join("events.ndjson")).unwrap();
        assert!(log.lines().count() > 10);
        assert!(log.lines().all(|line| serde_json::from_str::<Value>(line).unwrap().is_object()));
    })
    .await
    .unwrap();
}

#[test]
fn a_run_that_was_cut_short_by_a_crash_is_found_again_with_what_it_had_said() {
    let dir = tempfile::tempdir().unwrap();
    let config = format!("{ANY_PORT}[models]\ndefault = \"demo:demo\"\n");
    let daemon = GatewayDaemon::start(dir.path(), &config);
    let key = key_of_new_session(&daemon);
    let words = (1..60).map(|number| format!("w{number}")).collect::<Vec<_>>().join(" ");
    let mut client = daemon.client(&["follow", &key, &format!("say {words} slowly")]).spawn().unwrap();
    let mut lines = BufReader::new(client.stdout.take().unwrap()).lines();
    let run = lines.next().unwrap().unwrap();
    let mut seen = String::new();
    // Long enough for what came first to be on disk, where text that streams is kept twice a second.
    while !seen.contains("w40") {
        seen += &piece(&mut lines).expect("the answer goes on");
    }
    drop(daemon);
    while let Some(more) = piece(&mut lines) {
        seen += &more;
    }
    assert!(client.wait().unwrap().success(), "the client sees that the connection is lost");

    let daemon = GatewayDaemon::start(dir.path(), &config);
    let after = daemon.ask(&["after", &key, &run]);
    assert_eq!(after["status"], "failed");
    let kept = after["kept"][0].as_str().unwrap();
    assert!(kept.starts_with("w1 w2") && words.starts_with(kept.trim_end()), "{kept:?}");
    assert!(seen.starts_with(kept) || kept.starts_with(&seen), "{seen:?} was seen, {kept:?} was kept");
    daemon.stop();
}

/// The next piece of the answer; none when the connection is lost.
fn piece(lines: &mut Lines<BufReader<ChildStdout>>) -> Option<String> {
    serde_json::from_str(&lines.next()?.unwrap()).ok()
}

fn key_of_new_session(daemon: &GatewayDaemon) -> String {
    daemon.ask(&["create"])["key"].as_str().unwrap().to_owned()
}

#[test]
fn a_port_that_is_taken_does_not_keep_the_daemon_from_starting() {
    let dir = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let daemon = GatewayDaemon::start(
        dir.path(),
        &format!("listen = \"{address}\"\n[models]\ndefault = \"demo:demo\"\n"),
    );
    assert!(daemon.greeting.contains(&format!("{address} is unavailable")), "{}", daemon.greeting);
    assert!(daemon.url().ends_with("/gateway"));
    key_of_new_session(&daemon);
    daemon.stop();

    let daemon = GatewayDaemon::start(dir.path(), "enabled = false\n");
    assert!(!daemon.greeting.contains("gateway"), "{}", daemon.greeting);
    daemon.stop();
}
