//! A data directory that an earlier version wrote (`tests/make_data_dir.py`), opened by this one: nothing of it is lost,
//! and what was left open goes on.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use ostler_api_types::{ApprovalAnswerBody, CreateSession, SendMessage, UndoTurn, UsageBy};
use ostler_client::{Client, ClientError, ExportFormat, SessionFilter, UsageFilter};
use ostler_types::{SessionId, TurnId, Verdict};
use serde_json::Value;
use tempfile::TempDir;

use crate::agents::fault;
use crate::page::{list, status};
use crate::process::{DaemonProcess, binary};
use crate::scenario::export;

/// Where its workspaces must lie: their paths are in the logs, whose chains cover every byte.
const PLACE: &str = "/tmp/ostler-fixture";

#[tokio::test]
async fn data_directories_of_earlier_versions_are_whole_and_go_on() {
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/data-dirs");
    let archives: Vec<PathBuf> = std::fs::read_dir(place)
        .unwrap()
        .map(|entry| entry.unwrap().path().canonicalize().unwrap())
        .collect();
    assert!(!archives.is_empty());
    for archive in archives {
        is_whole_and_goes_on(OldData::unpack(&archive)).await;
    }
}

async fn is_whole_and_goes_on(old: OldData) {
    let lines = old.lines();
    old.doctor(&[]);
    let daemon = DaemonProcess::serve(&old.data, &fault(&Path::new(PLACE).join("notes"), &[]));
    let client = daemon.tcp_client().await;
    let old = OpenedOldData { old, client };
    old.what_was_there_is_there(&lines).await;
    old.settings_hold(&daemon).await;
    old.what_was_left_open_goes_on().await;
    old.sessions_go_on().await;
    old.sessions_are_copied().await;
    old.a_turn_is_undone().await;
    daemon.signal(rustix::process::Signal::TERM);
    assert!(daemon.wait().success());
    old.old.doctor(&[]);
    old.old.doctor(&["--rebuild"]);
    for (id, lines) in &lines {
        assert!(old.old.lines()[id].starts_with(lines), "{id} has changed");
    }
}

/// What the archive holds, unpacked.
struct OldData {
    _dir: TempDir,
    data: PathBuf,
    /// The ids, and what the old daemon said of its sessions.
    made: Value,
    /// Held while the place is used, since another run may test on this machine, too.
    _place: File,
}

impl OldData {
    fn unpack(archive: &Path) -> OldData {
        let dir = tempfile::tempdir().unwrap();
        let unpacked =
            Command::new("tar").arg("-xzpf").arg(archive).current_dir(dir.path()).status().unwrap();
        assert!(unpacked.success());
        std::fs::create_dir_all(PLACE).unwrap();
        let place = File::open(PLACE).unwrap();
        place.lock().unwrap();
        for name in ["workspace", "trusted", "reviewed", "notes"] {
            let target = Path::new(PLACE).join(name);
            _ = std::fs::remove_dir_all(&target);
            let copied =
                Command::new("cp").arg("-a").arg(dir.path().join("place").join(name)).arg(&target).status();
            assert!(copied.unwrap().success(), "{PLACE} belongs to somebody else; remove it");
        }
        let made = serde_json::from_slice(&std::fs::read(dir.path().join("made.json")).unwrap()).unwrap();
        let data = dir.path().join("data");
        // A login lasts 30 days, this test for ever.
        let logins = std::fs::read_to_string(data.join("logins.json")).unwrap();
        let mut logins: Value = serde_json::from_str(&logins).unwrap();
        logins[0]["expires_at"] = "2100-01-01T00:00:00Z".into();
        std::fs::write(data.join("logins.json"), logins.to_string()).unwrap();
        OldData { data, _dir: dir, made, _place: place }
    }

