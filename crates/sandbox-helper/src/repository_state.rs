//! What git obeys in a repository directory and a command may change there: it is put right when the command has ended.
//!
//! A rebase that is under way keeps a list of what is still to be done, and git runs the commands in it when
//! its owner says `git rebase --continue`. A command may rebase, so the list cannot be read-only; but a line
//! that starts a program and was not there before does not stay. A rebase, and a series of picks or reverts, also
//! names the program that merges.
//!
//! A directory without a readable `HEAD` is no repository to git, which then looks around it: at the top of the workspace,
//! where a command may have made another, with settings of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use ostler_workspace_fs::{GitConfig, RootedTree};
use rustix::fs::FileType;
use serde::{Deserialize, Serialize};

const REBASE_DIRECTORY: &str = "rebase-merge";
/// The list, and the one that it is made from again.
const TODO_LISTS: &[&str] = &["git-rebase-todo", "git-rebase-todo.backup"];
/// Names the program that merges.
const STRATEGY: &str = "strategy";
/// Where a series of picks or reverts keeps its settings, the strategy among them.
const SEQUENCER: &str = "sequencer";
const SEQUENCER_OPTIONS: &str = "sequencer/opts";
const MAXIMUM_BYTES: u64 = 1 << 20;
const HEAD: &str = "HEAD";
const MAXIMUM_HEAD: u64 = 4096;
/// Directories without which a directory is no repository.
const REQUIRED_DIRECTORIES: &[&str] = &["objects", "refs"];
const DIRECTORY_MODE: u32 = 0o755;

/// What a line may begin with. All other words are, or may become, ways to start a program.
const HARMLESS_COMMANDS: &[&str] = &[
    "p",
    "pick",
    "r",
    "reword",
    "e",
    "edit",
    "s",
    "squash",
    "f",
    "fixup",
    "d",
    "drop",
    "l",
    "label",
    "t",
    "reset",
    "m",
    "merge",
    "u",
    "update-ref",
    "b",
    "break",
    "noop",
    "revert",
];
/// Strategies that are git's own.
const STRATEGIES: &[&str] = &["", "ort", "recursive", "resolve", "octopus", "ours", "subtree"];

/// What one repository directory may start, and what makes it one, as it stood.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RepositoryState {
    /// The repository directory.
    directory: OsString,
    commands: Vec<String>,
    strategy: Option<String>,
    /// The settings of a series of picks.
    options: Option<String>,
    /// What its `HEAD` said, if git took the directory for a repository.
    head: Option<Vec<u8>>,
    /// The directory's mode.
    mode: u32,
}

impl RepositoryState {
    /// Looks at it.
    pub(crate) fn read(tree: &RootedTree, directory: &Path) -> RepositoryState {
        let mut state = RepositoryState { directory: directory.into(), ..RepositoryState::default() };
        let place = directory.join(REBASE_DIRECTORY);
        if tree.stat(&place).is_ok_and(|found| found.is_some()) {
            let lists = TODO_LISTS.iter().filter_map(|list| text(tree, &place.join(list)));
            state.commands = lists.flat_map(|list| commands(&list)).collect();
            state.strategy = text(tree, &place.join(STRATEGY));
        }
        if tree.stat(&directory.join(SEQUENCER)).is_ok_and(|found| found.is_some()) {
            state.options = text(tree, &directory.join(SEQUENCER_OPTIONS));
        }
        let found = tree.stat(directory).ok().flatten();
        state.mode = found.map_or(DIRECTORY_MODE, |found| found.st_mode & 0o7777);
        // Of a repository further down git comes to the one above it, whose settings are protected.
        if directory == Path::new(".git") && is_repository(tree, directory) {
            state.head = head(tree, directory);
        }
        state
    }

    /// Takes out what was not there, puts back what was, and says in which files.
    pub(crate) fn restore(&self, tree: &RootedTree) -> Vec<PathBuf> {
        let mut changed = self.repair(tree);
        changed.extend(self.restore_mode(tree));
        changed.extend(self.disarm_picks(tree));
        let place = Path::new(&self.directory).join(REBASE_DIRECTORY);
        match remove_unless_directory(tree, &place) {
            DirectoryPresence::Missing => return changed,
            DirectoryPresence::Removed => {
                changed.push(place);
                return changed;
            }
            DirectoryPresence::Directory => {}
        }
        for path in TODO_LISTS.iter().map(|list| place.join(list)) {
            if !tree.stat(&path).is_ok_and(|found| found.is_none()) && !self.disarm_todo_list(tree, &path) {
                changed.push(path);
            }
        }
        let path = place.join(STRATEGY);
        let is_there = !tree.stat(&path).is_ok_and(|found| found.is_none());
        let strategy = text(tree, &path);
        let is_own = strategy.as_deref().is_some_and(|name| STRATEGIES.contains(&name.trim()));
        if is_there && !is_own && strategy != self.strategy {
            let _ = tree.remove(&path);
            changed.push(path);
        }
        changed
    }

