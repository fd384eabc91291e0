//! A session as one file.

use std::fs;
use std::io;
use std::path::Path;

use ostler_recorder::SessionViews;
use ostler_recorder::export::{
    ArchiveFolders, SessionExportFormat, write_html, write_markdown, write_ndjson, write_sqlite, write_zip,
};
use ostler_recorder::import::{ImportedArchive, read_ndjson};
use ostler_types::{
    CommandResult, Event, Message, MessageEvent, MessageId, Part, Record, Role, WorkspaceEvent,
};
use serde_json::json;
use uuid::Uuid;

use crate::folder_files::FolderFiles;
use crate::names;
use crate::session_builder::{SessionBuilder, at, session_id};

/// A small picture (1 × 1, PNG).
const PICTURE: &[u8] = b"\x89PNG\r\n\x1a\nnot really";

pub(crate) fn lines(records: &[Record]) -> Vec<io::Result<Vec<u8>>> {
    records.iter().map(|record| Ok(serde_json::to_vec(record).unwrap())).collect()
}

fn of(records: &[Record]) -> impl Iterator<Item = io::Result<Record>> {
    records.iter().cloned().map(Ok)
}

/// A folder with all that a session can have.
pub(crate) fn folder(story: &SessionBuilder) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
    views.apply(&story.records).unwrap();
    drop(views);
    for (name, content) in [
        ("session.json", &b"{}"[..]),
        ("raw.jsonl", b"{}\n"),
        ("attachments/a b.png", PICTURE),
        ("attachments/.part-1", b"half"),
        ("artifacts/turn_0190f3c4a5b67c8d9e0f112233445566/out.txt", b"long output"),
        ("snapshot.json", b"internal"),
    ] {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    std::os::unix::fs::symlink("/etc/hostname", dir.path().join("attachments/link.txt")).unwrap();
    dir
}

fn html(story: &SessionBuilder, dir: &Path) -> String {
    let mut page = Vec::new();
    write_html(&story.session, &FolderFiles(dir), of(&story.records), &mut page).unwrap();
    String::from_utf8(page).unwrap()
}

#[test]
fn markdown_is_what_context_md_holds() {
    let story = SessionBuilder::eventful(false);
    let dir = folder(&story);
    let mut page = Vec::new();
    write_markdown(of(&story.records), &mut page).unwrap();
    assert_eq!(page, fs::read(dir.path().join("context.md")).unwrap());
}

#[test]
fn sqlite_is_a_whole_copy() {
    let story = SessionBuilder::eventful(false);
    let dir = folder(&story);
    let scratch = dir.path().join("scratch");
    let mut copy = Vec::new();
    write_sqlite(dir.path(), &scratch, &mut copy).unwrap();
    assert!(!scratch.exists());
    let other = tempfile::tempdir().unwrap();
    fs::write(other.path().join("session.db"), copy).unwrap();
    let sql = "SELECT role || content FROM messages";
    assert_eq!(
        crate::session_builder::column(other.path(), sql),
        crate::session_builder::column(dir.path(), sql)
    );
}

#[test]
fn a_zip_holds_the_whole_session_and_comes_back() {
    let story = SessionBuilder::eventful(true);
    let dir = folder(&story);
    let scratch = dir.path().join("scratch");
    let folders = ArchiveFolders { session: dir.path(), views: dir.path(), scratch: &scratch };
    let mut zip = Vec::new();
    write_zip(folders, &FolderFiles(dir.path()), lines(&story.records), at(0), &mut zip).unwrap();
    let mut archive = ImportedArchive::open(io::Cursor::new(&zip)).unwrap();
    assert_eq!(archive.session(None).unwrap().records, story.records);
    let mut files = Vec::new();
    let mut keep = |name: &str, content: Vec<u8>| {
        files.push((name.to_owned(), content));
        Ok(())
    };
    archive.files(&mut keep).unwrap();
    let artifact = "artifacts/turn_0190f3c4a5b67c8d9e0f112233445566/out.txt";
    assert_eq!(
        files,
        [
            ("attachments/a b.png".to_owned(), PICTURE.to_vec()),
            (artifact.to_owned(), b"long output".to_vec())
        ]
    );
    assert!(!names(dir.path()).contains(&"scratch".to_owned()));
    // Its own names stand in it as they are, so that any other program finds them too.
    for name in ["events.ndjson", "session.db", "context.md", "transcript.jsonl", "verbose.md", "raw.jsonl"] {
        assert!(zip.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{name}");
    }
    for name in ["snapshot.json", "link.txt", ".part-1"] {
        assert!(!zip.windows(name.len()).any(|bytes| bytes == name.as_bytes()), "{name}");
    }
}

#[test]
fn an_export_that_cannot_be_written_or_read_fails() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::other("gone"))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let story = SessionBuilder::eventful(false);
    let dir = folder(&story);
    assert!(write_html(&story.session, &FolderFiles(dir.path()), of(&story.records), &mut Full).is_err());
    assert!(write_markdown(of(&story.records), &mut Full).is_err());
    assert!(write_ndjson(lines(&story.records), &mut Full).is_err());
    let scratch = dir.path().join("scratch");
    let folders = ArchiveFolders { session: dir.path(), views: dir.path(), scratch: &scratch };
    assert!(write_zip(folders, &FolderFiles(dir.path()), lines(&story.records), at(0), &mut Full).is_err());
    // What was written before the failure must not look like a whole archive.
    let broken = lines(&story.records).into_iter().chain([Err(io::Error::other("damaged"))]);
    let mut zip = Vec::new();
    assert!(write_zip(folders, &FolderFiles(dir.path()), broken, at(0), &mut zip).is_err());
    assert!(ImportedArchive::open(io::Cursor::new(&zip)).is_err());
    let broken = || of(&story.records[..3]).chain([Err(io::Error::other("damaged"))]);
    assert!(write_html(&story.session, &FolderFiles(dir.path()), broken(), &mut Vec::new()).is_err());
    assert!(write_markdown(broken(), &mut Vec::new()).is_err());
}

