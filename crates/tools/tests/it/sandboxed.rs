//! The tools with the machine's real sandbox, and a place that is outside of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use ostler_runner::{ToolContext, ToolOutcome};
use ostler_sandbox::{BackendChoice, Sandbox, SandboxSettings};
use ostler_tools::{ToolSettings, Tools};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{session, soon};
use crate::place::{beside_tmp, for_everybody};

/// Tells a test that is run again where it may make files.
const TEST_DIRECTORY_VARIABLE: &str = "OSTLER_TOOLS_TEST_PLACE";
/// Where a test that runs as somebody else finds the helper.
const HELPER_VARIABLE: &str = "OSTLER_TEST_HELPER";

/// What no command may find.
pub(crate) const SECRET_VARIABLE: &str = "OSTLER_TOOLS_TEST_SECRET";

/// A workspace with a sandbox around it, and something outside.
pub(crate) struct Sandboxed {
    pub(crate) tools: Tools,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) sandbox: Sandbox,
    streamed_output: Arc<Mutex<String>>,
    _place: TempDir,
}

impl Sandboxed {
    pub(crate) async fn new() -> Sandboxed {
        Sandboxed::with(BackendChoice::Best, |_| {}).await
    }

    pub(crate) async fn with(choice: BackendChoice, adjust: impl FnOnce(&mut ToolSettings)) -> Sandboxed {
        // Beside /tmp, which a confined program has for itself.
        let place = std::env::var_os(TEST_DIRECTORY_VARIABLE)
            .map_or_else(|| beside_tmp(env!("CARGO_TARGET_TMPDIR")), std::path::PathBuf::from);
        let place = tempfile::Builder::new().prefix("ostler-tools-").tempdir_in(place).unwrap();
        let root = place.path().canonicalize().unwrap();
        let directory = |name: &str| {
            std::fs::create_dir(root.join(name)).unwrap();
            root.join(name)
        };
        let (workspace, outside, home) = (directory("workspace"), directory("outside"), directory("home"));
        let data_dir = directory("data");
        let sandbox = Sandbox::probe(SandboxSettings {
            home,
            scratch: data_dir.join("scratch"),
            data_dir,
            helper: ostler_process::Program::at(helper()),
            helper_arguments: Vec::new(),
            hidden: Vec::new(),
            hides_home: true,
            readable: Vec::new(),
            search_path: Vec::new(),
            backend_choice: choice,
            ignore_cached_probe: true,
        })
        .await;
        assert!(sandbox.is_available(), "install bubblewrap: {:?}", sandbox.report());
        let mut settings = ToolSettings {
            sandbox: Some(sandbox.clone()),
            environment: std::env::vars_os().collect(),
            ..ToolSettings::default()
        };
        adjust(&mut settings);
        let tools = Tools::new(settings);
        Sandboxed { tools, workspace, outside, sandbox, streamed_output: Arc::default(), _place: place }
    }

    pub(crate) fn context(&self) -> ToolContext {
        let shown = Arc::clone(&self.streamed_output);
        let output = Arc::new(move |_: &'static str, text: &str| shown.lock().unwrap().push_str(text));
        ToolContext::new(self.workspace.clone(), session(1), output)
    }

    /// What was streamed so far.
    pub(crate) fn shown(&self) -> String {
        self.streamed_output.lock().unwrap().clone()
    }

    pub(crate) async fn call(&self, tool: &str, input: Value) -> ToolOutcome {
        soon(self.tools.get(tool).unwrap().run(input, self.context())).await
    }

    /// Calls a tool in another workspace.
    pub(crate) async fn call_in(&self, workspace: &Path, tool: &str, input: Value) -> ToolOutcome {
        let context = ToolContext { workspace: workspace.to_owned(), ..self.context() };
        soon(self.tools.get(tool).unwrap().run(input, context)).await
    }

    pub(crate) async fn shell(&self, command: &str) -> ToolOutcome {
        self.call("shell", json!({"command": command})).await
    }

    pub(crate) async fn ok(&self, command: &str) -> String {
        let outcome = self.shell(command).await;
        assert!(outcome.ok, "{command}: {}", outcome.text);
        outcome.text
    }

    pub(crate) async fn refused(&self, command: &str) -> String {
        let outcome = self.shell(command).await;
        assert!(!outcome.ok, "{command}: {}", outcome.text);
        outcome.text
    }

    /// The processes whose command line holds this.
    pub(crate) fn running(&self, mark: &str) -> usize {
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let own = std::process::id().to_string();
        let lines = processes.filter(|process| process.file_name() != *own).filter_map(|process| {
            let line = std::fs::read(process.path().join("cmdline")).ok()?;
            Some(String::from_utf8_lossy(&line).into_owned())
        });
        lines.filter(|line| line.contains(mark)).count()
    }
}

/// Runs a test again as an ordinary user, with something secret in its environment. Who is an ordinary user
/// already runs it as it is.
pub(crate) fn as_nobody(test: &str) {
    let place = tempfile::tempdir_in(beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let own = for_everybody(&std::env::current_exe().unwrap());
    let mut command = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(place.path(), Some(65534), Some(65534)).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(own);
        command
    } else {
        Command::new(own)
    };
    run_again(&mut command, test, &place);
}

/// Runs a test again with something secret in its environment.
pub(crate) fn with_secret(test: &str) {
    let place = tempfile::tempdir_in(beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    run_again(&mut Command::new(std::env::current_exe().unwrap()), test, &place);
}

fn run_again(command: &mut Command, test: &str, place: &TempDir) {
    command.args([test, "--exact", "--nocapture"]);
    command
        .env("HOME", "/nonexistent")
        .env("TMPDIR", "/tmp")
        .env(TEST_DIRECTORY_VARIABLE, place.path())
        .env(HELPER_VARIABLE, helper());
    command.env(SECRET_VARIABLE, "canary-4711").current_dir("/").stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let told = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{told}");
}

/// The helper, at a place where every user can start it.
fn helper() -> PathBuf {
    let own = || for_everybody(Path::new(env!("CARGO_BIN_EXE_ostler-tools-sandbox-helper")));
    std::env::var_os(HELPER_VARIABLE).map_or_else(own, PathBuf::from)
}
