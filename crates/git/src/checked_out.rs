//! What a workspace has checked out, read without running git.

use std::path::{Path, PathBuf};

use ostler_workspace_fs::GitHead;

use crate::repository::GitRepository;

/// What is checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedOut {
    /// Where the repository keeps what it knows of this work tree.
    pub directory: PathBuf,
    /// Its HEAD.
    pub head: GitHead,
}

/// Reads what the repository of a workspace has checked out. None where [`ask`](crate::query_repository) has to find it out, or refuses
/// to look at the repository. Blocks.
pub fn checked_out(workspace: &Path) -> Option<CheckedOut> {
    let repository = GitRepository::find(workspace).ok()?;
    repository.objects().ok()?;
    if repository.settings().has_reftable() {
        return None;
    }
    let head = GitHead::read(&repository.directory, &repository.common).ok()?;
    Some(CheckedOut { directory: repository.directory, head })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::Path;
    use std::process::Command;

    use ostler_workspace_fs::GitHead;

    use super::checked_out;

    fn git(directory: &Path, arguments: &[&str]) {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
            .args(arguments)
            .current_dir(directory)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
    }

    fn branch(workspace: &Path) -> Option<String> {
        match checked_out(workspace)?.head {
            GitHead::Branch { name, .. } => Some(name),
            GitHead::Detached { commit } => Some(commit),
        }
    }

    #[test]
    fn a_work_tree_is_known_from_anywhere_in_it_and_from_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let (main, linked) = (folder.path().join("main"), folder.path().join("linked"));
        std::fs::create_dir_all(main.join("inner")).unwrap();
        assert_eq!(branch(&main), None);
        git(&main, &["init", "--quiet"]);
        assert_eq!(branch(&main.join("inner")).as_deref(), Some("main"));
        git(&main, &["commit", "--quiet", "--allow-empty", "--message=x"]);
        git(&main, &["worktree", "add", "--quiet", "-b", "other", linked.to_str().unwrap()]);
        assert_eq!(branch(&linked).as_deref(), Some("other"));
        // A `.git` file that names a repository which does not know it.
        let claims = folder.path().join("claims");
        std::fs::create_dir(&claims).unwrap();
        std::fs::copy(linked.join(".git"), claims.join(".git")).unwrap();
        assert_eq!(branch(&claims), None);
        let link = folder.path().join("link");
        std::fs::create_dir(&link).unwrap();
        symlink(main.join(".git"), link.join(".git")).unwrap();
        assert_eq!(branch(&link), None);
    }

    #[test]
    fn a_reftable_is_left_to_git() {
        let folder = tempfile::tempdir().unwrap();
        git(folder.path(), &["init", "--quiet"]);
        assert!(branch(folder.path()).is_some());
        let config = folder.path().join(".git/config");
        let text = std::fs::read_to_string(&config).unwrap();
        std::fs::write(&config, text + "[extensions]\n\trefStorage = reftable\n").unwrap();
        assert_eq!(branch(folder.path()), None);
    }
}