#[test]
fn a_page_needs_nothing_beside_it_and_can_do_nothing() {
    let mut story = SessionBuilder::eventful(false);
    let evil = "</pre></details><script>alert(1)</script><img src=x onerror=alert(1)>";
    story.session.title = Some(evil.to_owned());
    story.user(evil);
    let parts = vec![
        Part::Image { reference: "attachments/a b.png".into(), mime_type: "image/png".into() },
        Part::Image { reference: "attachments/link.txt".into(), mime_type: "image/png".into() },
        Part::Image { reference: "../../etc/passwd".into(), mime_type: "image/png".into() },
        Part::Image {
            reference: "attachments/a b.png".into(),
            mime_type: "image/svg+xml\" onload=\"x".into(),
        },
        Part::File { reference: evil.into(), mime_type: "x".into() },
    ];
    let id = MessageId::new(Uuid::from_u128(7));
    let message = Message { id, role: Role::User, parts, created_at: at(1) };
    story.record(Event::Message(MessageEvent::Added { message, idempotency_key: None }));
    let calls = story.answer(evil, evil, &[(evil, json!({"path": evil, evil: evil, "many": [evil]}))]);
    story.result(&calls[0], false, evil);
    let results =
        vec![CommandResult { command: evil.into(), exit_code: Some(1), duration_ms: 1, output: evil.into() }];
    story.record(Event::Workspace(WorkspaceEvent::VerificationCompleted { round: 1, ok: false, results }));
    let last = story.messages[1];
    story.compact(Some(last), evil, Vec::new()).fail_turn(evil);
    let dir = folder(&story);
    let page = html(&story, dir.path());
    assert!(!page.contains("<script") && !page.contains("<img src=x"), "{page}");
    assert!(page.contains("&lt;script&gt;"));
    assert_eq!(page.matches("<img alt=").count(), 1, "only the picture that is one");
    assert!(page.contains("src=\"data:image/png;base64,iVBORw0KGgpub3QgcmVhbGx5\""), "{page}");
    assert!(page.contains("default-src 'none'; img-src data:; style-src 'sha256-"));
    assert_eq!(page.matches("<details").count(), page.matches("</details>").count());
    assert_eq!(page.matches("<section").count(), page.matches("</section>").count());
    assert!(!page.contains("http://") && !page.contains("https://") && !page.contains("src=\"attach"));
}

#[test]
fn a_page_shows_calls_with_their_results() {
    let mut story = SessionBuilder::eventful(false);
    story.user("change it");
    let calls = story.answer("", "", &[("edit_file", json!({"path": "a.rs", "old": "OLD", "new": "NEW"}))]);
    story.answer("", "and a call that never came back", &[("shell", json!({"command": "sleep 9"}))]);
    let page = html(&story, Path::new("/nonexistent"));
    assert!(page.contains("<span class=\"tool\">read_file</span><span class=\"subject\">main.rs</span>"));
    assert!(
        page.contains("<span class=\"ok\">✓</span>") && page.contains("<span class=\"failed\">failed</span>")
    );
    assert_eq!(page.matches("no result").count(), 2, "a call that was left open is told");
    assert!(calls[0].name == "edit_file" && page.contains("edit_file"));
}

#[test]
fn ndjson_comes_back_as_it_went() {
    let story = SessionBuilder::eventful(true);
    let mut first = Vec::new();
    write_ndjson(lines(&story.records), &mut first).unwrap();
    let imported = read_ndjson(&first[..], None).unwrap();
    let mut second = Vec::new();
    write_ndjson(lines(&imported.records), &mut second).unwrap();
    assert_eq!(String::from_utf8(first), String::from_utf8(second));
}

#[test]
fn formats_have_names() {
    for format in SessionExportFormat::ALL {
        assert_eq!(SessionExportFormat::from_name(format.name()), Some(format));
        assert!(!format.media_type().is_empty() && !format.extension().is_empty());
    }
    assert_eq!(SessionExportFormat::from_name("exe"), None);
}
