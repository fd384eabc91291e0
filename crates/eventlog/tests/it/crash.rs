//! A process killed at every operation in turn, and a directory copied in the middle of the work.

use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use ostler_eventlog::{FileLog, Log};
use ostler_testing::disk::{FaultDisk, FaultPlan};

use crate::faults::{AcknowledgedWrites, assert_kept, script};
use crate::fixture::{ALL, EPOCH, LogFixture, append_each, assert_feed_whole, record, session};

const DATA: &str = "EVENTLOG_TEST_DATA";
const PLAN: &str = "EVENTLOG_TEST_PLAN";
/// How many operations the script's drafts can save by sharing a group.
const GROUPED: usize = 20;

/// Runs the script in a process of its own, and says whether the plan killed it.
fn run_child(data: &Path, plan: &str) -> bool {
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "crash::child", "--test-threads=1"])
        .env(DATA, data)
        .env(PLAN, plan)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let killed = status.signal() == Some(9);
    assert!(killed || status.success(), "{plan}: {status}");
    killed
}

/// What the child was told before it died.
fn told(data: &Path) -> AcknowledgedWrites {
    let text = std::fs::read_to_string(data.with_extension("acks")).unwrap_or_default();
    let mut told = AcknowledgedWrites::default();
    for (index, text) in text.lines().filter_map(|line| line.split_once(' ')) {
        told.acknowledged[index.parse::<usize>().unwrap()].push(text.to_owned());
    }
    told
}

/// The script that other tests run in a process of its own, with a plan; by itself, without faults.
#[tokio::test]
async fn child() {
    let own = LogFixture::new();
    let data = std::env::var_os(DATA).map_or_else(|| own.path(), PathBuf::from);
    let plan = std::env::var(PLAN).unwrap_or_default();
    let mut acks = std::fs::File::create(data.with_extension("acks")).unwrap();
    let disk = Arc::new(FaultDisk::new(FaultPlan::parse(&plan).unwrap()));
    let log = FileLog::open(&data, disk).unwrap();
    script(&log, |index, text| writeln!(acks, "{index} {text}").unwrap()).await;
}

#[tokio::test]
async fn a_kill_at_any_operation_costs_nothing_that_was_acknowledged() {
    let data = LogFixture::new();
    let counts = data.path().with_extension("counts");
    assert!(!run_child(&data.path(), &format!("count:{}", counts.display())));
    let operations = std::fs::read_to_string(counts).unwrap().lines().count();
    assert!(operations > 40, "{operations}");
    assert_eq!(told(&data.path()).acknowledged[1].len(), 10);
    for number in 1..=operations {
        for moment in ["before", "mid", "after"] {
            let data = LogFixture::new();
            let plan = format!("kill-{moment}:{number}");
            // A draft may share its group with an append or not, so a run may have fewer operations.
            assert!(run_child(&data.path(), &plan) || number + GROUPED > operations, "{plan}: not killed");
            let log = data.open();
            assert_kept(&log, &told(&data.path()), false, &plan).await;
            append_each(&log, session(1), &["x"]).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_at_once_on_a_disk_that_stops_leave_a_whole_feed() {
    for number in (16..256).step_by(8) {
        let data = LogFixture::new();
        // Nothing changes any file from this operation on, as if the process had ended there.
        let disk = Arc::new(FaultDisk::new(FaultPlan::parse(&format!("eio:{number}..")).unwrap()));
        let log = Arc::new(data.open_on(disk.clone()));
        let writers: Vec<_> =
            (0..3).map(|writer| tokio::spawn(write_until_failure(Arc::clone(&log), writer))).collect();
        let mut acknowledged = Vec::new();
        for writer in writers {
            acknowledged.push(writer.await.unwrap());
        }
        drop(log);
        if number % 16 == 0 {
            disk.cut_power().unwrap();
        }
        let log = data.open();
        for (last, writer) in acknowledged.into_iter().zip(0..) {
            assert!(log.last_seq(session(writer)).await.unwrap() >= last, "stopped at {number}");
        }
        let sessions = log.sessions(None, ALL).await.unwrap();
        assert_feed_whole(&log, &sessions).await;
    }
}

/// Appends and settles until the disk fails; returns the last seq that was acknowledged.
async fn write_until_failure(log: Arc<FileLog>, writer: u128) -> u64 {
    let mut last = 0;
    loop {
        match log.append(session(writer), EPOCH, last + 1, vec![record("a"), record("b")]).await {
            Ok(_) => last += 2,
            Err(_) => return last,
        }
        if last % 6 == 0 && log.release(session(writer), EPOCH, true).await.is_err() {
            return last;
        }
    }
}
