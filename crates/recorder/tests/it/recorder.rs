//! The recorder, which keeps the views of many sessions in step with their logs.

use std::collections::HashMap;
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use ostler_recorder::{RecordSource, RecordSourceError, Recorder, SessionViews, ViewFolder, WriteDelay};
use ostler_types::{NewSession, Record, SessionId};
use rusqlite::Connection;
use tokio::runtime::Builder;
use uuid::Uuid;

use crate::names;
use crate::session_builder::{SessionBuilder, at, session_id, view_contents};

/// Logs in memory.
struct MemoryRecordSource {
    root: tempfile::TempDir,
    logs: Mutex<HashMap<SessionId, Vec<Record>>>,
    reads: AtomicUsize,
    /// A session whose log cannot be read without a panic.
    cursed: Option<SessionId>,
}

impl MemoryRecordSource {
    fn new() -> MemoryRecordSource {
        let (root, logs) = (tempfile::tempdir().unwrap(), Mutex::new(HashMap::new()));
        MemoryRecordSource { root, logs, reads: AtomicUsize::new(0), cursed: None }
    }

    fn dir(&self, session: SessionId) -> PathBuf {
        self.root.path().join(session.to_string())
    }

    fn put(&self, story: &SessionBuilder) {
        let id = story.session.id;
        fs::create_dir_all(self.dir(id)).unwrap();
        self.logs.lock().unwrap().insert(id, story.records.clone());
    }
}

impl RecordSource for MemoryRecordSource {
    fn last_seq(&self, session: SessionId) -> Result<u64, RecordSourceError> {
        Ok(self.logs.lock().unwrap().get(&session).map_or(0, |log| log.len() as u64))
    }

    fn read(&self, session: SessionId, from: u64) -> Result<Vec<Record>, RecordSourceError> {
        assert_ne!(Some(session), self.cursed, "cursed");
        self.reads.fetch_add(1, Ordering::Relaxed);
        let logs = self.logs.lock().unwrap();
        let log = logs.get(&session).ok_or("no such session")?;
        Ok(log.iter().skip(from as usize - 1).take(4).cloned().collect())
    }

    fn folder(&self, session: SessionId) -> Result<ViewFolder, RecordSourceError> {
        Ok(ViewFolder::Existing(self.dir(session)))
    }
}

fn run<T>(future: impl Future<Output = T>) -> T {
    Builder::new_current_thread().build().unwrap().block_on(future)
}

fn numbered(n: u128) -> SessionBuilder {
    let id = SessionId::new(Uuid::from_u128(n));
    let mut story = SessionBuilder::from_session(NewSession::new(id, at(0), "/w", "test:model"));
    story.user("hello").answer("", "hi", &[]);
    story.end_turn();
    story
}

#[test]
fn a_noted_session_is_written() {
    let memory = Arc::new(MemoryRecordSource::new());
    let recorder = Recorder::start(memory.clone()).unwrap();
    let story = SessionBuilder::eventful(true);
    memory.put(&story);
    for _ in 0..1000 {
        recorder.notify(session_id(), WriteDelay::DuringTurn);
    }
    run(recorder.flush(session_id())).unwrap();
    assert!(memory.reads.load(Ordering::Relaxed) <= 20, "hints are not counted");
    run(recorder.forget(session_id()));
    let dir = memory.dir(session_id());
    let anew = tempfile::tempdir().unwrap();
    ostler_recorder::rebuild(anew.path(), session_id(), story.records.into_iter().map(Ok)).unwrap();
    assert_eq!(view_contents(&dir), view_contents(anew.path()));
}

#[test]
fn more_sessions_than_can_be_open_are_all_written() {
    let memory = Arc::new(MemoryRecordSource::new());
    let recorder = Recorder::start(memory.clone()).unwrap();
    let mut stories: Vec<SessionBuilder> = (1..=100).map(numbered).collect();
    for _ in 0..2 {
        for story in &mut stories {
            story.user("again").answer("", "yes", &[]);
            story.end_turn();
            memory.put(story);
            recorder.notify(story.session.id, WriteDelay::AfterTurn);
        }
        run(recorder.flush_all()).unwrap();
        for story in &stories {
            let context = fs::read_to_string(memory.dir(story.session.id).join("context.md")).unwrap();
            let answers =
                story.records.iter().filter(|r| r.event.name().as_str() == "model_output_completed").count();
            assert_eq!(context.matches("## Assistant").count(), answers);
        }
        let open = open_databases(memory.root.path());
        assert!(open > 0 && open <= 64, "{open}");
    }
}