    /// The log of each session, line by line.
    fn lines(&self) -> BTreeMap<SessionId, Vec<String>> {
        let read = |id: &String| {
            // The folder of a child is found by a link.
            let log = self.data.join("sessions").join(id).join("events.ndjson");
            let text = std::fs::read_to_string(log).unwrap();
            // A space at the end of a line marks a batch that goes on; clients are not shown it.
            (id.parse().unwrap(), text.lines().map(|line| line.trim_end().to_owned()).collect())
        };
        self.made["sessions"].as_object().unwrap().keys().map(read).collect()
    }

    /// Checks every log, chains included, while no daemon runs.
    fn doctor(&self, arguments: &[&str]) {
        let output =
            binary().arg("doctor").args(arguments).arg("--data-dir").arg(&self.data).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    fn id(&self, name: &str) -> SessionId {
        self.made[name].as_str().unwrap().parse().unwrap()
    }

    fn turn(&self, name: &str) -> TurnId {
        self.made[name].as_str().unwrap().parse().unwrap()
    }

    fn work(&self, name: &str) -> PathBuf {
        Path::new(PLACE).join("workspace").join(name)
    }
}

/// The same with a daemon of this version on it.
struct OpenedOldData {
    old: OldData,
    client: Client,
}

impl OpenedOldData {
    async fn what_was_there_is_there(&self, lines: &BTreeMap<SessionId, Vec<String>>) {
        let filter = SessionFilter { children: true, limit: Some(200), ..SessionFilter::default() };
        let listed = self.client.list_sessions(&filter).await.unwrap().sessions;
        assert_eq!(listed.len(), lines.len());
        for listed in listed {
            let (id, was) = (listed.session.id, &self.old.made["sessions"][listed.session.id.to_string()]);
            let now = serde_json::to_value(&listed.session).unwrap();
            for field in
                ["title", "name", "workspace_path", "agent", "model", "archived", "pinned", "created_at"]
            {
                assert_eq!(now[field], was[field], "{field} of {id}");
            }
            assert!(listed.last_seq >= was["last_seq"].as_u64().unwrap(), "{id}");
            assert_eq!(self.client.session(id).await.unwrap().session.title, listed.session.title);
            let shown = export(&self.client, id).await;
            assert!(shown.starts_with(&lines[&id]), "{id} is shown other lines than were written");
        }
        let removed = self.client.session(self.old.id("removed")).await;
        assert!(matches!(removed, Err(ClientError::Refused { status: 404, .. })), "{removed:?}");
        let of_parent = SessionFilter { parent: Some(self.old.id("parent")), ..SessionFilter::default() };
        let mut children = self.client.list_sessions(&of_parent).await.unwrap().sessions;
        children.sort_by_key(|child| child.session.id);
        let children: Vec<Value> = children.iter().map(|child| child.session.id.to_string().into()).collect();
        assert_eq!(Value::from(children), self.old.made["children"]);
        let found = SessionFilter { q: Some("kept for later".to_owned()), ..SessionFilter::default() };
        let found =
            self.client.list_sessions(&SessionFilter { archived: Some(true), ..found }).await.unwrap();
        assert_eq!(found.sessions[0].session.id, self.old.id("archived"));
        let usage = self.client.usage(&UsageFilter::new(UsageBy::Total)).await.unwrap().total;
        assert!(usage.steps >= self.old.made["usage"]["steps"].as_u64().unwrap(), "{usage:?}");
    }

    async fn settings_hold(&self, daemon: &DaemonProcess) {
        let trusted = Path::new(PLACE).join("trusted");
        assert!(self.client.is_trusted(trusted.to_str().unwrap()).await.unwrap());
        assert!(!self.client.is_trusted(self.old.work("").to_str().unwrap()).await.unwrap());
        let projects = self.client.projects().await.unwrap();
        assert_eq!(projects.len(), 1);
        assert_eq!(Value::from(projects[0].id.to_string()), self.old.made["project"]);
        let cookie = self.old.made["cookie"].as_str().unwrap().to_owned();
        let address = daemon.address.unwrap();
        let answer = tokio::task::spawn_blocking(move || list(address, &cookie)).await.unwrap();
        assert_eq!(status(&answer), "200", "{answer}");
        // The rule that was remembered for ever allows the command without a question.
        std::fs::remove_file(self.old.work("always.txt")).unwrap();
        let id = self.create(CreateSession::default()).await;
        self.completes(id, "run `touch always.txt`").await;
        assert!(self.old.work("always.txt").exists());
    }

