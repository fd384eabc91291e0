//! `ostler export` and `ostler import`: files that other programs can open, and sessions that come back from them.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

use crate::process::binary;

fn run(dir: &Path, args: &[&str]) -> Output {
    binary()
        .args(args)
        .arg("--data-dir")
        .arg(dir.join("data"))
        .current_dir(dir.join("work"))
        .output()
        .unwrap()
}

fn ok(dir: &Path, args: &[&str]) -> String {
    let output = run(dir, args);
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn place() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    std::fs::write(dir.path().join("work/README.md"), "a file to read\n").unwrap();
    let output = run(dir.path(), &["run", "read README.md"]);
    let said = String::from_utf8(output.stderr).unwrap();
    let session = said.lines().find_map(|line| line.strip_prefix("session ")).unwrap().to_owned();
    (dir, session)
}

/// Runs Python, which has SQLite and zip of its own.
fn python(code: &str, file: &Path) -> String {
    let output = Command::new("python3").args(["-c", code]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn other_programs_open_what_was_exported() {
    let (dir, session) = place();
    let export = |format: &str, name: &str| {
        let file = dir.path().join(name);
        ok(dir.path(), &["export", &session, "--format", format, "-o", file.to_str().unwrap()]);
        file
    };
    let database = export("sqlite", "session.db");
    let roles = python(
        "import sqlite3,sys\nc=sqlite3.connect(sys.argv[1])\nassert c.execute('pragma integrity_check').fetchone()[0]=='ok'\n\
         print(' '.join(r for (r,) in c.execute('select role from messages order by id')))",
        &database,
    );
    assert!(roles.contains("user") && roles.contains("assistant") && roles.contains("tool"), "{roles}");
    let archive = export("zip", "session.zip");
    let names = python(
        "import zipfile,sys\nz=zipfile.ZipFile(sys.argv[1])\nassert z.testzip() is None\nprint(' '.join(z.namelist()))",
        &archive,
    );
    for name in ["events.ndjson", "session.json", "session.db", "context.md", "transcript.jsonl"] {
        assert!(names.split_whitespace().any(|known| known == name), "{name}: {names}");
    }
    let page = std::fs::read_to_string(export("html", "session.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && !page.to_lowercase().contains("<script"));
    let text = ok(dir.path(), &["export", &session]);
    assert!(text.starts_with("# Session Log"), "{text}");
    assert!(!dir.path().join("session.zip.part").exists());
    let unknown = run(dir.path(), &["export", "sess_0190f3c4a5b67c8d9e0f112233445566", "-o", "never.md"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(!dir.path().join("work/never.md").exists());
}

#[test]
fn a_session_goes_to_another_machine_and_on_there() {
    let (dir, session) = place();
    let archive = dir.path().join("session.zip");
    ok(dir.path(), &["export", &session, "--format", "zip", "-o", archive.to_str().unwrap()]);
    // Elsewhere there is no such directory, and the session goes on in the current one.
    let there = tempfile::tempdir().unwrap();
    std::fs::create_dir(there.path().join("work")).unwrap();
    std::fs::rename(dir.path().join("work"), dir.path().join("moved")).unwrap();
    let imported = ok(there.path(), &["import", archive.to_str().unwrap()]).trim().to_owned();
    assert_ne!(imported, session);
    let shown = ok(there.path(), &["sessions", "show", &imported, "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let work = there.path().join("work").canonicalize().unwrap();
    assert_eq!(shown["workspace_path"], work.to_str().unwrap());
    let turns = shown["turns"].as_array().unwrap().len();
    ok(there.path(), &["run", "--session", &imported, "list the files"]);
    let shown = ok(there.path(), &["sessions", "show", &imported, "--json"]);
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["turns"].as_array().unwrap().len(), turns + 1);
    std::fs::rename(dir.path().join("moved"), dir.path().join("work")).unwrap();
}

#[test]
fn a_file_may_come_from_a_pipe_and_a_bad_one_is_refused() {
    let (dir, session) = place();
    let lines = ok(dir.path(), &["export", &session, "--format", "ndjson"]);
    let import = |content: &str| {
        let mut command = binary();
        command
            .args(["import", "-", "--data-dir"])
            .arg(dir.path().join("data"))
            .current_dir(dir.path().join("work"));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), content.as_bytes()).unwrap();
        child.wait_with_output().unwrap()
    };
    let imported = import(&lines);
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let id = String::from_utf8(imported.stdout).unwrap().trim().to_owned();
    let messages = |id: &str| {
        ok(dir.path(), &["export", id, "--format", "md"])
            .lines()
            .skip(4)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(messages(&id), messages(&session));
    let bad = import(&lines.replace("README", "SECRET"));
    assert_eq!(bad.status.code(), Some(1));
    assert!(String::from_utf8(bad.stderr).unwrap().contains("line "), "the line is named");
}
