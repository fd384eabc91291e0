//! `snapshot.json`: either the state that was written, or nothing.

use std::fs;

use ostler_recorder::{Snapshot, read_snapshot, write_snapshot};
use ostler_types::State;

use crate::{busy_state, mode, names};

const CHAIN: &str = "0123456789abcdef";

fn with_chain(state: &State) -> Snapshot {
    Snapshot { state: state.clone(), chain: Some(CHAIN.to_owned()) }
}

#[test]
fn a_snapshot_without_a_chain_is_one_too() {
    let dir = tempfile::tempdir().unwrap();
    write_snapshot(dir.path(), &busy_state(), None).unwrap();
    assert_eq!(read_snapshot(dir.path()), Some(Snapshot { state: busy_state(), chain: None }));
}

#[test]
fn a_snapshot_comes_back_equal_and_is_replaced_whole() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(read_snapshot(dir.path()), None);
    let mut state = busy_state();
    write_snapshot(dir.path(), &state, Some(CHAIN)).unwrap();
    assert_eq!(read_snapshot(dir.path()), Some(with_chain(&state)));
    state.queue.clear();
    state.last_seq += 1;
    write_snapshot(dir.path(), &state, Some(CHAIN)).unwrap();
    assert_eq!(read_snapshot(dir.path()), Some(with_chain(&state)));
    assert_eq!(names(dir.path()), ["snapshot.json"]);
    assert_eq!(mode(&dir.path().join("snapshot.json")), 0o600);
    serde_json::from_slice::<serde_json::Value>(&fs::read(dir.path().join("snapshot.json")).unwrap())
        .unwrap();
}

#[test]
fn no_damaged_byte_gives_another_state() {
    let dir = tempfile::tempdir().unwrap();
    let state = busy_state();
    write_snapshot(dir.path(), &state, Some(CHAIN)).unwrap();
    let path = dir.path().join("snapshot.json");
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        for flip in [0x01, 0x20, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            fs::write(&path, &bad).unwrap();
            let read = read_snapshot(dir.path());
            assert!(read.is_none_or(|read| read == with_chain(&state)), "byte {at} with {flip:#x}");
        }
    }
    for length in 0..good.len() {
        fs::write(&path, &good[..length]).unwrap();
        assert_eq!(read_snapshot(dir.path()), None, "cut to {length}");
    }
    for extra in ["\n", "}\n", "\0"] {
        fs::write(&path, [&good, extra.as_bytes()].concat()).unwrap();
        assert_eq!(read_snapshot(dir.path()), None, "with {extra:?} after it");
    }
    fs::write(&path, &good).unwrap();
    assert_eq!(read_snapshot(dir.path()), Some(with_chain(&state)));
}

#[test]
fn another_version_and_another_shape_are_no_snapshot() {
    let dir = tempfile::tempdir().unwrap();
    write_snapshot(dir.path(), &busy_state(), None).unwrap();
    let path = dir.path().join("snapshot.json");
    let good = fs::read_to_string(&path).unwrap();
    for other in [good.replacen(":2,", ":1,", 1), "{}\n".into(), "null".into(), String::new()] {
        fs::write(&path, other).unwrap();
        assert_eq!(read_snapshot(dir.path()), None);
    }
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert_eq!(read_snapshot(dir.path()), None);
}
