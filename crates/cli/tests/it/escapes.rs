//! Ways out of the sandbox, tried by a model whose every command is let through: to files, secrets, git's
//! settings and sockets outside. What must not happen is looked for from outside, not in what commands say.

use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

use serde_json::{Value, json};

use crate::scripted::{
    CANARY, ScriptedCallOutcome, ScriptedDaemon, call, policy_without_approvals, shell, write,
};

/// Plays the steps one by one, and gives what became of each.
async fn attempt(stage: &ScriptedDaemon, steps: &[Value]) -> Vec<ScriptedCallOutcome> {
    let id = stage.session(policy_without_approvals()).await;
    let results = stage.play(id, steps).await.results();
    assert_eq!(results.len(), steps.len(), "each was tried");
    results
}

#[tokio::test]
async fn nothing_outside_the_workspace_is_written() {
    let stage = ScriptedDaemon::new("").await;
    let outside = stage.outside.to_str().unwrap();
    std::fs::write(stage.outside.join("kept.txt"), "kept\n").unwrap();
    symlink(&stage.outside, stage.work.join("way-out")).unwrap();
    symlink(stage.outside.join("kept.txt"), stage.work.join("kept-link")).unwrap();
    let control = attempt(&stage, &[shell("echo x > inside.txt; echo y > /tmp/mine && cat /tmp/mine")]).await;
    assert!(control[0].ok && stage.read("inside.txt") == "x\n", "else this shows nothing: {control:?}");
    let steps = [
        shell(&format!("echo x > {outside}/made.txt")),
        shell("echo x > ../outside/made.txt"),
        shell("cd .. && echo x > outside/made.txt"),
        shell("echo x > way-out/made.txt"),
        shell("echo x >> kept-link"),
        shell(&format!("ln -s {outside} fresh && echo x > fresh/made.txt")),
        shell(&format!("ln {outside}/kept.txt hard && echo x >> hard")),
        shell(&format!("mv {outside}/kept.txt .")),
        shell(&format!("rm -rf {outside}/kept.txt")),
        shell(&format!("chmod 777 {outside}")),
        shell(&format!("mount --bind {outside} . && echo x > made.txt")),
        shell(&format!(
            "unshare -Urm sh -c 'mount -o remount,rw,bind {outside}; echo x > {outside}/made.txt'"
        )),
        shell(&format!("echo x > /proc/self/root{outside}/made.txt")),
        shell(&format!("echo x > /proc/{}/cwd/made.txt", stage.pid())),
        shell("echo x > /etc/ostler-was-here"),
        write("../outside/made.txt", "x"),
        write(&format!("{outside}/made.txt"), "x"),
        write("way-out/made.txt", "x"),
        write("kept-link", "x"),
        call("edit_file", json!({"path": "kept-link", "old": "kept", "new": "x"})),
        call("shell", json!({"command": "echo x > made.txt", "cwd": "way-out"})),
    ];
    for (step, result) in steps.iter().zip(attempt(&stage, &steps).await) {
        assert!(!result.ok, "{step}: {}", result.text);
    }
    let there: Vec<_> =
        std::fs::read_dir(&stage.outside).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(there, ["kept.txt"]);
    assert_eq!(std::fs::read_to_string(stage.outside.join("kept.txt")).unwrap(), "kept\n");
    assert!(!std::path::Path::new("/etc/ostler-was-here").exists());
}

#[tokio::test]
async fn no_secret_of_the_daemon_reaches_a_command() {
    let stage = ScriptedDaemon::new("").await;
    let (pid, data) = (stage.pid(), stage.data.to_str().unwrap());
    let token = std::fs::read_to_string(stage.data.join("token")).unwrap();
    let steps = [
        shell("env"),
        shell("cat /proc/1/environ | tr '\\0' '\\n'"),
        shell("cat /proc/$PPID/environ | tr '\\0' '\\n'"),
        shell("cat /proc/*/environ /proc/*/task/*/environ | tr '\\0' '\\n'"),
        shell(&format!("cat /proc/{pid}/environ /proc/{pid}/cmdline")),
        shell(&format!("cat /proc/{pid}/root{}", format_args!("/proc/{pid}/environ"))),
        shell("ps auxeww"),
        shell(&format!("cat {data}/token")),
        shell(&format!("ls -la {data}; cat {data}/*")),
        shell("cat ../data/token; find .. -name token -exec cat {} +"),
        call("read_file", json!({"path": "../data/token"})),
        call("read_file", json!({"path": "/proc/self/environ"})),
        call("search", json!({"query": "canary", "path": "/proc/self"})),
    ];
    let results = attempt(&stage, &steps).await;
    assert!(
        results[0].ok && results[0].text.contains("PATH="),
        "else this shows nothing: {}",
        results[0].text
    );
    for (step, result) in steps.iter().zip(&results) {
        let whole = result.result.to_string();
        assert!(!whole.contains(CANARY), "{step}: {whole}");
        assert!(!whole.contains(token.trim()), "{step}: {whole}");
    }
    let sessions = stage.data.join("sessions");
    let mut places = vec![sessions];
    while let Some(place) = places.pop() {
        for entry in std::fs::read_dir(place).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                places.push(path);
                continue;
            }
            // A view that is being written has another name in a moment.
            let Ok(content) = std::fs::read(&path) else { continue };
            let content = String::from_utf8_lossy(&content).into_owned();
            assert!(!content.contains(CANARY) && !content.contains(token.trim()), "{}", path.display());
        }
    }
}

