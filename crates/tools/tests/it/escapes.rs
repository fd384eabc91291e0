//! Ways out of the workspace, all of them closed; and things that are no files.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, FileType, Mode, RenameFlags, makedev, mknodat, renameat_with};
use serde_json::json;

use crate::fixture::{ToolFixture, soon};

/// A workspace with every link out that one can make.
fn with_links() -> ToolFixture {
    let fixture = ToolFixture::with(&[("inside.txt", "inside"), ("d/x", "x")]);
    fixture.link("file_out", fixture.outside().join("secret.txt"));
    fixture.link("relative_out", "../outside/secret.txt");
    fixture.link("folder_out", fixture.outside());
    fixture.link("d/up", "../../outside");
    fixture.link("chain", "relative_out");
    fixture.link("dangling_out", fixture.outside().join("new.txt"));
    fixture.link("magic", "/proc/self/root");
    fixture.link("cwd", "/proc/self/cwd");
    fixture
}

fn outside_paths(fixture: &ToolFixture) -> Vec<String> {
    let secret = fixture.outside().join("secret.txt").to_string_lossy().into_owned();
    let workspace = fixture.workspace().to_string_lossy().into_owned();
    let mut paths: Vec<String> = [
        "../outside/secret.txt",
        "d/../../outside/secret.txt",
        "./.././outside/secret.txt",
        "/etc/passwd",
        "/proc/self/root/etc/passwd",
        "/proc/self/environ",
        "file_out",
        "relative_out",
        "chain",
        "folder_out/secret.txt",
        "d/up/secret.txt",
        "dangling_out",
        "magic/etc/passwd",
    ]
    .map(str::to_owned)
    .to_vec();
    paths.extend([
        secret.clone(),
        format!("/proc/self/root{secret}"),
        format!("magic{secret}"),
        format!("{workspace}/../outside/secret.txt"),
        format!("{workspace}_beside/x"),
        format!("cwd/{secret}"),
    ]);
    paths
}

fn is_a_refusal(text: &str) -> bool {
    ["is outside the workspace", "leads outside the workspace", "may not be followed"]
        .iter()
        .any(|words| text.contains(words))
}

#[tokio::test]
async fn nothing_outside_is_read() {
    let fixture = with_links();
    for path in outside_paths(&fixture) {
        let text = fixture.refusal("read_file", json!({"path": path})).await;
        assert!(is_a_refusal(&text), "{path}: {text}");
    }
    let text = fixture.refusal("read_file", json!({"path": "../x"})).await;
    let expected =
        format!("`../x` is outside the workspace; paths are relative to {}.", fixture.workspace().display());
    assert_eq!(text, expected);
}

#[tokio::test]
async fn nothing_outside_is_written() {
    let fixture = with_links();
    let before = fixture.names();
    let mut paths = outside_paths(&fixture);
    paths.extend(
        ["../new", "../new/deep/x", "folder_out/new/x", "d/up/new", "folder_out/../new"].map(str::to_owned),
    );
    for path in paths {
        let text = fixture.refusal("write_file", json!({"path": path, "content": "overwritten"})).await;
        assert!(is_a_refusal(&text) || text.contains("which is outside the workspace"), "{path}: {text}");
    }
    assert_eq!(fixture.names(), before);
    let outside: Vec<_> =
        std::fs::read_dir(fixture.outside()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside, ["secret.txt"]);
    assert_eq!(std::fs::read_to_string(fixture.outside().join("secret.txt")).unwrap(), "top secret\n");
    assert!(!fixture.workspace().join("../new").exists());
}

#[tokio::test]
async fn a_hard_link_is_cut_rather_than_written_through() {
    let fixture = ToolFixture::new();
    std::fs::hard_link(fixture.outside().join("secret.txt"), fixture.path("hard")).unwrap();
    fixture.ok("write_file", json!({"path": "hard", "content": "new"})).await;
    assert_eq!(fixture.read("hard"), "new");
    assert_eq!(std::fs::read_to_string(fixture.outside().join("secret.txt")).unwrap(), "top secret\n");
}

