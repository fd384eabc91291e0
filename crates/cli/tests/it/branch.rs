//! `ostler fork`, `compact`, `context`, `note` and `run --plan`, as a person types them, with and without a daemon.

use std::path::Path;
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::process::{DaemonProcess, binary};

struct BranchFixture {
    dir: TempDir,
}

impl BranchFixture {
    fn new() -> BranchFixture {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("work")).unwrap();
        std::fs::write(dir.path().join("work/README.md"), "a file to read\n").unwrap();
        BranchFixture { dir }
    }

    fn data(&self) -> std::path::PathBuf {
        self.dir.path().join("data")
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let work: &Path = &self.dir.path().join("work");
        binary().args(args).arg("--data-dir").arg(self.data()).current_dir(work).output().unwrap()
    }

    /// What a command prints when all is well.
    fn ok(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{args:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// A session in which something was said.
    fn session(&self, prompt: &str) -> String {
        let output = self.run(&["run", prompt]);
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{said}");
        said.lines().find_map(|line| line.strip_prefix("session ")).unwrap().to_owned()
    }

    fn records(&self, session: &str) -> Vec<Value> {
        let lines = self.ok(&["export", session, "--format", "ndjson"]);
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn names(&self, session: &str) -> Vec<String> {
        self.records(session).iter().map(|record| record["type"].as_str().unwrap().to_owned()).collect()
    }
}

#[test]
fn a_fork_goes_its_own_way_with_and_without_a_daemon() {
    for with_daemon in [false, true] {
        let place = BranchFixture::new();
        let daemon = with_daemon.then(|| DaemonProcess::serve(&place.data(), ""));
        let session = place.session("list the files");
        let turn =
            place.records(&session).iter().find_map(|record| record["turn_id"].as_str().map(str::to_owned));
        place.ok(&["run", "--session", &session, "read README.md"]);
        let fork = place.ok(&["fork", &session, "--turn", &turn.unwrap()]).trim().to_owned();
        assert_ne!(fork, session);
        let count = |id: &str| place.names(id).iter().filter(|name| *name == "turn_completed").count();
        assert_eq!((count(&session), count(&fork)), (2, 1));
        place.ok(&["run", "--session", &fork, "say hello"]);
        assert_eq!((count(&session), count(&fork)), (2, 2));
        let unknown = place.run(&["fork", &session, "--turn", "turn_0190f3c4a5b67c8d9e0f112233445566"]);
        assert_eq!(unknown.status.code(), Some(1));
        drop(daemon);
    }
}

#[test]
fn a_note_waits_for_the_next_turn_and_the_context_has_it() {
    let place = BranchFixture::new();
    let session = place.session("list the files");
    let turns = |names: &[String]| names.iter().filter(|name| *name == "turn_started").count();
    let before = turns(&place.names(&session));
    let id = place.ok(&["note", &session, "mind the gap"]);
    assert!(id.starts_with("msg_"), "{id}");
    assert_eq!(turns(&place.names(&session)), before, "a note starts nothing");
    let table = place.ok(&["context", &session]);
    for piece in
        ["system prompt", "tools", "notes", "what was asked", "what the model said", "what tools answered"]
    {
        assert!(table.contains(piece), "{piece}: {table}");
    }
    let context: Value = serde_json::from_str(&place.ok(&["context", &session, "--json"])).unwrap();
    let sum: u64 =
        context["sections"].as_array().unwrap().iter().map(|it| it["tokens"].as_u64().unwrap()).sum();
    assert!(sum > 0 && context["messages"].as_u64().unwrap() >= 4, "{context}");
    let output = place.run(&["note", &session, "-"]);
    assert_eq!(output.status.code(), Some(2), "an empty note says nothing");
}

#[test]
fn a_compaction_is_followed_to_its_end() {
    let place = BranchFixture::new();
    let session = place.session("list the files");
    for prompt in ["read README.md", "list the files"] {
        place.ok(&["run", "--session", &session, prompt]);
    }
    let said = place.ok(&["compact", &session]);
    assert!(said.contains("completed"), "{said}");
    let names = place.names(&session);
    assert_eq!(names.last().map(String::as_str), Some("turn_completed"), "{names:?}");
    let is_shorter = names.iter().any(|name| name == "context_compacted");
    let line = if is_shorter { "≡ conversation compacted" } else { "≡ nothing to compact: " };
    assert!(said.contains(line), "{said}");
    assert!(said.contains("context: about ") && said.contains(" tokens"), "{said}");
    place.ok(&["run", "--session", &session, "read README.md"]);
}

#[test]
fn a_plan_is_divided_among_sessions_and_its_exit_code_tells_how_it_went() {
    let place = BranchFixture::new();
    std::fs::write(
        place.path("plan.toml"),
        "concurrency = 2\n[[subtasks]]\nid = \"one\"\ndescription = \"look around\"\nprompt = \"list the files\"\n\
         [[subtasks]]\nid = \"two\"\nprompt = \"read README.md\"\ndepends_on = [\"one\"]\n",
    )
    .unwrap();
    let plan = place.path("plan.toml");
    let output = place.run(&["run", "--plan", plan.to_str().unwrap()]);
    let (shown, said) =
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!(output.status.code(), Some(0), "{shown}{said}");
    for line in ["⑂ one: look around  sess_", "  ⑂ one completed (", "⑂ two  sess_", "  ⑂ two completed ("]
    {
        assert_eq!(shown.matches(line).count(), 1, "{line}: {shown}");
    }
    let session = said.lines().find_map(|line| line.strip_prefix("session ")).unwrap().to_owned();
    let listed = place.ok(&["sessions", "list"]);
    assert_eq!(place.ok(&["sessions"]), listed, "what else would be meant");
    assert_eq!(listed.lines().count(), 1, "sub-agents are not in the way: {listed}");
    let names = place.names(&session);
    let count = |name: &str| names.iter().filter(|known| *known == name).count();
    assert_eq!((count("subagent_started"), count("subagent_completed")), (2, 2), "{names:?}");
    for (text, why) in [("", "no plan"), ("subtasks = []", "between 1 and")] {
        std::fs::write(&plan, text).unwrap();
        let output = place.run(&["run", "--plan", plan.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8(output.stderr).unwrap().contains(why));
    }
    let both = place.run(&["run", "hello", "--plan", plan.to_str().unwrap()]);
    assert_eq!(both.status.code(), Some(2));
}

#[test]
fn readable_files_lie_where_they_were_asked_for() {
    let place = BranchFixture::new();
    let logs = place.path("logs");
    let output = place.run(&["run", "list the files", "--verbose", "--log-dir", logs.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let folder = std::fs::read_dir(&logs).unwrap().next().unwrap().unwrap();
    let name = folder.file_name().into_string().unwrap();
    assert!(name.contains("_repl_"), "{name}");
    for file in ["session.db", "context.md", "verbose.md"] {
        assert!(folder.path().join(file).is_file(), "{file}");
    }
}
