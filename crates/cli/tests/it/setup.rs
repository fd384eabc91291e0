//! Commands that set things up: tool servers in the configuration file, a unit for systemd, a self-check, the manual.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::cli_fixture::CliFixture;
use crate::process::{DaemonProcess, binary};
use crate::tool_server;

const CONFIG: &str = "# Mine.\n[models]\ndefault = \"demo:demo\"  # for now\n\n[mcp.old]\ncommand = [\"old\", \"--key\", \"hunter2\"]\n\n# The end.\n";

fn config(desk: &CliFixture) -> String {
    std::fs::read_to_string(desk.path("config.toml")).unwrap()
}

#[test]
fn servers_are_added_listed_and_removed_and_comments_stay() {
    let desk = CliFixture::new(CONFIG);
    let add = [
        "mcp",
        "add",
        "time",
        "--kind",
        "read",
        "--env",
        "TIME_KEY",
        "--",
        "uvx",
        "mcp-server-time",
        "--utc",
    ];
    let said = desk.run(&add);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert!(said.err.contains("TIME_KEY is not set here"), "{said:?}");
    let written = config(&desk);
    let section = "\n[mcp.time]\ncommand = [\"uvx\", \"mcp-server-time\", \"--utc\"]\npass_env = [\"TIME_KEY\"]\nkind = \"read\"\n";
    assert_eq!(written, format!("{CONFIG}{section}"));
    let twice = desk.run(&add);
    assert_eq!(twice.code, Some(1), "{twice:?}");
    assert!(twice.err.contains("replace it with --force"), "{twice:?}");
    let listed = desk.run(&["mcp", "list"]);
    assert!(listed.out.contains("time") && listed.out.contains("no daemon running"), "{listed:?}");
    assert!(!listed.out.contains("hunter2"), "arguments may be secrets: {listed:?}");
    let json: serde_json::Value = serde_json::from_str(&desk.run(&["mcp", "list", "--json"]).out).unwrap();
    assert_eq!(json.as_array().unwrap().len(), 2, "{json}");
    assert_eq!(desk.run(&["mcp", "rm", "time"]).code, Some(0));
    assert_eq!(config(&desk).trim_end(), CONFIG.trim_end());
    let gone = desk.run(&["mcp", "rm", "time"]);
    assert_eq!(gone.code, Some(1), "{gone:?}");
    assert!(gone.err.contains("has no server `time`"), "{gone:?}");
}

