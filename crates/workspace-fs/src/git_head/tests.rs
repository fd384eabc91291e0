//! HEAD as git writes it, as git reads it, and as nobody should be led by it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{GitHead, Reference, find_packed, is_valid_name};

fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
        .args(["-c", "protocol.file.allow=always"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "git {arguments:?}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

fn commit(directory: &Path) -> String {
    git(directory, &["commit", "--quiet", "--allow-empty", "--message=x"]);
    git(directory, &["rev-parse", "HEAD"]).trim().to_owned()
}

fn branch(name: &str, commit: Option<&str>) -> GitHead {
    GitHead::Branch { name: name.to_owned(), commit: commit.map(str::to_owned) }
}

/// A place without links in its path.
fn place() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().canonicalize().unwrap();
    (folder, path)
}

#[test]
fn head_is_what_git_says() {
    for format in ["sha1", "sha256"] {
        let (_folder, place) = place();
        let read = || {
            let directory = place.join(".git");
            GitHead::read(&directory, &directory).unwrap()
        };
        git(&place, &["init", "--quiet", &format!("--object-format={format}")]);
        assert_eq!(read(), branch("main", None), "{format}: a branch without commits");
        let first = commit(&place);
        assert_eq!(read(), branch("main", Some(&first)), "{format}");
        git(&place, &["pack-refs", "--all"]);
        assert!(!place.join(".git/refs/heads/main").exists());
        assert_eq!(read(), branch("main", Some(&first)), "{format}: packed");
        let second = commit(&place);
        assert_eq!(
            read(),
            branch("main", Some(&second)),
            "{format}: a loose branch goes before a packed one"
        );
        git(&place, &["tag", "--annotate", "--message=x", "v1"]);
        git(&place, &["checkout", "--quiet", "-b", "a/b-c", &first]);
        git(&place, &["pack-refs", "--all"]);
        assert_eq!(read(), branch("a/b-c", Some(&first)), "{format}: packed with a tag");
        // Git leaves directories behind, in which branches once were.
        fs::create_dir_all(place.join(".git/refs/heads/a/b-c/empty")).unwrap();
        assert_eq!(read(), branch("a/b-c", Some(&first)), "{format}: a directory in the place of a branch");
        git(&place, &["checkout", "--quiet", "--detach", &second]);
        assert_eq!(read(), GitHead::Detached { commit: second.clone() }, "{format}");
        git(&place, &["checkout", "--quiet", "--orphan", "new"]);
        assert_eq!(read(), branch("new", None), "{format}: beside branches with commits");
    }
}

#[test]
fn worktrees_and_submodules_have_heads_of_their_own() {
    let (_folder, place) = place();
    let (main, linked) = (place.join("main"), place.join("linked"));
    fs::create_dir(&main).unwrap();
    git(&main, &["init", "--quiet"]);
    let first = commit(&main);
    git(&main, &["worktree", "add", "--quiet", "-b", "other", linked.to_str().unwrap()]);
    let second = commit(&linked);
    let common = main.join(".git");
    let head = GitHead::read(&common.join("worktrees/linked"), &common).unwrap();
    assert_eq!(head, branch("other", Some(&second)));
    assert_eq!(GitHead::read(&common, &common).unwrap(), branch("main", Some(&first)));
    git(&linked, &["submodule", "--quiet", "add", main.to_str().unwrap(), "inner"]);
    let module = common.join("worktrees/linked/modules/inner");
    assert_eq!(GitHead::read(&module, &module).unwrap(), branch("main", Some(&first)));
}

#[test]
fn what_only_git_can_tell_is_an_error() {
    let (_folder, place) = place();
    let directory = place.join(".git");
    let read = || GitHead::read(&directory, &directory);
    git(&place, &["init", "--quiet"]);
    commit(&place);
    git(&place, &["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    git(&place, &["symbolic-ref", "HEAD", "refs/heads/alias"]);
    read().unwrap_err();
    git(&place, &["symbolic-ref", "HEAD", "refs/remotes/origin/main"]);
    read().unwrap_err();
    let other = place.join("other");
    let made = Command::new("git").args(["init", "--quiet", "--ref-format=reftable"]).arg(&other).output();
    if made.is_ok_and(|made| made.status.success()) {
        let directory = other.join(".git");
        GitHead::read(&directory, &directory).unwrap_err();
    }
}

#[test]
fn no_head_leads_elsewhere_or_keeps_anybody_waiting() {
    let (_folder, place) = place();
    let directory = place.join(".git");
    let read = || GitHead::read(&directory, &directory);
    git(&place, &["init", "--quiet"]);
    let commit = commit(&place);
    fs::write(place.join("secret"), format!("{commit}\n")).unwrap();
    let head = directory.join("HEAD");
    for text in [
        "ref: ../../x",
        "ref: refs/heads/../../../secret",
        "ref: refs/heads/../../secret",
        "ref: /etc/hostname",
        "ref: refs/heads/",
        "ref: refs/heads/.hidden",
        "ref: refs/heads/a b",
        "ref: refs/heads/a\nb",
        "ref:refs/heads/main",
        "abc",
        "",
    ] {
        fs::write(&head, text).unwrap();
        read().expect_err(text);
    }
    fs::write(&head, format!("ref: refs/heads/main{}\n", " ".repeat(5000))).unwrap();
    read().expect_err("too large");
    fs::remove_file(&head).unwrap();
    symlink("../secret", &head).unwrap();
    read().expect_err("a link");
    fs::remove_file(&head).unwrap();
    mknodat(CWD, &head, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    read().expect_err("a pipe");
    fs::remove_file(&head).unwrap();
    read().expect_err("nothing");
    // The same of a branch, of all branches, and of the packed ones.
    fs::write(&head, "ref: refs/heads/main\n").unwrap();
    assert_eq!(read().unwrap(), branch("main", Some(&commit)));
    let main = directory.join("refs/heads/main");
    fs::remove_file(&main).unwrap();
    symlink("../../../secret", &main).unwrap();
    read().expect_err("a branch that is a link");
    fs::remove_file(&main).unwrap();
    mknodat(CWD, directory.join("packed-refs"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    read().expect_err("packed references that are a pipe");
    fs::remove_file(directory.join("packed-refs")).unwrap();
    assert_eq!(read().unwrap(), branch("main", None));
    fs::rename(directory.join("refs"), place.join("elsewhere")).unwrap();
    symlink("../elsewhere", directory.join("refs")).unwrap();
    read().expect_err("references behind a link");
}

#[test]
fn packed_references_are_read_to_the_one_that_is_wanted() {
    let (one, other) = ("1".repeat(40), "a".repeat(64));
    let packed = format!("# pack-refs with: peeled\n{one} refs/heads/ab\n^{other}\n{other} refs/heads/a\n");
    let find = |packed: &str, name: &str| find_packed(packed.as_bytes(), name);
    assert_eq!(find(&packed, "refs/heads/a").unwrap(), Some(other));
    assert_eq!(find(&packed, "refs/heads/ab").unwrap(), Some(one));
    assert_eq!(find(&packed, "refs/heads/b").unwrap(), None);
    assert_eq!(find("", "refs/heads/a").unwrap(), None);
    find(packed.trim_end(), "refs/heads/a").unwrap_err();
    find("xyz refs/heads/a\n", "refs/heads/a").unwrap_err();
    find("nothing\n", "refs/heads/a").unwrap_err();
}

/// Whether git takes a name.
fn git_takes(name: &str) -> bool {
    Command::new("git").args(["check-ref-format", name]).output().unwrap().status.success()
}

#[test]
fn names_are_valid_where_git_takes_them() {
    for name in [
        "refs/heads/main",
        "refs/heads/a/b",
        "refs/heads/a..b",
        "refs/heads/a.lock",
        "refs/heads/a.lock/b",
        "refs/heads/.a",
        "refs/heads/a.",
        "refs/heads/a./b",
        "refs/heads//b",
        "refs/heads/b/",
        "refs/heads/@",
        "refs/heads/a@{b",
        "refs/heads/a~b",
        "refs/heads/a\\b",
        "refs/heads/a\u{7f}b",
        "refs/heads/ä",
        "refs/heads/-a",
    ] {
        assert_eq!(is_valid_name(name), git_takes(name), "{name}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever a file holds: what is made of it are names that git would take, and that stay beneath the directory.
    #[test]
    fn any_bytes_are_a_commit_a_reference_or_an_error(
        content in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..200),
            "(ref: {0,2})?(refs/heads/)?[a-c./@{~ \n\r\t]{0,20}".prop_map(String::into_bytes),
            "[0-9a-fA-F]{38,66}[ \n]{0,2}".prop_map(String::into_bytes),
        ]
    ) {
        match Reference::parse(&content) {
            Ok(Reference::Commit(commit)) => {
                prop_assert!(matches!(commit.len(), 40 | 64));
                prop_assert!(commit.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')));
            }
            Ok(Reference::Symbolic(name)) if is_valid_name(&name) => {
                prop_assert!(!name.starts_with('/') && name.split('/').all(|part| !matches!(part, "" | "." | "..")));
            }
            Ok(Reference::Symbolic(_)) | Err(_) => {}
        }
    }

    #[test]
    fn any_bytes_are_packed_references_or_an_error(
        content in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..300),
            "([0-9a-f]{39,41} refs/heads/[ab]\n|[#^][a-f]{0,5}\n|\n){0,8}".prop_map(String::into_bytes),
        ]
    ) {
        let found = find_packed(&content, "refs/heads/a");
        if let Ok(Some(commit)) = found {
            let line = format!("{commit} refs/heads/a");
            prop_assert!(String::from_utf8_lossy(&content).lines().any(|other| other.eq_ignore_ascii_case(&line)));
        }
    }
}