    async fn what_was_left_open_goes_on(&self) {
        let waiting = self.old.id("waiting");
        let view = self.client.session(waiting).await.unwrap();
        assert_eq!((view.pending_approvals.len(), view.queue.len()), (1, 1));
        let queued = view.queue[0].turn_id;
        self.approve(waiting).await;
        self.ends(waiting, view.running_turn_id.unwrap(), "turn_completed").await;
        assert_eq!(std::fs::read_to_string(self.old.work("pending.txt")).unwrap(), "pending\n");
        self.ends(waiting, queued, "turn_completed").await;
        assert!(self.says(waiting, "the queue goes on").await);

        let review = self.old.id("review");
        let turn = self.client.session(review).await.unwrap().running_turn_id.unwrap();
        self.approve(review).await;
        self.ends(review, turn, "turn_completed").await;
        assert_eq!(
            std::fs::read_to_string(Path::new(PLACE).join("reviewed/reviewed.txt")).unwrap().trim(),
            "Reviewed"
        );

        let quiet = self.old.id("quiet");
        let turn = self.client.run(quiet).await.unwrap();
        self.ends(quiet, turn, "turn_completed").await;

        let interrupted = self.old.id("interrupted");
        let end = self.ends(interrupted, self.old.turn("interrupted_turn"), "turn_failed").await;
        assert_eq!(end["data"]["reason"], "interrupted", "{end}");
        assert!(self.says(interrupted, "word0 word1").await, "what was in the draft is kept");
    }

    async fn sessions_go_on(&self) {
        let conversation = self.old.id("conversation");
        let note = self.client.attachment(conversation, "note.txt").await.unwrap();
        assert_eq!(&note[..], b"an attached note\n");
        let turn = self.old.turn("artifact_turn");
        let artifacts = self.client.artifacts(conversation, turn).await.unwrap();
        let content = self.client.artifact(conversation, turn, &artifacts.files[0].name).await.unwrap();
        assert!(content.windows(6).any(|bytes| bytes == b"11999\n"), "{} bytes", content.len());
        assert!(self.client.context(conversation).await.unwrap().tokens > 0);
        let messages = self.client.messages(conversation, None, Some(200)).await.unwrap().messages;
        assert!(messages.len() > 10, "{}", messages.len());
        for name in
            ["conversation", "changes", "fork", "parent", "archived", "import", "waiting", "interrupted"]
        {
            self.completes(self.old.id(name), "read README.md").await;
        }
        self.completes(self.old.id("foreign"), "say:again").await;
        let closed = self.client.send_message(self.old.id("closed"), &SendMessage::prompt("say more")).await;
        assert!(matches!(closed, Err(ClientError::Refused { status: 409, .. })), "{closed:?}");
        let again =
            CreateSession { idempotency_key: Some("the parent".to_owned()), ..CreateSession::default() };
        assert_eq!(self.create(again).await, self.old.id("parent"));
        let taken = self
            .in_old_workspace(CreateSession { name: Some("parent".to_owned()), ..CreateSession::default() });
        let taken = self.client.create_session(&taken).await;
        assert!(matches!(taken, Err(ClientError::Refused { status: 409, .. })), "{taken:?}");
        self.create(CreateSession { name: Some("was-named".to_owned()), ..CreateSession::default() }).await;
    }

