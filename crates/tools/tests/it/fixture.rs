//! A workspace on disk with something beside it that no tool may touch.

use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ostler_runner::{ToolContext, ToolOutcome};
use ostler_tools::{ToolSettings, Tools};
use ostler_types::SessionId;
use serde_json::Value;
use tempfile::TempDir;

/// Nothing in these tests takes this long unless it hangs.
const HANG: Duration = Duration::from_secs(60);

/// `workspace/` inside a folder that also holds `outside/secret.txt`.
pub(crate) struct ToolFixture {
    folder: TempDir,
    tools: Tools,
    streamed_output: Arc<Mutex<String>>,
}

impl ToolFixture {
    pub(crate) fn new() -> ToolFixture {
        let folder = tempfile::tempdir().unwrap();
        let folder_path = folder.path().canonicalize().unwrap();
        std::fs::create_dir(folder_path.join("workspace")).unwrap();
        std::fs::create_dir(folder_path.join("outside")).unwrap();
        std::fs::write(folder_path.join("outside/secret.txt"), "top secret\n").unwrap();
        let environment = std::env::vars_os().collect();
        let settings = ToolSettings { allow_unconfined: true, environment, ..ToolSettings::default() };
        ToolFixture { folder, tools: Tools::new(settings), streamed_output: Arc::default() }
    }

    /// A fixture with these files in its workspace.
    pub(crate) fn with(files: &[(&str, &str)]) -> ToolFixture {
        let fixture = ToolFixture::new();
        for (path, content) in files {
            fixture.put(path, content);
        }
        fixture
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("workspace")
    }

    pub(crate) fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("outside")
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.workspace().join(path)
    }

    pub(crate) fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(crate) fn link(&self, path: &str, target: impl AsRef<Path>) {
        std::os::unix::fs::symlink(target, self.path(path)).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// Every name under the workspace, links not followed.
    pub(crate) fn names(&self) -> Vec<String> {
        fn collect(folder: &Path, names: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let entry = entry.unwrap();
                names.push(entry.path().to_string_lossy().into_owned());
                if entry.file_type().unwrap().is_dir() {
                    collect(&entry.path(), names);
                }
            }
        }
        let mut names = Vec::new();
        collect(&self.workspace(), &mut names);
        names.sort();
        names
    }

    /// What was streamed by the calls so far.
    pub(crate) fn shown(&self) -> String {
        self.streamed_output.lock().unwrap().clone()
    }

    pub(crate) fn context(&self) -> ToolContext {
        let shown = Arc::clone(&self.streamed_output);
        let output = Arc::new(move |_: &'static str, text: &str| shown.lock().unwrap().push_str(text));
        ToolContext::new(self.workspace(), session(1), output)
    }

    /// Calls a tool, and fails rather than hang.
    pub(crate) async fn call(&self, tool: &str, input: Value) -> ToolOutcome {
        let tool = self.tools.get(tool).expect("the tool exists");
        soon(tool.run(input, self.context())).await
    }

    /// Calls a tool that must succeed, and gives what it says.
    pub(crate) async fn ok(&self, tool: &str, input: Value) -> ToolOutcome {
        let outcome = self.call(tool, input.clone()).await;
        assert!(outcome.ok, "{tool} {input}: {}", outcome.text);
        outcome
    }

    /// Calls a tool that must fail, and gives why.
    pub(crate) async fn refusal(&self, tool: &str, input: Value) -> String {
        let outcome = self.call(tool, input.clone()).await;
        assert!(!outcome.ok, "{tool} {input}: {}", outcome.text);
        outcome.text
    }
}

/// One of a few sessions.
pub(crate) fn session(number: u128) -> SessionId {
    SessionId::new(uuid::Uuid::from_u128(number))
}

/// What a future gives, or a panic when it never does.
pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(HANG, future).await.expect("this must not hang")
}

/// Waits for something to become true.
pub(crate) async fn until(what: &str, mut is_true: impl FnMut() -> bool) {
    for _ in 0..3_000 {
        if is_true() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never came true: {what}");
}