/// How many files under this folder the process has open.
fn open_databases(root: &Path) -> usize {
    let open = fs::read_dir("/proc/self/fd").unwrap();
    open.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok())
        .filter(|path| path.starts_with(root))
        .count()
}

#[test]
fn what_was_noted_is_written_before_the_end() {
    let memory = Arc::new(MemoryRecordSource::new());
    let recorder = Recorder::start(memory.clone()).unwrap();
    let mut story = SessionBuilder::eventful(false);
    memory.put(&story);
    recorder.notify(session_id(), WriteDelay::DuringTurn);
    run(recorder.flush(session_id())).unwrap();
    // This one would have to wait for a while.
    story.user("one more");
    memory.put(&story);
    recorder.notify(session_id(), WriteDelay::DuringTurn);
    drop(recorder);
    let views = SessionViews::open(&memory.dir(session_id()), session_id()).unwrap();
    assert_eq!(views.position(), story.records.len() as u64);
}

#[test]
fn a_log_that_was_cut_back_takes_the_views_with_it() {
    let memory = Arc::new(MemoryRecordSource::new());
    let recorder = Recorder::start(memory.clone()).unwrap();
    let mut story = SessionBuilder::eventful(false);
    memory.put(&story);
    run(recorder.flush(session_id())).unwrap();
    story.records.truncate(4);
    memory.put(&story);
    run(recorder.flush(session_id())).unwrap();
    drop(recorder);
    let dir = memory.dir(session_id());
    assert_eq!(SessionViews::open(&dir, session_id()).unwrap().position(), 4);
    assert!(!fs::read_to_string(dir.join("context.md")).unwrap().contains("Thanks"));
}

#[test]
fn one_session_that_cannot_be_written_harms_no_other() {
    let cursed = SessionId::new(Uuid::from_u128(3));
    let memory = Arc::new(MemoryRecordSource { cursed: Some(cursed), ..MemoryRecordSource::new() });
    let recorder = Recorder::start(memory.clone()).unwrap();
    let (blocked, good, bad) = (numbered(1), numbered(2), numbered(3));
    [&blocked, &good, &bad].iter().for_each(|story| memory.put(story));
    // Something that is in the way, since the tests may run as one who may write everywhere.
    let obstacle = memory.dir(blocked.session.id).join("session.db");
    fs::create_dir(&obstacle).unwrap();
    let error = run(recorder.flush(blocked.session.id)).unwrap_err().to_string();
    assert!(error.contains("session.db"), "{error}");
    let error = run(recorder.flush(bad.session.id)).unwrap_err().to_string();
    assert!(error.contains("panicked"), "{error}");
    run(recorder.flush(good.session.id)).unwrap();
    assert_eq!(names(&memory.dir(good.session.id)), ["context.md", "session.db", "transcript.jsonl"]);
    fs::remove_dir(&obstacle).unwrap();
    run(recorder.flush(blocked.session.id)).unwrap();
    assert_eq!(names(&memory.dir(blocked.session.id)), ["context.md", "session.db", "transcript.jsonl"]);
}

#[test]
fn a_session_that_is_gone_is_let_go() {
    let memory = Arc::new(MemoryRecordSource::new());
    let recorder = Recorder::start(memory.clone()).unwrap();
    let story = SessionBuilder::eventful(false);
    memory.put(&story);
    run(recorder.flush(session_id())).unwrap();
    run(recorder.forget(session_id()));
    fs::remove_dir_all(memory.dir(session_id())).unwrap();
    memory.logs.lock().unwrap().clear();
    recorder.notify(session_id(), WriteDelay::AfterTurn);
    run(recorder.flush_all()).unwrap();
    assert!(!memory.dir(session_id()).exists(), "nothing is made for it");
}