#[test]
fn a_secret_is_not_taken_and_not_repeated() {
    let desk = CliFixture::new("");
    for arguments in [
        &["mcp", "add", "x", "--env", "KEY=hunter2", "--", "server"][..],
        &["mcp", "add", "x", "--url", "https://h/mcp", "--bearer-env", "hunter2-token"],
        &["mcp", "add", "x", "--url", "file:///etc/passwd"],
        &["mcp", "add", "odd name", "--", "server"],
        &["mcp", "add", "x"],
    ] {
        let said = desk.run(arguments);
        assert_eq!(said.code, Some(2), "{said:?}");
        assert!(!said.err.contains("hunter2"), "{said:?}");
    }
    assert_eq!(config(&desk), "");
    let added = desk.run(&["mcp", "add", "docs", "--url", "https://h/mcp", "--bearer-env", "DOCS_TOKEN"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    assert_eq!(config(&desk), "[mcp.docs]\nurl = \"https://h/mcp\"\nbearer_token_env = \"DOCS_TOKEN\"\n");
}

/// A tool that is named after a variable that its server was given.
const TOOL: &str = r#"
NAME = "has_key" if os.environ.get("SERVER_KEY") == "hunter2" else "no_key"
def tool(arguments):
    return "nothing"
"#;

#[test]
fn a_daemon_starts_what_was_added_and_tells_how_it_is() {
    let desk = CliFixture::new("");
    let add = [
        "mcp",
        "add",
        "good",
        "--env",
        "SERVER_KEY",
        "--",
        "/usr/bin/python3",
        "-c",
        &tool_server::script(TOOL),
    ];
    assert_eq!(desk.run(&add).code, Some(0));
    assert_eq!(desk.run(&["mcp", "add", "bad", "--", "/nonexistent/server"]).code, Some(0));
    let unreachable = desk.run(&["mcp", "list", "--check"]);
    assert_eq!(unreachable.code, Some(5), "{unreachable:?}");
    let written = config(&desk);
    let daemon = DaemonProcess::serve_with(&desk.data, &written, &[("SERVER_KEY", "hunter2")]);
    let idle = desk.run(&["mcp", "list"]);
    assert!(idle.out.contains("not needed yet"), "{idle:?}");
    let checked = desk.run(&["mcp", "list", "--check"]);
    assert_eq!(checked.code, Some(1), "one does not work: {checked:?}");
    assert!(
        checked.out.contains("ready, 1 tools") && checked.out.contains("/nonexistent/server"),
        "{checked:?}"
    );
    let json = desk.run(&["mcp", "list", "--json"]).out;
    assert!(json.contains("has_key") && !json.contains("hunter2"), "{json}");
    let again = desk.run(&["mcp", "rm", "bad"]);
    assert!(again.err.contains("`ostler restart`"), "{again:?}");
    drop(daemon);
}

/// A systemd that writes down what it is told.
fn systemd(desk: &CliFixture, script: &str) {
    std::fs::create_dir_all(desk.path("bin")).unwrap();
    let path = desk.path("bin/systemctl");
    std::fs::write(&path, format!("#!/bin/sh\necho \"$@\" >> '{}'\n{script}\n", desk.path("told").display()))
        .unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

fn service(desk: &CliFixture, path: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = desk.command(&[&["service"], arguments].concat());
    command.env("PATH", path).env("XDG_CONFIG_HOME", desk.path("xdg"));
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_unit_is_written_started_and_removed_as_often_as_one_likes() {
    let desk = CliFixture::new("");
    systemd(&desk, "test \"$2\" != is-active");
    let path = format!("{}:/usr/bin:/bin", desk.path("bin").display());
    let unit = desk.path("xdg/systemd/user/ostler.service");
    for (round, word) in [(1, "written: "), (2, "up to date: ")] {
        let (code, out, err) = service(&desk, &path, &["install"]);
        assert_eq!((code, err.as_str()), (Some(0), ""), "{round}: {out}");
        assert!(out.starts_with(word) && out.contains("the daemon is running"), "{out}");
    }
    let text = std::fs::read_to_string(&unit).unwrap();
    let data = desk.data.display().to_string();
    assert!(text.contains(&format!(" serve --data-dir {data} --config ")), "{text}");
    assert!(text.contains("KillMode=mixed") && text.contains("EnvironmentFile=-"), "{text}");
    assert_eq!(service(&desk, &path, &["install", "--print"]).1, text);
    let told = std::fs::read_to_string(desk.path("told")).unwrap();
    assert!(
        told.contains("--user daemon-reload\n") && told.contains("--user enable --now ostler.service\n"),
        "{told}"
    );
    let (code, out, _) = service(&desk, &path, &["status"]);
    assert_eq!(code, Some(5), "no daemon answers: {out}");
    assert!(out.contains("unit: ") && out.contains("daemon: none running"), "{out}");
    for said in ["removed: ", "no unit is installed"] {
        let (code, out, err) = service(&desk, &path, &["uninstall"]);
        assert_eq!((code, err.as_str()), (Some(0), ""));
        assert!(out.starts_with(said) && !unit.exists(), "{out}");
    }
    assert!(std::fs::read_to_string(desk.path("told")).unwrap().contains("disable --now"));
}

#[test]
fn a_daemon_that_runs_already_is_not_fought_over() {
    let desk = CliFixture::new("");
    systemd(&desk, "test \"$2\" != is-active");
    let _daemon = DaemonProcess::serve(&desk.data, "");
    let path = format!("{}:/usr/bin:/bin", desk.path("bin").display());
    let (code, out, _) = service(&desk, &path, &["install"]);
    assert_eq!(code, Some(0), "{out}");
    assert!(out.contains("already running"), "{out}");
    let told = std::fs::read_to_string(desk.path("told")).unwrap();
    assert!(told.contains("--user enable ostler.service\n") && !told.contains("--now"), "{told}");
    assert!(service(&desk, &path, &["status"]).1.contains("running on"));
}

#[test]
fn without_systemd_it_says_what_to_type() {
    let desk = CliFixture::new("");
    let empty = desk.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let (code, out, err) = service(&desk, empty.to_str().unwrap(), &["install"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("there is no systemd here") && err.contains("setsid nohup "), "{err}");
    assert!(!desk.path("xdg").exists(), "nothing was written");
    systemd(&desk, "exit 1");
    let (code, out, _) = service(&desk, desk.path("bin").to_str().unwrap(), &["install"]);
    assert_eq!(code, Some(1), "it was not enabled: {out}");
    assert!(
        out.contains("systemd does not answer") && out.contains("systemctl --user daemon-reload"),
        "{out}"
    );
}

#[test]
fn a_self_check_tries_everything_and_leaves_nothing() {
    let scratch = tempfile::tempdir_in(crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let mut command = binary();
    command.args(["self-check", "--scratch"]).arg(scratch.path()).current_dir(scratch.path());
    // What the owner has set must not matter.
    command.env("OSTLER_MODELS_DEFAULT", "nobody:knows").env("HOME", scratch.path());
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(said.lines().filter(|line| line.starts_with("✓ ")).count(), 9, "{said}");
    for word in ["tool", "approval", "verified", "sandbox", "crash", "undone"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let left: Vec<_> =
        std::fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_self_check_that_cannot_begin_says_why() {
    let mut command = binary();
    let output = command.args(["self-check", "--scratch", "/nonexistent/place"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--scratch"));
}

fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn the_manual_has_a_page_for_each_command_with_examples() {
    let desk = CliFixture::new("");
    let said = desk.run(&["man", "--out", desk.path("man").to_str().unwrap()]);
    assert_eq!(said.code, Some(0), "{said:?}");
    let pages = names(&desk.path("man"));
    for page in
        ["ostler.1", "ostler-run.1", "ostler-mcp-add.1", "ostler-sessions-list.1", "ostler-self-check.1"]
    {
        assert!(pages.iter().any(|name| name == page), "{page}: {pages:?}");
        let text = std::fs::read_to_string(desk.path("man").join(page)).unwrap();
        assert!(text.contains("Example"), "{page}: {text}");
    }
    assert!(!pages.iter().any(|name| name.contains("openapi")), "{pages:?}");
    assert!(desk.run(&["man"]).out.contains(".TH"));
}

#[test]
fn completions_are_what_the_shell_reads() {
    let desk = CliFixture::new("");
    for shell in ["bash", "zsh", "fish"] {
        let text = desk.run(&["completions", shell]).out;
        assert!(text.contains("self-check") && text.contains("output-schema"), "{shell}");
    }
    let path = desk.path("complete.bash");
    std::fs::write(&path, desk.run(&["completions", "bash"]).out).unwrap();
    let line = format!(
        "source {}; COMP_WORDS=(ostler mcp ''); COMP_CWORD=2; _ostler ostler '' mcp; echo \"${{COMPREPLY[*]}}\"",
        path.display()
    );
    let output = std::process::Command::new("bash").args(["-c", &line]).output().unwrap();
    let offered = String::from_utf8(output.stdout).unwrap();
    assert!(offered.contains("add list rm"), "{offered}{}", String::from_utf8_lossy(&output.stderr));
}
