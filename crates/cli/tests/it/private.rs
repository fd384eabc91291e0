//! What other processes of the same user learn of a daemon.

use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::process::binary;

/// Somebody without rights; root may read everything anyway.
const NOBODY: u32 = 65534;

#[test]
fn another_process_of_the_user_reads_neither_environment_nor_memory() {
    let dir = tempfile::tempdir().unwrap();
    let is_root = rustix::process::geteuid().is_root();
    let as_user = |command: &mut Command| {
        if is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
    };
    let data = dir.path().join("data");
    std::fs::create_dir(&data).unwrap();
    if is_root {
        for path in [dir.path(), &data] {
            std::os::unix::fs::chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    let mut command = binary();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&data);
    command.env("OPENAI_API_KEY", "sk-canary-of-the-environment").env("OSTLER_GATEWAY_ENABLED", "false");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::null());
    as_user(&mut command);
    let mut daemon = command.spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(daemon.stdout.take().unwrap()), &mut line)
        .unwrap();
    assert!(line.starts_with("ostler is ready"), "{line}");
    for (file, readable) in [("environ", false), ("maps", false), ("mem", false), ("status", true)] {
        let mut reader = Command::new("head");
        reader.args(["-c", "1"]).arg(format!("/proc/{}/{file}", daemon.id()));
        as_user(&mut reader);
        assert_eq!(reader.output().unwrap().status.success(), readable, "{file}");
    }
    daemon.kill().unwrap();
    daemon.wait().unwrap();
}
