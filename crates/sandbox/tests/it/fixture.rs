//! A workspace, a home and an outside that are made for one scenario, and the ways to run it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ostler_process::Program;
use ostler_sandbox::{BackendChoice, Sandbox, SandboxProfile, SandboxSettings, TeardownReport};
use tempfile::TempDir;
use tokio::io::AsyncReadExt;

use crate::place::{beside_tmp, for_everybody};

pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Tells a test that is run again where it may make files.
pub(crate) const TEST_DIRECTORY_VARIABLE: &str = "OSTLER_SANDBOX_TEST_PLACE";
/// Where a test that runs as somebody else finds the helper.
const HELPER_VARIABLE: &str = "OSTLER_TEST_HELPER";

/// Makes four tests of each scenario, which is an async function of a [`SandboxWorld`].
macro_rules! everywhere {
    ($($scenario:ident),* $(,)?) => { $(
        mod $scenario {
            use ostler_sandbox::BackendChoice;
            use crate::fixture::{SandboxWorld, as_nobody};

            #[tokio::test]
            async fn bubblewrap() {
                super::$scenario(&SandboxWorld::new(BackendChoice::Bubblewrap).await).await;
            }

            #[tokio::test]
            async fn landlock() {
                super::$scenario(&SandboxWorld::new(BackendChoice::Landlock).await).await;
            }

            #[test]
            fn bubblewrap_as_nobody() {
                as_nobody(module_path!(), "bubblewrap");
            }

            #[test]
            fn landlock_as_nobody() {
                as_nobody(module_path!(), "landlock");
            }
        }
    )* };
}
pub(crate) use everywhere;

/// Runs a test again as an ordinary user. Who is one already runs it as it is.
pub(crate) fn as_nobody(module: &str, test: &str) {
    let module = module.split_once("::").expect("a test is in a crate").1;
    let own = for_everybody(&std::env::current_exe().unwrap());
    let place = tempfile::tempdir_in(test_directory()).unwrap();
    let mut command = if rustix::process::geteuid().is_root() {
        std::os::unix::fs::chown(place.path(), Some(65534), Some(65534)).unwrap();
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]).arg(own);
        command
    } else {
        Command::new(own)
    };
    command.arg(format!("{module}::{test}")).args(["--exact", "--nocapture"]);
    command
        .env("HOME", "/nonexistent")
        .env("TMPDIR", "/tmp")
        .env(TEST_DIRECTORY_VARIABLE, place.path())
        .env(HELPER_VARIABLE, helper())
        .current_dir("/")
        .stdin(Stdio::null());
    let output = command.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let told = format!("{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && text.contains("1 passed"), "{told}");
}

pub(crate) struct SandboxWorld {
    pub(crate) choice: BackendChoice,
    pub(crate) sandbox: Sandbox,
    pub(crate) workspace: PathBuf,
    pub(crate) outside: PathBuf,
    pub(crate) home: PathBuf,
    pub(crate) place: TempDir,
}

/// How a confined script went.
#[derive(Debug)]
pub(crate) struct ScriptOutcome {
    pub(crate) code: Option<i32>,
    pub(crate) output: String,
    pub(crate) teardown: TeardownReport,
}

impl SandboxWorld {
    pub(crate) async fn new(choice: BackendChoice) -> SandboxWorld {
        SandboxWorld::named(choice, "workspace").await
    }

