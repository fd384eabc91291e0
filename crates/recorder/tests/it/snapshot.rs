//! A snapshot: either the state that was encoded, or nothing.

use ostler_recorder::{StateSnapshot, decode_snapshot, encode_snapshot};
use ostler_types::State;

use crate::busy_state;

const CHAIN: &str = "0123456789abcdef";

fn with_chain(state: &State) -> StateSnapshot {
    StateSnapshot { state: state.clone(), chain: Some(CHAIN.to_owned()) }
}

#[test]
fn a_snapshot_comes_back_equal() {
    let state = busy_state();
    let snapshot = encode_snapshot(&state, Some(CHAIN)).unwrap();
    assert_eq!(decode_snapshot(snapshot.as_bytes()), Some(with_chain(&state)));
    serde_json::from_str::<serde_json::Value>(&snapshot).unwrap();
    let without = encode_snapshot(&state, None).unwrap();
    assert_eq!(decode_snapshot(without.as_bytes()), Some(StateSnapshot { state, chain: None }));
}

#[test]
fn no_damaged_byte_gives_another_state() {
    let state = busy_state();
    let good = encode_snapshot(&state, Some(CHAIN)).unwrap().into_bytes();
    for at in 0..good.len() {
        for flip in [0x01, 0x20, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= flip;
            let read = decode_snapshot(&bad);
            assert!(read.is_none_or(|read| read == with_chain(&state)), "byte {at} with {flip:#x}");
        }
    }
    for length in 0..good.len() {
        assert_eq!(decode_snapshot(&good[..length]), None, "cut to {length}");
    }
    for extra in ["\n", "}\n", "\0"] {
        assert_eq!(decode_snapshot(&[&good, extra.as_bytes()].concat()), None, "with {extra:?} after it");
    }
}

#[test]
fn another_version_and_another_shape_are_no_snapshot() {
    let good = encode_snapshot(&busy_state(), None).unwrap();
    for other in [good.replacen(":3,", ":2,", 1), "{}\n".into(), "null".into(), String::new()] {
        assert_eq!(decode_snapshot(other.as_bytes()), None, "{other}");
    }
}
