//! Trees of files for tests: looked at in full, grown and changed at random from a seed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use ostler_checkpoint::{CaptureOptions, Checkpoint, CheckpointStore, RestoreOptions, RestoreReport};

/// All that can be told of a path: what it is, its mode, and its content or target.
pub(crate) type TreeSnapshot = BTreeMap<PathBuf, (char, u32, Vec<u8>)>;

/// A workspace and a store, gone with the test.
pub(crate) struct CheckpointFixture {
    folder: tempfile::TempDir,
    pub(crate) workspace: PathBuf,
    pub(crate) store: CheckpointStore,
}

impl CheckpointFixture {
    /// In memory where that can be, because a disk is slow to sync.
    pub(crate) fn new() -> CheckpointFixture {
        let memory = PathBuf::from("/dev/shm");
        CheckpointFixture::beneath(&if memory.is_dir() { memory } else { std::env::temp_dir() })
    }

    /// In a folder of its own in a directory.
    pub(crate) fn beneath(directory: &Path) -> CheckpointFixture {
        let folder = tempfile::tempdir_in(directory).unwrap();
        let workspace = fs::canonicalize(folder.path()).unwrap().join("workspace");
        fs::create_dir(&workspace).unwrap();
        let store = CheckpointStore::open(&folder.path().join("store")).unwrap();
        CheckpointFixture { folder, workspace, store }
    }

    /// The same, in a git repository as far as rules go.
    pub(crate) fn in_git(rules: &str) -> CheckpointFixture {
        let fixture = CheckpointFixture::new();
        fixture.write(".git/HEAD", "ref: refs/heads/main\n");
        fixture.write(".git/objects/aa/bb", "an object");
        fixture.write(".gitignore", rules);
        fixture
    }

    pub(crate) fn store_directory(&self) -> PathBuf {
        self.folder.path().join("store")
    }

    pub(crate) fn outside(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.workspace.join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Runs the real git in the workspace, which must succeed.
    pub(crate) fn git(&self, arguments: &[&str]) {
        let mut command = std::process::Command::new("git");
        let output = command.arg("-C").arg(&self.workspace).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
    }

    pub(crate) fn chmod(&self, path: &str, mode: u32) {
        fs::set_permissions(self.at(path), fs::Permissions::from_mode(mode)).unwrap();
    }

    pub(crate) fn capture(&self) -> Checkpoint {
        self.store.capture(&self.workspace, &CaptureOptions::default()).unwrap()
    }

    pub(crate) fn capture_since(&self, since: &Checkpoint) -> Checkpoint {
        let options = CaptureOptions { since: Some(since.id), ..CaptureOptions::default() };
        self.store.capture(&self.workspace, &options).unwrap()
    }

    pub(crate) fn restore(&self, to: &Checkpoint, since: Option<&Checkpoint>) -> RestoreReport {
        self.store.restore(&self.workspace, to, since, &RestoreOptions::default()).unwrap()
    }

    pub(crate) fn preview(&self, to: &Checkpoint, since: Option<&Checkpoint>) -> RestoreReport {
        let options = RestoreOptions { preview: true, ..RestoreOptions::default() };
        self.store.restore(&self.workspace, to, since, &options).unwrap()
    }

    pub(crate) fn snapshot(&self) -> TreeSnapshot {
        snapshot(&self.workspace)
    }
}

/// The paths of conflicts, as texts.
pub(crate) fn conflicts(restored: &RestoreReport) -> Vec<&str> {
    restored.conflicts.iter().map(|conflict| conflict.path.to_str().unwrap()).collect()
}

/// Looks at everything in a directory, `.git` and what is ignored as well.
pub(crate) fn snapshot(root: &Path) -> TreeSnapshot {
    let mut found = TreeSnapshot::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let (kind, content) = if metadata.is_symlink() {
                ('l', fs::read_link(&path).unwrap().into_os_string().into_vec())
            } else if metadata.is_dir() {
                waiting.push(path.clone());
                ('d', Vec::new())
            } else {
                ('f', fs::read(&path).unwrap())
            };
            let relative = path.strip_prefix(root).unwrap().to_owned();
            found.insert(relative, (kind, metadata.permissions().mode() & 0o7777, content));
        }
    }
    found
}