#[test]
fn a_rebuild_by_the_recorder_goes_on_afterwards() {
    let memory = Arc::new(MemoryRecordSource::new());
    let recorder = Recorder::start(memory.clone()).unwrap();
    let mut story = SessionBuilder::eventful(false);
    memory.put(&story);
    run(recorder.flush(session_id())).unwrap();
    let path = memory.dir(session_id()).join("context.md");
    let before = fs::read_to_string(&path).unwrap();
    fs::write(&path, before.replace("Thanks", "Spoilt")).unwrap();
    run(recorder.rebuild(session_id())).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), before);
    story.user("more");
    memory.put(&story);
    run(recorder.flush(session_id())).unwrap();
    assert!(fs::read_to_string(&path).unwrap().ends_with("more\n\n"));
}

#[test]
fn a_reader_holds_up_the_views_and_costs_nothing_else() {
    let memory = Arc::new(MemoryRecordSource::new());
    let recorder = Recorder::start(memory.clone()).unwrap();
    let mut story = SessionBuilder::eventful(false);
    memory.put(&story);
    run(recorder.flush(session_id())).unwrap();
    let reader = Connection::open(memory.dir(session_id()).join("session.db")).unwrap();
    reader.execute_batch("BEGIN; SELECT count(*) FROM messages").unwrap();
    story.user("more");
    memory.put(&story);
    let error = run(recorder.flush(session_id())).unwrap_err();
    assert_eq!(error.source.kind(), std::io::ErrorKind::ResourceBusy);
    reader.execute_batch("COMMIT").unwrap();
    let before = memory.reads.load(Ordering::Relaxed);
    run(recorder.flush(session_id())).unwrap();
    assert_eq!(memory.reads.load(Ordering::Relaxed), before + 1, "only what is new is read");
    assert_as_if_made_anew(&memory, &recorder, &story);
}

#[test]
fn damage_that_is_come_upon_is_mended() {
    let memory = Arc::new(MemoryRecordSource::new());
    let recorder = Recorder::start(memory.clone()).unwrap();
    let mut story = SessionBuilder::eventful(true);
    memory.put(&story);
    run(recorder.flush(session_id())).unwrap();
    run(recorder.forget(session_id()));
    let path = memory.dir(session_id()).join("session.db");
    let (root, size): (u32, u32) = Connection::open(&path)
        .unwrap()
        .query_row(
            "SELECT rootpage, page_size FROM sqlite_schema, pragma_page_size WHERE name = 'messages'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let mut file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    file.seek(SeekFrom::Start(u64::from((root - 1) * size))).unwrap();
    file.write_all(&vec![0xa5; size as usize]).unwrap();
    drop(file);
    story.user("more");
    memory.put(&story);
    run(recorder.flush(session_id())).unwrap();
    assert_as_if_made_anew(&memory, &recorder, &story);
}

fn assert_as_if_made_anew(memory: &MemoryRecordSource, recorder: &Recorder, story: &SessionBuilder) {
    run(recorder.forget(session_id()));
    let anew = tempfile::tempdir().unwrap();
    ostler_recorder::rebuild(anew.path(), session_id(), story.records.iter().cloned().map(Ok)).unwrap();
    assert_eq!(view_contents(&memory.dir(session_id())), view_contents(anew.path()));
}

/// Views in a folder of their own.
struct SeparateFolderSource(Arc<MemoryRecordSource>);

impl RecordSource for SeparateFolderSource {
    fn last_seq(&self, session: SessionId) -> Result<u64, RecordSourceError> {
        self.0.last_seq(session)
    }

    fn read(&self, session: SessionId, from: u64) -> Result<Vec<Record>, RecordSourceError> {
        self.0.read(session, from)
    }

    fn folder(&self, _session: SessionId) -> Result<ViewFolder, RecordSourceError> {
        Ok(ViewFolder::Made(self.0.root.path().join("logs/2026-03-04_050607_serve_abcdef")))
    }
}

#[test]
fn a_folder_of_its_own_is_made_for_its_owner_alone() {
    let memory = Arc::new(MemoryRecordSource::new());
    memory.put(&SessionBuilder::eventful(false));
    let recorder = Recorder::start(Arc::new(SeparateFolderSource(Arc::clone(&memory)))).unwrap();
    run(recorder.flush(session_id())).unwrap();
    let dir = memory.root.path().join("logs/2026-03-04_050607_serve_abcdef");
    assert_eq!(names(&dir), ["context.md", "session.db", "transcript.jsonl"]);
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
    assert!(names(&memory.dir(session_id())).is_empty());
}