    async fn sessions_are_copied(&self) {
        let conversation = self.old.id("conversation");
        let fork = self.client.fork(conversation, None).await.unwrap();
        self.completes(fork, "say this is another fork").await;
        assert_eq!(&self.client.attachment(fork, "note.txt").await.unwrap()[..], b"an attached note\n");
        for (name, format) in [("conversation", ExportFormat::Zip), ("parent", ExportFormat::Ndjson)] {
            let content = self.download(self.old.id(name), format).await;
            let import = self.client.import(content, None, None).await.unwrap();
            self.completes(import, "say it was imported").await;
        }
        for format in [ExportFormat::Markdown, ExportFormat::Html, ExportFormat::Sqlite] {
            assert!(!self.download(conversation, format).await.is_empty());
        }
    }

    async fn a_turn_is_undone(&self) {
        let changed = self.old.work("changed.txt");
        assert_eq!(std::fs::read_to_string(&changed).unwrap().trim(), "After");
        let undo = UndoTurn { turn_id: self.old.turn("undo_turn"), preview: None, force: None };
        let undone = self.client.undo(self.old.id("changes"), &undo).await.unwrap();
        assert!(undone.restored.iter().any(|path| path == "changed.txt"), "{undone:?}");
        assert_eq!(std::fs::read_to_string(&changed).unwrap(), "before\n");
    }

    fn in_old_workspace(&self, session: CreateSession) -> CreateSession {
        let workspace_path = self.old.work("").to_str().unwrap().trim_end_matches('/').to_owned();
        CreateSession { workspace_path, ..session }
    }

    async fn create(&self, session: CreateSession) -> SessionId {
        self.client.create_session(&self.in_old_workspace(session)).await.unwrap()
    }

    /// Runs a turn that needs no answer.
    async fn completes(&self, id: SessionId, prompt: &str) {
        let turn = self.client.send_message(id, &SendMessage::prompt(prompt)).await.unwrap().turn_id.unwrap();
        self.ends(id, turn, "turn_completed").await;
    }

    /// Follows a session until a turn ends as it should.
    async fn ends(&self, id: SessionId, turn: TurnId, expected: &str) -> Value {
        let mut events = self.client.events(id, 0, true).await.unwrap();
        while let Some(line) = events.next().await {
            let line = line.unwrap();
            let is_end = matches!(line.name.as_str(), "turn_completed" | "turn_failed" | "turn_canceled");
            let record: Value = serde_json::from_str(&line.raw).unwrap();
            if is_end && record["turn_id"] == turn.to_string() {
                assert_eq!(line.name, expected, "{record}");
                return record;
            }
            assert!(
                line.name != "approval_requested"
                    || record["turn_id"] != turn.to_string()
                    || self.was_asked(&record),
                "{record}"
            );
        }
        panic!("the stream of {id} ended before {turn}");
    }

    /// Whether the old daemon had asked this already.
    fn was_asked(&self, record: &Value) -> bool {
        let known = &self.old.made["sessions"][record["session_id"].as_str().unwrap()]["last_seq"];
        known.as_u64() >= record["seq"].as_u64()
    }

    async fn approve(&self, id: SessionId) {
        let asked =
            self.client.approvals().await.unwrap().into_iter().find(|asked| asked.session_id == id).unwrap();
        let (turn_id, tool_call_id, action) = (asked.turn_id, asked.tool_call_id, Verdict::Approve);
        let answer = ApprovalAnswerBody {
            turn_id: Some(turn_id),
            tool_call_id,
            action,
            scope: None,
            reason: None,
            review: None,
            option: None,
        };
        self.client.approve(id, &answer).await.unwrap();
    }

    async fn says(&self, id: SessionId, text: &str) -> bool {
        let messages = self.client.messages(id, None, Some(50)).await.unwrap().messages;
        messages.iter().any(|message| {
            message.role == ostler_types::Role::Assistant
                && serde_json::to_string(message).unwrap().contains(text)
        })
    }

    async fn download(&self, id: SessionId, format: ExportFormat) -> Bytes {
        let mut download = self.client.download(id, format).await.unwrap();
        let mut content = BytesMut::new();
        while let Some(bytes) = download.next().await.unwrap() {
            content.extend_from_slice(&bytes);
        }
        content.freeze()
    }
}