#[tokio::test]
async fn what_makes_others_run_code_later_is_not_changed() {
    let stage = ScriptedDaemon::new("").await;
    stage.write("a.txt", "a\n");
    stage.commit();
    let config = stage.read(".git/config");
    let control = "echo b > a.txt && git -c user.name=t -c user.email=t@t commit --quiet -am second && git log --oneline";
    let control = attempt(&stage, &[shell(control)]).await;
    assert!(control[0].ok && control[0].text.contains("second"), "a model may commit: {}", control[0].text);
    let steps = [
        shell("echo '[core]\n\tfsmonitor = ./evil' >> .git/config"),
        shell("git config core.fsmonitor ./evil"),
        shell("sed -i s/false/true/ .git/config"),
        shell("cp .git/config c && mv c .git/config"),
        shell("rm -f .git/config"),
        shell("echo evil > .git/hooks/pre-commit"),
        shell("mkdir -p .git/hooks && touch .git/hooks/post-checkout"),
        shell("rm -rf .git/hooks && mkdir .git/hooks && touch .git/hooks/pre-push"),
        shell("mv .git .elsewhere"),
        shell("echo evil > .envrc"),
        shell("mkdir -p .vscode && echo '{}' > .vscode/tasks.json"),
        shell("mkdir -p .ostler && echo evil > .ostler/config.toml"),
        shell("echo '{}' > .mcp.json"),
        write(".git/config", "[core]\n"),
        write(".git/hooks/pre-commit", "evil"),
    ];
    for (step, result) in steps.iter().zip(attempt(&stage, &steps).await) {
        assert!(!result.ok, "{step}: {}", result.text);
    }
    assert_eq!(stage.read(".git/config"), config);
    let hooks = std::fs::read_dir(stage.work.join(".git/hooks")).into_iter().flatten();
    let hooks: Vec<_> = hooks.map(|it| it.unwrap().file_name()).collect();
    assert!(hooks.iter().all(|name| name.to_string_lossy().ends_with(".sample")), "{hooks:?}");
    for name in [".envrc", ".vscode/tasks.json", ".ostler/config.toml", ".mcp.json", ".elsewhere"] {
        assert!(!stage.work.join(name).is_file() && !stage.work.join(name).join("HEAD").exists(), "{name}");
    }
}

#[tokio::test]
async fn no_socket_outside_is_reached() {
    let stage = ScriptedDaemon::new("").await;
    let path = stage.outside.join("s.sock");
    let unix = UnixListener::bind(&path).unwrap();
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    unix.set_nonblocking(true).unwrap();
    tcp.set_nonblocking(true).unwrap();
    let port = tcp.local_addr().unwrap().port();
    let connect = |path: &str| {
        format!("/usr/bin/python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\")'")
    };
    let to_unix = connect(path.to_str().unwrap());
    let to_tcp = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    for command in [&to_unix, &to_tcp] {
        let status = std::process::Command::new("bash").args(["-c", command]).status().unwrap();
        assert!(status.success(), "else this shows nothing: {command}");
    }
    assert!(unix.accept().is_ok() && tcp.accept().is_ok());
    let work = stage.work.to_str().unwrap();
    let inside = UnixListener::bind(stage.work.join("inside.sock")).unwrap();
    inside.set_nonblocking(true).unwrap();
    let steps = [
        shell(&to_unix),
        shell(&connect(stage.data.join("ostler.sock").to_str().unwrap())),
        shell(&connect(&format!("{work}/inside.sock"))),
        shell(&to_tcp),
        shell(&format!("exec 3<>/dev/tcp/localhost/{port}")),
        shell(&format!("exec 3<>/dev/tcp/::1/{port} || exec 3<>/dev/tcp/$(hostname -I)/{port}")),
        shell(&format!("echo x > /dev/udp/127.0.0.1/{port} && exec 3<>/dev/tcp/1.1.1.1/53")),
    ];
    for (step, result) in steps.iter().zip(attempt(&stage, &steps).await) {
        assert!(!result.ok, "{step}: {}", result.text);
    }
    assert_eq!(unix.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody came");
    assert_eq!(inside.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody came");
    assert_eq!(tcp.accept().unwrap_err().kind(), ErrorKind::WouldBlock, "nobody came");
}
