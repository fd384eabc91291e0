//! The token's file: who may read it, what it holds, and what happens when it is replaced.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ostler_door_kit::{DaemonToken, TokenError};

use crate::daemon::DoorTestDaemon;

/// Puts another token in place, as a program that rotates it does.
fn replace(path: &Path, content: &str, mode: u32) {
    let next = path.with_extension("next");
    fs::write(&next, content).unwrap();
    fs::set_permissions(&next, Permissions::from_mode(mode)).unwrap();
    fs::rename(&next, path).unwrap();
}

#[test]
fn a_token_is_made_once_and_only_its_owner_can_read_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let token = DaemonToken::open(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let content = fs::read_to_string(&path).unwrap();
    let digits = content.strip_suffix('\n').unwrap();
    assert_eq!(digits.len(), 64);
    assert!(digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
    assert!(token.matches(digits) && !token.matches(&content) && !token.matches(""));
    assert!(DaemonToken::open(&path).unwrap().matches(digits), "the second start keeps it");
    let other = tempfile::tempdir().unwrap();
    assert!(
        !DaemonToken::open(&other.path().join("token")).unwrap().matches(digits),
        "another directory has another"
    );
}

#[test]
fn a_token_that_others_could_read_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    for mode in [0o644, 0o640, 0o660, 0o604, 0o610, 0o601] {
        replace(&path, &"a".repeat(64), mode);
        match DaemonToken::open(&path) {
            Err(TokenError::Exposed { mode: found, .. }) => assert_eq!(found, mode),
            Err(other) => panic!("{mode:o}: {other}"),
            Ok(_) => panic!("{mode:o} was accepted"),
        }
    }
}

#[test]
fn a_file_that_holds_no_token_is_said_so() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    for content in ["", "\n", "short", "               \n"] {
        replace(&path, content, 0o600);
        assert!(matches!(DaemonToken::open(&path), Err(TokenError::Io { .. })), "{content:?}");
    }
    let nowhere = dir.path().join("missing/token");
    assert!(matches!(DaemonToken::open(&nowhere), Err(TokenError::Io { .. })));
}

#[tokio::test]
async fn a_new_token_counts_from_the_next_request() {
    let daemon = DoorTestDaemon::start().await;
    let path = daemon.data().join("token");
    let old = daemon.request("GET", "/v1/agents");
    assert_eq!(daemon.send(&old).await.status(), 200);
    replace(&path, &"n".repeat(64), 0o600);
    assert_eq!(daemon.send(&old).await.status(), 401);
    assert_eq!(daemon.get("/v1/agents").await.status(), 200);
    // On a connection that was let in before, as well.
    let mut connection = daemon.connect().await;
    let current = daemon.request("GET", "/v1/agents").bytes();
    connection.send(&current).await;
    assert_eq!(connection.answer().await.status(), 200);
    replace(&path, &"o".repeat(64), 0o600);
    connection.send(&current).await;
    assert_eq!(connection.answer().await.status(), 401);
}

#[tokio::test]
async fn without_a_token_that_can_be_trusted_nobody_comes_in() {
    let daemon = DoorTestDaemon::start().await;
    let path = daemon.data().join("token");
    let good = daemon.request("GET", "/v1/agents");
    replace(&path, &daemon.token(), 0o644);
    assert_eq!(daemon.send(&good).await.status(), 401, "others may have read it");
    fs::remove_file(&path).unwrap();
    assert_eq!(daemon.send(&good).await.status(), 401, "it is gone");
    let health = daemon.send(&good.target("/healthz")).await;
    assert_eq!(health.status(), 200);
}
