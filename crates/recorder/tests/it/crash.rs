//! Views that were left in a hurry: nothing is doubled, nothing is lost.

use std::fs::{self, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use ostler_recorder::SessionViews;
use ostler_types::SessionId;
use rusqlite::Connection;
use uuid::Uuid;

use crate::session_builder::{SessionBuilder, ViewContents, session_id, view_contents};

const TEXTS: [&str; 3] = ["context.md", "transcript.jsonl", "verbose.md"];

fn fresh(story: &SessionBuilder) -> ViewContents {
    let dir = tempfile::tempdir().unwrap();
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records).unwrap();
    drop(views);
    view_contents(dir.path())
}

/// Opens the views, brings them up to the story and compares them with fresh ones.
fn recovers(dir: &Path, story: &SessionBuilder, position: u64) {
    let mut views = SessionViews::open(dir, session_id()).unwrap();
    assert_eq!(views.position(), position);
    views.apply(&story.records[position as usize..]).unwrap();
    drop(views);
    assert_eq!(view_contents(dir), fresh(story));
}

#[test]
fn text_that_was_never_committed_is_cut_off() {
    let story = SessionBuilder::eventful(true);
    let dir = tempfile::tempdir().unwrap();
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records[..6]).unwrap();
    drop(views);
    let before: Vec<Vec<u8>> = TEXTS.map(|name| fs::read(dir.path().join(name)).unwrap()).to_vec();
    let database = fs::read(dir.path().join("session.db")).unwrap();
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records).unwrap();
    drop(views);
    let after: Vec<Vec<u8>> = TEXTS.map(|name| fs::read(dir.path().join(name)).unwrap()).to_vec();
    // The machine stops after each byte that is appended, before the commit.
    for (file, name) in TEXTS.iter().enumerate() {
        for length in (before[file].len()..=after[file].len()).step_by(7) {
            fs::write(dir.path().join("session.db"), &database).unwrap();
            for (other, other_name) in TEXTS.iter().enumerate() {
                let content = if other < file { &after[other] } else { &before[other] };
                fs::write(dir.path().join(other_name), content).unwrap();
            }
            fs::write(dir.path().join(name), &after[file][..length]).unwrap();
            recovers(dir.path(), &story, 6);
        }
    }
}

/// Does something bad to a folder.
type Spoil = fn(&Path);

#[test]
fn files_that_cannot_be_trusted_are_made_again() {
    let story = SessionBuilder::eventful(true);
    let ways: [(&str, Spoil); 9] = [
        ("a text is shorter", |dir| {
            let file = OpenOptions::new().write(true).open(dir.join("transcript.jsonl")).unwrap();
            file.set_len(10).unwrap();
        }),
        ("a text is gone", |dir| fs::remove_file(dir.join("context.md")).unwrap()),
        ("a text is a link", |dir| {
            let path = dir.join("context.md");
            fs::rename(&path, dir.join("aside")).unwrap();
            std::os::unix::fs::symlink(dir.join("aside"), path).unwrap();
        }),
        ("the database is gone", |dir| fs::remove_file(dir.join("session.db")).unwrap()),
        ("the database is empty", |dir| fs::write(dir.join("session.db"), "").unwrap()),
        ("the database is none", |dir| fs::write(dir.join("session.db"), [b'x'; 5000]).unwrap()),
        ("the database is cut", |dir| {
            let file = OpenOptions::new().write(true).open(dir.join("session.db")).unwrap();
            file.set_len(8192).unwrap();
        }),
        ("the database lacks a table", |dir| {
            Connection::open(dir.join("session.db")).unwrap().execute_batch("DROP TABLE metadata").unwrap();
        }),
        ("the machine went down while it was open", |dir| {
            let sql = "INSERT INTO metadata VALUES ('written_in_boot', 'an earlier one') \
                       ON CONFLICT (key) DO UPDATE SET value = excluded.value";
            Connection::open(dir.join("session.db")).unwrap().execute_batch(sql).unwrap();
        }),
    ];
    for (what, spoil) in ways {
        let dir = tempfile::tempdir().unwrap();
        let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
        views.apply(&story.records[..9]).unwrap();
        views.close().unwrap();
        spoil(dir.path());
        let views = SessionViews::open(dir.path(), session_id()).unwrap();
        assert_eq!(views.position(), 0, "{what}");
        drop(views);
        recovers(dir.path(), &story, 0);
    }
}

#[test]
fn the_views_of_another_session_are_not_gone_on_with() {
    let story = SessionBuilder::eventful(false);
    let dir = tempfile::tempdir().unwrap();
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records).unwrap();
    views.close().unwrap();
    let other = SessionId::new(Uuid::from_u128(5));
    assert_eq!(SessionViews::open(dir.path(), other).unwrap().position(), 0);
}

