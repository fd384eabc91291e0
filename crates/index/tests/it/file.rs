//! The file: made, found again, damaged, of another version, copied in the middle.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ostler_index::{Index, IndexError, ListFilter, OpenedIndex, SqliteIndex};
use rusqlite::Connection;

use crate::{IndexFixture, id, numbers, session, update};

#[tokio::test]
async fn an_index_is_empty_until_it_was_rebuilt() {
    let fixture = IndexFixture::new();
    fixture.add(session(1, 1)).await;
    let (fixture, opened) = fixture.reopen();
    assert_eq!(opened, OpenedIndex::Empty, "the rebuild did not come to its end");
    assert_eq!(fixture.index.position(id(1)).await, Ok(1), "what was fed need not be fed again");
    fixture.index.mark_rebuilt().await.unwrap();
    let (fixture, opened) = fixture.reopen();
    assert_eq!(
        (opened, numbers(&fixture.list(ListFilter::default()).await)),
        (OpenedIndex::Existing, vec![1])
    );
    fixture.index.clear().await.unwrap();
    assert_eq!(fixture.reopen().1, OpenedIndex::Empty);
}

#[tokio::test]
async fn only_the_owner_may_read_it() {
    let fixture = IndexFixture::new();
    fixture.add(session(1, 1)).await;
    fixture.index.flush().await.unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for name in ["index.db", "index.db-wal", "index.db-shm"] {
        assert_eq!(mode(&fixture.dir.path().join(name)), 0o600, "{name}");
    }
    fs::set_permissions(fixture.path(), fs::Permissions::from_mode(0o644)).unwrap();
    let (fixture, _) = fixture.reopen();
    assert_eq!(mode(&fixture.path()), 0o600);
}

#[tokio::test]
async fn what_is_no_index_is_moved_aside() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("index.db");
    let foreign = dir.path().join("foreign.db");
    Connection::open(&foreign)
        .unwrap()
        .execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
        .unwrap();
    let contents = [b"not a database, but long enough to be one. ".repeat(30), fs::read(&foreign).unwrap()];
    for (n, content) in contents.iter().cycle().take(12).enumerate() {
        fs::write(&path, content).unwrap();
        fs::write(dir.path().join("index.db-wal"), "stale").unwrap();
        let (index, opened) = SqliteIndex::open(&path).unwrap();
        assert_eq!(opened, OpenedIndex::Empty);
        index.update(update(session(1, 1), 0, 1, &[])).await.unwrap();
        assert_eq!(numbers(&index.list(ListFilter::default()).await.unwrap()), [1]);
        let aside = dir.path().join(format!("index.db.bad-{}", (n + 1).min(9)));
        assert_eq!(&fs::read(aside).unwrap(), content);
        drop(index);
    }
    assert!(!dir.path().join("index.db.bad-10").exists());
}

#[tokio::test]
async fn another_version_is_made_anew_and_an_unfinished_file_is_finished() {
    let fixture = IndexFixture::new();
    fixture.add(session(1, 1)).await;
    fixture.index.mark_rebuilt().await.unwrap();
    let path = fixture.path();
    let IndexFixture { dir, index } = fixture;
    drop(index);
    Connection::open(&path).unwrap().pragma_update(None, "user_version", 999).unwrap();
    let (index, opened) = SqliteIndex::open(&path).unwrap();
    assert_eq!(opened, OpenedIndex::Empty);
    assert_eq!(numbers(&index.list(ListFilter::default()).await.unwrap()), [0u128; 0]);
    drop(index);
    fs::write(&path, "").unwrap();
    assert_eq!(SqliteIndex::open(&path).unwrap().1, OpenedIndex::Empty);
    assert!(!dir.path().join("index.db.bad-1").exists());
}

#[tokio::test]
async fn damage_that_shows_later_is_an_error_and_clearing_mends_it() {
    let fixture = IndexFixture::new();
    for n in 0..200 {
        let said = format!("word{n} ").repeat(200);
        fixture.index.update(update(session(n, 1), 0, 1, &[(1, &said)])).await.unwrap();
    }
    fixture.index.mark_rebuilt().await.unwrap();
    let IndexFixture { dir, index } = fixture;
    drop(index);
    let path = dir.path().join("index.db");
    let connection = Connection::open(&path).unwrap();
    let number = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, u32>(0)).unwrap() as usize;
    let size = number("PRAGMA page_size");
    let page = number("SELECT rootpage FROM sqlite_schema WHERE name = 'by_activity'") * size;
    drop(connection);
    let mut content = fs::read(&path).unwrap();
    content[page - size..page].fill(0x5a);
    fs::write(&path, &content).unwrap();
    let (index, opened) = SqliteIndex::open(&path).unwrap();
    assert_eq!(opened, OpenedIndex::Existing);
    let error = index.list(ListFilter::default()).await.unwrap_err();
    assert!(
        matches!(&error, IndexError::Damaged(_)) && error.to_string().contains("doctor --rebuild"),
        "{error}"
    );
    index.update(update(session(900, 1), 0, 1, &[])).await.unwrap();
    assert!(matches!(index.flush().await, Err(IndexError::Damaged(_))));
    index.clear().await.unwrap();
    index.update(update(session(901, 1), 0, 1, &[(1, "mended")])).await.unwrap();
    let filter = ListFilter { q: Some("mended".into()), ..ListFilter::default() };
    assert_eq!(numbers(&index.list(filter).await.unwrap()), [901]);
}

/// A copy of the files at any moment between two commits is what a killed daemon leaves behind.
#[tokio::test]
async fn after_a_kill_row_texts_and_position_agree() {
    let fixture = IndexFixture::new();
    for step in 1..=40u64 {
        let said = format!("step{step}");
        let session = session(1, i64::try_from(step).unwrap());
        fixture.index.update(update(session, step - 1, step, &[(step, &said)])).await.unwrap();
        if step % 3 == 0 {
            fixture.index.flush().await.unwrap();
        }
        let copy = tempfile::tempdir().unwrap();
        copy_files(&fixture.path(), &copy.path().join("index.db"));
        let (index, _) = SqliteIndex::open(&copy.path().join("index.db")).unwrap();
        let position = index.position(id(1)).await.unwrap();
        assert!(position >= step / 3 * 3 && position <= step, "{position} of {step}");
        let listing = index.list(ListFilter::default()).await.unwrap();
        let rows: Vec<(u64, i64)> =
            listing.sessions.iter().map(|row| (row.last_seq, row.session.updated_at.as_second())).collect();
        let wanted: Vec<(u64, i64)> =
            (position > 0).then_some((position, position.cast_signed())).into_iter().collect();
        assert_eq!(rows, wanted);
        for said in 1..=step {
            let filter = ListFilter { q: Some(format!("\"step{said}\"")), ..ListFilter::default() };
            let found = !index.list(filter).await.unwrap().sessions.is_empty();
            assert_eq!(found, said <= position, "step {said} with position {position}");
        }
    }
}

/// Copies while the writer may be writing; taken again when it was, as files are not copied at once.
fn copy_files(from: &Path, to: &Path) {
    let stamp = || fs::read(from.with_extension("db-wal")).unwrap_or_default();
    loop {
        let before = (fs::read(from).unwrap(), stamp());
        if before == (fs::read(from).unwrap(), stamp()) {
            fs::write(to, before.0).unwrap();
            fs::write(to.with_extension("db-wal"), before.1).unwrap();
            return;
        }
    }
}