    /// Takes back what lets other users of the machine put something into the directory.
    fn restore_mode(&self, tree: &RootedTree) -> Option<PathBuf> {
        let directory = Path::new(&self.directory);
        let mode = tree.stat(directory).ok().flatten()?.st_mode & 0o7777;
        if mode & !self.mode & 0o022 == 0 {
            return None;
        }
        let _ = tree.set_mode(directory, mode & !(0o022 & !self.mode));
        Some(directory.to_owned())
    }

    /// Makes the directory a repository again if it was one.
    fn repair(&self, tree: &RootedTree) -> Vec<PathBuf> {
        let directory = Path::new(&self.directory);
        let Some(head) = self.head.as_ref().filter(|_| !is_repository(tree, directory)) else {
            return Vec::new();
        };
        // What cannot be put back is found by the next command, which is told that there is no repository.
        let _ = tree.set_mode(directory, DIRECTORY_MODE);
        for inner in REQUIRED_DIRECTORIES.iter().map(|name| directory.join(name)) {
            if !is_enterable_directory(tree, &inner) && tree.set_mode(&inner, DIRECTORY_MODE).is_err() {
                let _ =
                    tree.remove(&inner).and_then(|()| tree.make_directory(&inner, DIRECTORY_MODE).map(drop));
            }
        }
        if self::head(tree, directory).is_none() {
            let _ = tree.remove(&directory.join(HEAD));
            let _ = tree.put_file(&directory.join(HEAD), head, 0o644);
        }
        vec![directory.join(HEAD)]
    }

    /// The settings of a series of picks go when they name a program that was not named before.
    fn disarm_picks(&self, tree: &RootedTree) -> Vec<PathBuf> {
        let (place, options) =
            (Path::new(&self.directory).join(SEQUENCER), Path::new(&self.directory).join(SEQUENCER_OPTIONS));
        match remove_unless_directory(tree, &place) {
            DirectoryPresence::Missing => return Vec::new(),
            DirectoryPresence::Removed => return vec![place],
            DirectoryPresence::Directory => {}
        }
        if tree.stat(&options).is_ok_and(|found| found.is_none()) {
            return Vec::new();
        }
        let found = text(tree, &options);
        let is_harmless = |text: &String| {
            let is_plain = GitConfig::suspects(text, |_| false).is_empty();
            is_plain
                && GitConfig::parse(text).values("options.strategy").all(|name| STRATEGIES.contains(&name))
        };
        if found.as_ref().is_some_and(|text| found == self.options || is_harmless(text)) {
            return Vec::new();
        }
        let _ = tree.remove(&options);
        vec![options]
    }

    /// Whether a list starts nothing new. Makes comments of the lines that do.
    fn disarm_todo_list(&self, tree: &RootedTree, path: &Path) -> bool {
        let Some(list) = text(tree, path) else {
            let _ = tree.remove(path);
            return false;
        };
        if commands(&list).iter().all(|command| self.commands.contains(command)) {
            return true;
        }
        let line = |line: &str| {
            let is_new = !is_harmless(line) && !self.commands.iter().any(|known| known == line);
            if is_new {
                format!("# removed by ostler: {}\n", line.replace('\r', " "))
            } else {
                format!("{line}\n")
            }
        };
        let disarmed: String = list.lines().map(line).collect();
        if tree.put_file(path, disarmed.as_bytes(), 0o644).is_err() {
            let _ = tree.remove(path);
        }
        false
    }
}

/// Whether git takes a directory for a repository with objects of its own.
pub(crate) fn is_repository(tree: &RootedTree, directory: &Path) -> bool {
    is_enterable_directory(tree, directory)
        && REQUIRED_DIRECTORIES.iter().all(|name| is_enterable_directory(tree, &directory.join(name)))
        && head(tree, directory).is_some()
}

/// Whether something is a directory that its owner can enter.
fn is_enterable_directory(tree: &RootedTree, path: &Path) -> bool {
    let found = tree.stat(path).ok().flatten();
    found.is_some_and(|found| {
        FileType::from_raw_mode(found.st_mode) == FileType::Directory && found.st_mode & 0o500 == 0o500
    })
}

/// What a `HEAD` says, if it is one to git: the name of a branch, or of a commit.
fn head(tree: &RootedTree, directory: &Path) -> Option<Vec<u8>> {
    let (bytes, stat) = tree.read(&directory.join(HEAD), MAXIMUM_HEAD).ok()?;
    let text = std::str::from_utf8(&bytes).ok()?;
    let names_branch = text.strip_prefix("ref:").is_some_and(|name| name.trim_start().starts_with("refs/"));
    let names_commit = text.len() >= 40 && text[..40].bytes().all(|byte| byte.is_ascii_hexdigit());
    (stat.st_mode & 0o400 != 0 && (names_branch || names_commit)).then_some(bytes)
}

/// What is where git keeps a directory of its own.
enum DirectoryPresence {
    Missing,
    Directory,
    /// It was something else: a link could lead to a list that is nowhere here.
    Removed,
}

