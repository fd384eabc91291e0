//! `session.json`.

use std::fs;
use std::os::unix::fs::symlink;

use ostler_recorder::write_session;
use ostler_types::SessionView;

use crate::{busy_state, mode, names};

#[test]
fn session_json_is_the_view_for_its_owner_alone() {
    let dir = tempfile::tempdir().unwrap();
    let view = busy_state().view();
    write_session(dir.path(), &view).unwrap();
    let path = dir.path().join("session.json");
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(serde_json::from_str::<SessionView>(&text).unwrap(), view);
    assert!(text.starts_with("{\n  \"id\": \"sess_") && text.ends_with("}\n"), "{text}");
    assert_eq!(mode(&path), 0o600);
    assert_eq!(names(dir.path()), ["session.json"]);
}

#[test]
fn a_reader_with_the_old_file_open_keeps_it_whole() {
    let dir = tempfile::tempdir().unwrap();
    let mut view = busy_state().view();
    write_session(dir.path(), &view).unwrap();
    let path = dir.path().join("session.json");
    let mut old = fs::File::open(&path).unwrap();
    view.session.title = Some("another title".into());
    write_session(dir.path(), &view).unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut old, &mut text).unwrap();
    assert!(serde_json::from_str::<SessionView>(&text).is_ok_and(|seen| seen != view));
    assert_eq!(serde_json::from_slice::<SessionView>(&fs::read(&path).unwrap()).unwrap(), view);
}

#[test]
fn what_a_crash_left_behind_is_replaced_and_a_link_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let outside = dir.path().join("outside");
    fs::write(&outside, "mine").unwrap();
    symlink(&outside, dir.path().join("session.json.tmp")).unwrap();
    write_session(dir.path(), &busy_state().view()).unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "mine");
    assert_eq!(names(dir.path()), ["outside", "session.json"]);
    assert!(fs::symlink_metadata(dir.path().join("session.json")).unwrap().is_file());
}

#[test]
fn a_failure_names_the_file_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    // A folder in the way: the temporary file can be written, but not moved over it.
    fs::create_dir_all(dir.path().join("session.json/full")).unwrap();
    let error = write_session(dir.path(), &busy_state().view()).unwrap_err();
    assert!(error.to_string().contains("session.json"), "{error}");
    assert_eq!(names(dir.path()), ["session.json"]);
    assert!(write_session(&dir.path().join("absent"), &busy_state().view()).is_err());
}

#[test]
fn several_writers_at_once_leave_one_whole_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("session.json");
    let mut view = busy_state().view();
    write_session(dir.path(), &view).unwrap();
    std::thread::scope(|scope| {
        for n in 1..=4 {
            view.session.system_prompt = Some("x".repeat(n * 20_000));
            let (dir, view) = (dir.path(), view.clone());
            scope.spawn(move || (0..50).for_each(|_| write_session(dir, &view).unwrap()));
        }
        for _ in 0..50 {
            serde_json::from_slice::<SessionView>(&fs::read(&path).unwrap()).unwrap();
        }
    });
    assert_eq!(names(dir.path()), ["session.json"]);
}