    pub(crate) async fn named(choice: BackendChoice, name: &str) -> SandboxWorld {
        // Beside /tmp, which is private anyway, so that what is outside is seen to be protected.
        let place = tempfile::Builder::new().prefix("ostler sandbox-").tempdir_in(test_directory()).unwrap();
        let root = place.path().canonicalize().unwrap();
        let directory = |name: &str| {
            let path = root.join(name);
            std::fs::create_dir(&path).unwrap();
            path
        };
        let (workspace, outside, home) = (directory(name), directory("outside"), directory("home"));
        let data_dir = directory("data");
        std::fs::write(data_dir.join("token"), "canary").unwrap();
        for (path, mode) in [(data_dir.clone(), 0o700), (data_dir.join("token"), 0o600)] {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        }
        std::fs::create_dir(home.join(".ssh")).unwrap();
        std::fs::write(home.join(".ssh/id"), "canary").unwrap();
        std::fs::write(home.join(".netrc"), "canary").unwrap();
        let sandbox = Sandbox::probe(SandboxSettings {
            home: home.clone(),
            scratch: data_dir.join("scratch"),
            data_dir,
            helper: Program::at(helper()),
            helper_arguments: Vec::new(),
            hidden: Vec::new(),
            hides_home: true,
            readable: Vec::new(),
            search_path: Vec::new(),
            backend_choice: choice,
            ignore_cached_probe: true,
        })
        .await;
        assert!(sandbox.is_available(), "install bubblewrap, or use another kernel: {:?}", sandbox.report());
        SandboxWorld { choice, sandbox, workspace, outside, home, place }
    }

    pub(crate) fn profile(&self) -> SandboxProfile {
        SandboxProfile::new(&self.workspace)
    }

    pub(crate) fn is_landlock(&self) -> bool {
        self.choice == BackendChoice::Landlock
    }

    pub(crate) async fn sh(&self, script: &str) -> ScriptOutcome {
        self.sh_with(&self.profile(), script).await
    }

    pub(crate) async fn sh_with(&self, profile: &SandboxProfile, script: &str) -> ScriptOutcome {
        self.run(profile, "/bin/bash", &["-c", script]).await
    }

    pub(crate) async fn python(&self, profile: &SandboxProfile, script: &str) -> ScriptOutcome {
        self.run(profile, "python3", &["-c", script]).await
    }

    pub(crate) async fn run(
        &self,
        profile: &SandboxProfile,
        program: &str,
        arguments: &[&str],
    ) -> ScriptOutcome {
        self.run_with(profile, program, arguments, &[]).await
    }

    pub(crate) async fn run_with(
        &self,
        profile: &SandboxProfile,
        program: &str,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> ScriptOutcome {
        let (mut command, confinement) = self
            .sandbox
            .command(profile, program, arguments)
            .unwrap()
            .envs([("PATH", PATH)])
            .envs([("OUTSIDE", &self.outside), ("TESTED_HOME", &self.home)])
            .envs([("GIT_CEILING_DIRECTORIES", self.place.path())])
            .envs(variables.iter().copied())
            .prepare();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (mut output, mut errors) = (String::new(), String::new());
        let (first, second) =
            tokio::join!(stdout.read_to_string(&mut output), stderr.read_to_string(&mut errors));
        first.and(second).unwrap();
        let code = child.wait().await.unwrap().code();
        output.push_str(&errors);
        ScriptOutcome { code, output, teardown: confinement.finish() }
    }

    /// Git as its owner would run it, outside.
    pub(crate) fn host_git(&self, directory: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(directory)
            .env("HOME", &self.home)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            // A repository above the test's own directory is somebody's work.
            .env("GIT_CEILING_DIRECTORIES", self.place.path().canonicalize().unwrap())
            .output()
            .unwrap();
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    }
}

impl ScriptOutcome {
    pub(crate) fn ok(&self) -> &str {
        assert_eq!(self.code, Some(0), "{self:?}");
        &self.output
    }

    pub(crate) fn failed(&self) -> &str {
        assert!(self.code.is_some_and(|code| code != 0 && code != 125), "{self:?}");
        &self.output
    }
}

/// A directory that is not private to a sandbox.
fn test_directory() -> PathBuf {
    std::env::var_os(TEST_DIRECTORY_VARIABLE)
        .map_or_else(|| beside_tmp(env!("CARGO_TARGET_TMPDIR")), PathBuf::from)
}

/// What is left in the workspace, by name.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Who may do what with a file.
pub(crate) fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().permissions().mode() & 0o7777
}

/// The helper, at a place where every user can start it.
fn helper() -> PathBuf {
    let own = || for_everybody(Path::new(env!("CARGO_BIN_EXE_ostler-sandbox-helper")));
    std::env::var_os(HELPER_VARIABLE).map_or_else(own, PathBuf::from)
}
