//! A repository as a person keeps it, and worktrees beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use ostler_git::{GitWorktrees, Isolation};
use ostler_process::Program;
use ostler_sandbox::{BackendChoice, Sandbox, SandboxSettings};
use tempfile::TempDir;

/// What git is confined by in the tests, as in the daemon.
pub(crate) async fn isolation(place: &Path) -> Isolation {
    let sandbox = Sandbox::probe(SandboxSettings {
        home: place.join("home"),
        data_dir: place.join("data"),
        scratch: place.join("data/scratch"),
        helper: Program::at(env!("CARGO_BIN_EXE_ostler-git-sandbox-helper").into()),
        helper_arguments: Vec::new(),
        hidden: Vec::new(),
        hides_home: true,
        readable: Vec::new(),
        search_path: Vec::new(),
        backend_choice: BackendChoice::Best,
        ignore_cached_probe: true,
    })
    .await;
    assert!(sandbox.is_available(), "install bubblewrap, or use another kernel: {:?}", sandbox.report());
    Isolation::Sandbox(sandbox)
}

/// A repository with one commit.
pub(crate) struct TestRepository {
    dir: TempDir,
    pub(crate) worktrees: GitWorktrees,
    pub(crate) isolation: Isolation,
}

impl TestRepository {
    /// A repository that holds these files.
    pub(crate) async fn with(files: &[(&str, &str)]) -> TestRepository {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("repository")).unwrap();
        let isolation = isolation(dir.path()).await;
        let worktrees = GitWorktrees::new(dir.path().join("worktrees"), isolation.clone());
        let repository = TestRepository { dir, worktrees, isolation };
        repository.git(&["init", "--quiet"]);
        for (name, content) in files {
            repository.put(name, content);
        }
        repository.git(&["add", "."]);
        repository.git(&["commit", "--quiet", "-m", "first", "--allow-empty"]);
        repository
    }

    pub(crate) fn path(&self) -> PathBuf {
        std::fs::canonicalize(self.dir.path().join("repository")).unwrap()
    }

    pub(crate) fn worktrees_dir(&self) -> PathBuf {
        self.dir.path().join("worktrees")
    }

    pub(crate) fn put(&self, name: &str, content: &str) {
        put(&self.path(), name, content);
    }

    pub(crate) fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.path().join(name)).ok()
    }

    /// Runs git as a person would, and returns what it says.
    pub(crate) fn git(&self, arguments: &[&str]) -> String {
        git(&self.path(), arguments)
    }

    /// How everything stands that is the user's own: index, branches, stashes, HEAD, files.
    pub(crate) fn user_state(&self) -> Vec<String> {
        let index = self.git(&["ls-files", "--stage", "-v"]);
        let refs = self.git(&["for-each-ref"]);
        let head = std::fs::read_to_string(self.path().join(".git/HEAD")).unwrap();
        vec![index, refs, head, self.git(&["stash", "list"]), self.git(&["status", "--porcelain"])]
    }
}

pub(crate) fn put(folder: &Path, name: &str, content: &str) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

pub(crate) fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=Nobody",
            "-c",
            "user.email=nobody@example.com",
            "-c",
            "init.defaultBranch=main",
        ])
        .args(["-c", "commit.gpgSign=false"])
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