#[test]
fn records_that_are_there_are_passed_over_and_holes_are_refused() {
    let story = SessionBuilder::eventful(true);
    let dir = tempfile::tempdir().unwrap();
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records[..5]).unwrap();
    views.apply(&story.records[..5]).unwrap();
    views.apply(&story.records[2..8]).unwrap();
    assert!(views.apply(&story.records[10..]).unwrap_err().to_string().contains("record 11"), "a hole");
    assert_eq!(views.position(), 8);
    views.apply(&story.records).unwrap();
    views.apply(&[]).unwrap();
    drop(views);
    assert_eq!(view_contents(dir.path()), fresh(&story));
}

#[test]
fn a_write_that_fails_changes_nothing() {
    let story = SessionBuilder::eventful(false);
    let dir = tempfile::tempdir().unwrap();
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records[..5]).unwrap();
    // A folder where the last text file should be: the first one has been written by then.
    let path = dir.path().join("transcript.jsonl");
    let aside = dir.path().join("aside");
    fs::rename(&path, &aside).unwrap();
    fs::create_dir(&path).unwrap();
    let context = fs::read(dir.path().join("context.md")).unwrap();
    let error = views.apply(&story.records).unwrap_err().to_string();
    assert!(error.contains("transcript.jsonl"), "{error}");
    assert_eq!(fs::read(dir.path().join("context.md")).unwrap(), context, "cut back to what is committed");
    fs::remove_dir(&path).unwrap();
    fs::rename(&aside, &path).unwrap();
    views.apply(&story.records).unwrap();
    drop(views);
    assert_eq!(view_contents(dir.path()), fresh(&story));
}

#[test]
fn a_folder_that_is_not_there_is_not_made() {
    let dir = tempfile::tempdir().unwrap();
    assert!(SessionViews::open(&dir.path().join("gone"), session_id()).is_err());
    assert!(!dir.path().join("gone").exists());
    fs::create_dir(dir.path().join("session.db")).unwrap();
    assert!(SessionViews::open(dir.path(), session_id()).is_err(), "a folder in the way is not removed");
    assert_eq!(fs::metadata(dir.path()).unwrap().permissions().mode() & 0o700, 0o700);
}

/// Where the child below writes.
const CHILD_DIR: &str = "OSTLER_TEST_VIEWS";

fn long_story() -> SessionBuilder {
    let mut story = SessionBuilder::verbose();
    for n in 0..400 {
        story.user(&format!("question {n}")).answer("hm", &format!("answer {n}"), &[]);
        story.end_turn();
    }
    story
}

/// Not a test of its own: what the next one starts and kills.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Ok(dir) = std::env::var(CHILD_DIR) else { return };
    let story = long_story();
    let mut views = SessionViews::open(Path::new(&dir), session_id()).unwrap();
    for records in story.records.chunks(5) {
        views.apply(records).unwrap();
        println!("written");
        std::io::stdout().flush().unwrap();
    }
}

#[test]
fn views_that_a_killed_process_had_open_start_over() {
    let story = long_story();
    for batches in [1, 3, 10, 30, 60] {
        let dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "crash::child_that_writes_until_it_is_killed",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(CHILD_DIR, dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let seen = lines.filter(|line| line.ends_with("written")).take(batches).count();
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(seen, batches, "the child wrote");
        recovers(dir.path(), &story, 0);
    }
}

/// Every page of a commit is written in its turn, and the process is killed after each.
#[test]
fn a_commit_that_was_cut_short_is_noticed() {
    let story = SessionBuilder::eventful(true);
    let dir = tempfile::tempdir().unwrap();
    let database = dir.path().join("session.db");
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records[..6]).unwrap();
    let before = fs::read(&database).unwrap();
    views.apply(&story.records).unwrap();
    let after = fs::read(&database).unwrap();
    let texts: Vec<Vec<u8>> = TEXTS.map(|name| fs::read(dir.path().join(name)).unwrap()).to_vec();
    drop(views);
    let page = usize::from(u16::from_be_bytes([after[16], after[17]]));
    assert!(after.len() > 8 * page, "there is more than one page to be cut between");
    for written in (0..=after.len()).step_by(page) {
        let torn = [&after[..written], before.get(written..).unwrap_or_default()].concat();
        fs::write(&database, torn).unwrap();
        for (name, text) in TEXTS.iter().zip(&texts) {
            fs::write(dir.path().join(name), text).unwrap();
        }
        recovers(dir.path(), &story, 0);
    }
}

#[test]
fn nothing_but_the_database_is_left_beside_it_while_it_is_written() {
    let story = SessionBuilder::eventful(false);
    let dir = tempfile::tempdir().unwrap();
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    for records in story.records.chunks(3) {
        views.apply(records).unwrap();
        assert_eq!(crate::names(dir.path()), ["context.md", "session.db", "transcript.jsonl"]);
        // As somebody would who copies the file while the daemon runs.
        let copy = dir.path().join("copy");
        fs::copy(dir.path().join("session.db"), &copy).unwrap();
        let checked: String = Connection::open(&copy)
            .unwrap()
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .unwrap();
        assert_eq!(checked, "ok");
        fs::remove_file(&copy).unwrap();
    }
}
