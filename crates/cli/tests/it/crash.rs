//! SIGKILL at every operation on the disk, all of them, not a sample: before it, in the middle of
//! it, and after it. Then the daemon starts again, and nothing that was acknowledged is missing.

use crate::process::Process;
use crate::scenario::{Told, check, play, workspace};

#[tokio::test]
async fn killed_before_any_operation() {
    kill_at_every("kill-before").await;
}

#[tokio::test]
async fn killed_in_the_middle_of_any_operation() {
    kill_at_every("kill-mid").await;
}

#[tokio::test]
async fn killed_after_any_operation() {
    kill_at_every("kill-after").await;
}

async fn kill_at_every(action: &str) {
    let mut operation = 1;
    loop {
        let survived = kill_at(&format!("{action}:{operation}")).await;
        if survived {
            break;
        }
        operation += 1;
    }
    assert!(operation > 30, "the scenario has more operations than {operation}");
}

/// Plays the scenario with one fault, then checks. Says whether the daemon lived to the end.
async fn kill_at(fault: &str) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let (data, work) = (dir.path().join("data"), dir.path().join("work"));
    workspace(&work);
    let mut told = Told::default();
    let daemon = Process::faulty(&data, fault);
    let survived = match daemon.client().await {
        Some(client) => play(&client, &work, &mut told).await.is_ok(),
        None => false,
    };
    daemon.kill();
    let again = Process::faulty(&data, "");
    let client = again.client().await.unwrap_or_else(|| panic!("no daemon after {fault}"));
    println!("{fault}: {told:?}");
    check(&client, &work, &told).await;
    survived
}