/// Numbers that look random and are the same for the same seed.
pub(crate) struct RandomTree(u64);

impl RandomTree {
    pub(crate) fn new(seed: u64) -> RandomTree {
        RandomTree(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }

    fn name(&mut self) -> OsString {
        let names: [&[u8]; 16] = [
            b"a",
            b"b",
            b"c",
            b"d.txt",
            b"e.rs",
            b"with space",
            b"new\nline",
            b"\xff\xfe not utf-8",
            "ünïcödé 名前".as_bytes(),
            b"-dash",
            b"..dots",
            b"quote\"'",
            b"back\\slash",
            b"*glob?",
            b"UPPER",
            b".hidden",
        ];
        OsString::from_vec(names[self.below(names.len())].to_vec())
    }

    fn content(&mut self) -> Vec<u8> {
        match self.below(6) {
            0 => Vec::new(),
            1 => (0..self.below(4_000)).map(|_| self.below(256) as u8).collect(),
            2 => vec![b'x'; 600_000 + self.below(10)],
            _ => (0..self.below(40))
                .map(|_| format!("line {}\n", self.below(9)))
                .collect::<String>()
                .into_bytes(),
        }
    }

    fn mode(&mut self) -> u32 {
        [0o644, 0o755, 0o600, 0o444, 0o640, 0o4755][self.below(6)]
    }

    /// A path that may or may not be there; its directories are made.
    fn place(&mut self, root: &Path) -> Option<PathBuf> {
        let mut path = root.to_owned();
        for _ in 0..self.below(4) {
            path.push(self.name());
        }
        path.push(self.name());
        let parent = path.parent().unwrap();
        fs::create_dir_all(parent).ok()?;
        // A link in the path would lead the test itself elsewhere.
        let real = fs::canonicalize(parent).ok()?;
        (real == parent).then_some(path)
    }

    /// Something that is there, of any kind.
    fn any(&mut self, root: &Path) -> Option<PathBuf> {
        let all: Vec<PathBuf> = snapshot(root)
            .into_keys()
            .filter(|path| !path.starts_with(".git") && path != Path::new(".gitignore"))
            .collect();
        if all.is_empty() { None } else { Some(root.join(&all[self.below(all.len())])) }
    }

    /// Grows a tree.
    pub(crate) fn grow(&mut self, root: &Path, steps: usize) {
        for _ in 0..steps {
            if let Some(path) = self.place(root) {
                self.make(&path);
            }
        }
    }

    fn make(&mut self, path: &Path) {
        if fs::symlink_metadata(path).is_ok() {
            return;
        }
        match self.below(8) {
            0 => fs::create_dir(path).unwrap(),
            1 => symlink(self.name(), path).unwrap(),
            _ => {
                fs::write(path, self.content()).unwrap();
                fs::set_permissions(path, fs::Permissions::from_mode(self.mode())).unwrap();
            }
        }
    }

    /// Changes a tree in one of all the ways in which one can be changed.
    pub(crate) fn edit(&mut self, root: &Path) {
        let Some(path) = self.any(root) else { return };
        let metadata = fs::symlink_metadata(&path).unwrap();
        match self.below(8) {
            0 => self.grow(root, 1),
            1 if metadata.is_file() => fs::write(&path, self.content()).unwrap(),
            2 if metadata.is_file() => {
                let mode = self.mode();
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            2 if metadata.is_dir() => {
                let mode = [0o755, 0o700, 0o555, 0o750][self.below(4)];
                fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            }
            3 => {
                if let Some(to) = self.place(root)
                    && !to.starts_with(&path)
                {
                    // A rename that the kernel refuses is none.
                    let _ = fs::rename(&path, to);
                }
            }
            4 | 5 => remove(&path),
            6 | 7 => {
                remove(&path);
                match self.below(3) {
                    0 => {
                        fs::create_dir(&path).unwrap();
                        self.grow(&path, 2);
                    }
                    1 => symlink(self.name(), &path).unwrap(),
                    _ => fs::write(&path, self.content()).unwrap(),
                }
            }
            _ => {}
        }
    }
}

fn remove(path: &Path) {
    if fs::symlink_metadata(path).unwrap().is_dir() {
        fs::remove_dir_all(path).unwrap();
    } else {
        fs::remove_file(path).unwrap();
    }
}