#[tokio::test]
async fn walks_and_commands_stay_inside() {
    let fixture = with_links();
    for path in ["..", "/", "/proc/self/root", "folder_out", "d/up", "magic", "d/../.."] {
        let text = fixture.refusal("repo_tree", json!({"path": path})).await;
        assert!(is_a_refusal(&text), "{path}: {text}");
        let text = fixture.refusal("shell", json!({"command": "pwd", "cwd": path})).await;
        assert!(is_a_refusal(&text), "{path}: {text}");
    }
    let text = fixture.ok("repo_tree", json!({"depth": 64})).await.text;
    assert!(text.contains("folder_out@") && !text.contains("secret.txt"), "{text}");
    let text = fixture.ok("search", json!({"query": "secret"})).await.text;
    assert_eq!(text, "[Nothing was found.]\n");
    fixture.link(".gitignore", fixture.outside().join("ignore"));
    std::fs::write(fixture.outside().join("ignore"), "inside.txt\n").unwrap();
    let text = fixture.ok("search", json!({"query": "inside"})).await.text;
    assert_eq!(text, "inside.txt:1: inside\n", "rules from outside do not count");
    fixture.put("rules", "inside.txt\n");
    std::fs::remove_file(fixture.path(".gitignore")).unwrap();
    fixture.link(".gitignore", "rules");
    let text = fixture.ok("search", json!({"query": "inside", "glob": "*.txt"})).await.text;
    assert_eq!(text, "inside.txt:1: inside\n", "rules behind a link do not count, as with git");
}

#[tokio::test]
async fn a_pipe_or_a_device_is_no_file() {
    let fixture = ToolFixture::with(&[("a", "x")]);
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, fixture.path("pipe"), FileType::Fifo, mode, 0).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(fixture.path("socket")).unwrap();
    let mut table = vec![("pipe", "is a pipe"), ("socket", "is a socket")];
    // Only root may make a device, and not everywhere.
    if mknodat(CWD, fixture.path("zero"), FileType::CharacterDevice, mode, makedev(1, 5)).is_ok() {
        table.push(("zero", "is a device"));
    }
    for (path, expected) in table {
        let text = fixture.refusal("read_file", json!({"path": path})).await;
        assert!(text.contains(expected), "{text}");
        let text = fixture.refusal("write_file", json!({"path": path, "content": "x"})).await;
        assert!(text.contains(expected), "{text}");
    }
    fixture.link(".ignore", "pipe");
    std::fs::rename(fixture.path("pipe"), fixture.path(".gitignore")).unwrap();
    assert_eq!(fixture.ok("search", json!({"query": "x"})).await.text, "a:1: x\n");
    fixture.ok("repo_tree", json!({})).await;
}

/// Swaps a folder with a link to another one, over and over, while `body` runs.
async fn while_swapping(fixture: &ToolFixture, body: impl AsyncFnOnce()) {
    let done = AtomicBool::new(false);
    let (one, other) = (fixture.path("swap"), fixture.path("other"));
    let swap = || renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
    // The thread must end before the scope does, even when an assertion fails.
    struct SetOnDrop<'a>(&'a AtomicBool);
    impl Drop for SetOnDrop<'_> {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
    std::thread::scope(|scope| {
        let _done = SetOnDrop(&done);
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                swap();
            }
        });
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(soon(body())));
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_link_that_is_swapped_in_leads_nowhere() {
    let fixture = ToolFixture::with(&[("swap/secret.txt", "inside\n"), ("swap/deep/secret.txt", "inside\n")]);
    std::fs::create_dir(fixture.outside().join("deep")).unwrap();
    std::fs::write(fixture.outside().join("deep/outside_only"), "top secret\n").unwrap();
    fixture.link("other", fixture.outside());
    let mut was_read = 0;
    while_swapping(&fixture, async || {
        for round in 0..400 {
            let outcome = fixture.call("read_file", json!({"path": "swap/secret.txt"})).await;
            assert!(!outcome.ok || outcome.text == "1\tinside\n", "{}", outcome.text);
            was_read += usize::from(outcome.ok);
            let path = format!("swap/new{}/file.txt", round % 7);
            fixture.call("write_file", json!({"path": path, "content": "written"})).await;
            if round % 4 == 0 {
                let text = fixture.ok("search", json!({"query": "top"})).await.text;
                assert!(!text.contains("top secret"), "{text}");
                let text = fixture.call("repo_tree", json!({"path": "."})).await.text;
                assert!(!text.contains("outside_only"), "{text}");
                fixture.call("shell", json!({"command": "touch here", "cwd": "swap"})).await;
            }
        }
    })
    .await;
    assert!(was_read > 0, "the inner file was read at times");
    let mut outside: Vec<String> = names(&fixture.outside());
    outside.sort();
    assert_eq!(outside, ["deep", "secret.txt"]);
    assert_eq!(names(&fixture.outside().join("deep")), ["outside_only"]);
}

fn names(folder: &Path) -> Vec<String> {
    std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}