fn remove_unless_directory(tree: &RootedTree, place: &Path) -> DirectoryPresence {
    match tree.stat(place) {
        Ok(None) => DirectoryPresence::Missing,
        Ok(Some(stat)) if FileType::from_raw_mode(stat.st_mode) == FileType::Directory => {
            DirectoryPresence::Directory
        }
        Ok(Some(_)) | Err(_) => {
            let _ = tree.remove(place);
            DirectoryPresence::Removed
        }
    }
}

fn text(tree: &RootedTree, path: &Path) -> Option<String> {
    tree.read(path, MAXIMUM_BYTES).ok().and_then(|(bytes, _)| String::from_utf8(bytes).ok())
}

fn commands(list: &str) -> Vec<String> {
    list.lines().filter(|line| !is_harmless(line)).map(str::to_owned).collect()
}

fn is_harmless(line: &str) -> bool {
    let line = line.trim_start();
    let word = line.split_whitespace().next().unwrap_or_default();
    // A carriage return ends a line for some and not for others.
    !line.contains('\r') && (word.is_empty() || word.starts_with('#') || HARMLESS_COMMANDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    use ostler_workspace_fs::RootedTree;

    use super::{RepositoryState, is_repository};

    #[test]
    fn only_what_was_there_may_start_programs() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let todo = root.join(".git/rebase-merge/git-rebase-todo");
        fs::create_dir_all(todo.parent().unwrap()).unwrap();
        fs::write(&todo, "pick 1 a\nexec make test\n").unwrap();
        let tree = RootedTree::open(&root).unwrap();
        let before = RepositoryState::read(&tree, Path::new(".git"));
        assert!(before.restore(&tree).is_empty());
        fs::write(&todo, "exec make test\n").unwrap();
        assert!(before.restore(&tree).is_empty());
        for line in ["exec touch x", "x touch x", "\tx\ttouch x", "EXEC x", "pick 1\rexec y", "new-word x"] {
            fs::write(&todo, format!("pick 1 a\n{line}\nexec make test\n")).unwrap();
            assert_eq!(before.restore(&tree), [Path::new(".git/rebase-merge/git-rebase-todo")], "{line}");
            let text = fs::read_to_string(&todo).unwrap();
            assert!(text.contains("\nexec make test\n") && text.starts_with("pick 1 a\n#"), "{text}");
            assert!(before.restore(&tree).is_empty());
        }
        fs::write(todo.with_file_name("strategy"), "../../evil\n").unwrap();
        assert_eq!(before.restore(&tree), [Path::new(".git/rebase-merge/strategy")]);
        assert!(before.restore(&tree).is_empty());
        let options = root.join(".git/sequencer/opts");
        fs::create_dir_all(options.parent().unwrap()).unwrap();
        fs::write(&options, "[options]\n\tno-commit = true\n\tstrategy = ort\n").unwrap();
        assert!(before.restore(&tree).is_empty());
        for text in
            ["[options]\n\tstrategy = x/y\n", "[OPTIONS]STRATEGY=x", "[options] a = 1 \\\n\tstrategy = x"]
        {
            fs::write(&options, text).unwrap();
            assert_eq!(before.restore(&tree), [Path::new(".git/sequencer/opts")], "{text}");
            assert!(!options.exists());
        }
        fs::rename(todo.parent().unwrap(), root.join("evil")).unwrap();
        fs::remove_dir_all(root.join(".git/sequencer")).unwrap();
        std::os::unix::fs::symlink("../evil", root.join(".git/rebase-merge")).unwrap();
        assert_eq!(before.restore(&tree), [Path::new(".git/rebase-merge")]);
    }

    #[test]
    fn a_repository_stays_one() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let git = root.join(".git");
        for inner in ["objects/aa", "refs/heads"] {
            fs::create_dir_all(git.join(inner)).unwrap();
        }
        let tree = RootedTree::open(&root).unwrap();
        assert!(!is_repository(&tree, Path::new(".git")));
        fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let before = RepositoryState::read(&tree, Path::new(".git"));
        fs::write(git.join("HEAD"), format!("{}\n", "a1".repeat(20))).unwrap();
        assert!(before.restore(&tree).is_empty());
        let breaks: [fn(&Path); 6] = [
            |git| fs::remove_file(git.join("HEAD")).unwrap(),
            |git| fs::write(git.join("HEAD"), "nothing").unwrap(),
            |git| fs::set_permissions(git.join("HEAD"), Permissions::from_mode(0o000)).unwrap(),
            |git| fs::rename(git.join("objects"), git.join("gone")).unwrap(),
            |git| fs::set_permissions(git.join("refs"), Permissions::from_mode(0o000)).unwrap(),
            |git| fs::set_permissions(git, Permissions::from_mode(0o000)).unwrap(),
        ];
        for (number, broken) in breaks.iter().enumerate() {
            broken(&git);
            assert_eq!(before.restore(&tree), [Path::new(".git/HEAD")], "{number}");
            assert!(is_repository(&tree, Path::new(".git")), "{number}");
        }
        assert!(git.join("objects").is_dir());
    }
}
