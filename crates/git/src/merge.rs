//! Making the changes of one work tree in another, file by file, in three ways: what only one side changed is
//! taken from it, what both changed is merged by its lines, and where that cannot be done nothing is changed
//! at all. Neither side's index is touched.

use std::path::{Path, PathBuf};

use ostler_sandbox::protected_name;
use ostler_workspace_fs::RootedTree;

use crate::error::GitError;
use crate::git::{Git, GitCall};
use crate::git_entry::{GitEntry, path_of};
use crate::object_snapshot::{LONG_TIME_LIMIT, MAX_LIST};
use crate::worktrees::{WorktreeChange, WorktreeComparison, WorktreeFileDiff};

/// The mode of a link.
const LINK_MODE: &str = "120000";

/// The largest file that is merged.
const MAX_FILE_BYTES: u64 = 32 << 20;
/// How much all changed files may take together, before and after.
const MAX_TOTAL_BYTES: u64 = 256 << 20;
/// How much of a comparison is shown to people.
const MAX_DIFF_BYTES: u64 = 256 << 10;
/// How many files may have changed.
const MAX_FILES: usize = 10_000;

/// A file that differs between two trees.
#[derive(Debug, Clone)]
pub(crate) struct TreeDifference {
    /// Its path from the root of the work tree.
    pub(crate) path: PathBuf,
    before: Option<BlobRef>,
    after: Option<BlobRef>,
}

#[derive(Debug, Clone)]
struct BlobRef {
    mode: String,
    hash: String,
}

/// What differs between two trees below a folder.
pub(crate) async fn differences(
    git: &Git<'_>,
    (before, after): (&str, &str),
    below: &Path,
) -> Result<Vec<TreeDifference>, GitError> {
    let raw = ["-z", "--raw", "--no-renames", "--full-index"];
    let listed = git.run(diff_call(&raw, (before, after), below)).await?.complete_stdout("diff-tree")?;
    let mut fields = listed.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(head), Some(path)) = (fields.next(), fields.next()) {
        let head = String::from_utf8_lossy(head).into_owned();
        let mut words = head.trim_start_matches(':').split(' ');
        let (Some(mode_before), Some(mode_after)) = (words.next(), words.next()) else { break };
        let (Some(hash_before), Some(hash_after)) = (words.next(), words.next()) else { break };
        let blob = |mode: &str, hash: &str| {
            (mode != "000000").then(|| BlobRef { mode: mode.to_owned(), hash: hash.to_owned() })
        };
        let (before, after) = (blob(mode_before, hash_before), blob(mode_after, hash_after));
        found.push(TreeDifference { path: path_of(path), before, after });
        if found.len() > MAX_FILES {
            return Err(GitError::new(format!("More than {MAX_FILES} files have changed.")));
        }
    }
    Ok(found)
}

/// The same for people, line by line, as far as it fits.
pub(crate) async fn diff(
    git: &Git<'_>,
    compared: &WorktreeComparison,
    below: &Path,
) -> Result<Vec<WorktreeFileDiff>, GitError> {
    let lines = ["--patch", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"];
    let call = diff_call(&lines, (&compared.before, &compared.after), below)
        .with_limits(MAX_DIFF_BYTES, LONG_TIME_LIMIT);
    let output = git.run(call).await?.expect_success("diff-tree")?;
    let text = String::from_utf8_lossy(&output.stdout);
    // Git has the files in the same order as in the list.
    let mut parts = text.strip_prefix("diff --git ").unwrap_or(&text).split("\ndiff --git ");
    let lines = changed(&compared.differences).into_iter().map(|WorktreeChange { path, what }| {
        let body = parts.next().and_then(|part| part.split_once('\n')).map(|(_, body)| body);
        let count = |sign: char| {
            let lines = body.into_iter().flat_map(str::lines).skip_while(|line| !line.starts_with("@@"));
            lines.filter(|line| line.starts_with(sign)).count() as u64
        };
        let (added, removed) = (count('+'), count('-'));
        let is_binary = body.is_some_and(|body| body.contains("\nBinary files "));
        WorktreeFileDiff { path, what, added, removed, is_binary, diff: body.map(str::to_owned) }
    });
    Ok(lines.collect())
}

fn diff_call(how: &[&str], (before, after): (&str, &str), below: &Path) -> GitCall {
    let mut arguments = vec!["--literal-pathspecs", "diff-tree", "-r"];
    arguments.extend(how);
    arguments.extend([before, after, "--"]);
    let below = if below.as_os_str().is_empty() { Path::new(".") } else { below };
    GitCall::git(&arguments).argument(below).with_limits(MAX_LIST, LONG_TIME_LIMIT)
}

/// Makes the differences in a workspace that may have changed since. All or nothing.
pub(crate) async fn merge(
    git: &Git<'_>,
    differences: Vec<TreeDifference>,
    workspace: &Path,
    home: &Path,
) -> Result<Vec<WorktreeChange>, GitError> {
    let paths = differences.iter().map(|one| one.path.clone()).collect();
    let (top, user) = (workspace.to_owned(), home.to_owned());
    let refused = tokio::task::spawn_blocking(move || protected_among(paths, &top, &user)).await;
    let refused = refused.map_err(|error| GitError::new(format!("The merge was given up: {error}.")))?;
    if !refused.is_empty() {
        return Err(GitError::Protected(refused));
    }
    let contents = contents(git, &differences).await?;
    let tree = RootedTree::open_following(workspace)
        .map_err(|error| GitError::io("The workspace cannot be opened:", workspace, error))?;
    let (mut plan, mut conflicts) = (Vec::new(), Vec::new());
    for (difference, (before, after)) in differences.into_iter().zip(contents) {
        let path = difference.path;
        let Ok(now) = GitEntry::read(&tree, &path, MAX_FILE_BYTES) else {
            conflicts.push(path.display().to_string());
            continue;
        };
        if now == after {
            continue;
        }
        let wanted =
            if now == before { Some(after) } else { merge_lines(git, &now, (&before, &after)).await? };
        match wanted {
            Some(wanted) if wanted == now => {}
            Some(wanted) => plan.push(MergeStep { path, now, wanted }),
            None => conflicts.push(path.display().to_string()),
        }
    }
    if !conflicts.is_empty() {
        return Err(GitError::Conflict(conflicts));
    }
    let carried = tokio::task::spawn_blocking(move || apply_steps(&tree, plan)).await;
    carried.map_err(|error| GitError::new(format!("The merge was given up: {error}.")))?
}

/// Those of these paths that no tool may write, whoever asks for it.
fn protected_among(paths: Vec<PathBuf>, workspace: &Path, home: &Path) -> Vec<String> {
    let is_protected = |path: &PathBuf| protected_name(workspace, path, home).is_some();
    paths.into_iter().filter(is_protected).map(|path| path.display().to_string()).collect()
}

/// What the differences are, for people.
pub(crate) fn changed(differences: &[TreeDifference]) -> Vec<WorktreeChange> {
    let is_link = |blob: &Option<BlobRef>| blob.as_ref().is_some_and(|blob| blob.mode == LINK_MODE);
    let word = |difference: &TreeDifference| match (&difference.before, &difference.after) {
        (_, Some(_)) if is_link(&difference.after) && !is_link(&difference.before) => "made a link of",
        (None, _) => "added",
        (Some(_), None) => "deleted",
        (Some(_), Some(_)) => "modified",
    };
    let one = |d: &TreeDifference| WorktreeChange { path: d.path.display().to_string(), what: word(d) };
    differences.iter().map(one).collect()
}

/// One file that is to become something else.
struct MergeStep {
    path: PathBuf,
    now: Option<GitEntry>,
    wanted: Option<GitEntry>,
}

/// Removes first, so that a folder can take the place of a file; takes everything back if one step fails.
fn apply_steps(tree: &RootedTree, mut plan: Vec<MergeStep>) -> Result<Vec<WorktreeChange>, GitError> {
    plan.sort_by_key(|step| step.wanted.is_some());
    for (index, step) in plan.iter().enumerate() {
        if let Err(error) = GitEntry::put(tree, &step.path, step.wanted.as_ref()) {
            let mut left = Vec::new();
            for done in plan[..index].iter().rev() {
                if GitEntry::put(tree, &done.path, done.now.as_ref()).is_err() {
                    left.push(done.path.display().to_string());
                }
            }
            let left = match left.as_slice() {
                [] => "Nothing was changed.".to_owned(),
                some => format!("These files could not be put back: {}.", some.join(", ")),
            };
            return Err(GitError::new(format!("{} cannot be written: {error}. {left}", step.path.display())));
        }
    }
    let word = |step: &MergeStep| match (&step.now, &step.wanted) {
        (None, _) => "added",
        (Some(_), None) => "deleted",
        (Some(_), Some(_)) => "modified",
    };
    let one = |step: &MergeStep| WorktreeChange { path: step.path.display().to_string(), what: word(step) };
    let mut changed: Vec<WorktreeChange> = plan.iter().map(one).collect();
    changed.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(changed)
}

/// Both sides' lines in one file; `None` where they contradict each other.
async fn merge_lines(
    git: &Git<'_>,
    now: &Option<GitEntry>,
    (before, after): (&Option<GitEntry>, &Option<GitEntry>),
) -> Result<Option<Option<GitEntry>>, GitError> {
    let (
        Some(GitEntry::File { is_executable: now_runs, content: ours }),
        Some(GitEntry::File { is_executable: before_runs, content: base }),
        Some(GitEntry::File { is_executable: after_runs, content: theirs }),
    ) = (now, before, after)
    else {
        return Ok(None);
    };
    let names = ["ours", "base", "theirs"].map(|name| git.own_file(name));
    for (name, content) in names.iter().zip([ours, base, theirs]) {
        let written = tokio::fs::write(name, content).await;
        written.map_err(|error| GitError::io("A file for the merge cannot be written:", name, error))?;
    }
    let call =
        names.iter().fold(GitCall::git(&["merge-file", "-p", "--quiet"]), |call, name| call.argument(name));
    let merged = git.run(call.with_limits(2 * MAX_FILE_BYTES, LONG_TIME_LIMIT)).await?;
    if merged.code != Some(0) || merged.is_cut {
        return Ok(None);
    }
    let is_executable = if before_runs == after_runs { *now_runs } else { *after_runs };
    Ok(Some(Some(GitEntry::File { is_executable, content: merged.stdout })))
}

/// What each file was and is, in the order of the differences.
async fn contents(
    git: &Git<'_>,
    differences: &[TreeDifference],
) -> Result<Vec<(Option<GitEntry>, Option<GitEntry>)>, GitError> {
    let blobs = differences.iter().flat_map(|difference| [&difference.before, &difference.after]);
    let mut asked = String::new();
    for blob in blobs.flatten() {
        if blob.mode == "160000" {
            return Err(GitError::new("A submodule has changed, which cannot be merged here."));
        }
        asked.push_str(&blob.hash);
        asked.push('\n');
    }
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    let answer = git
        .run(
            GitCall::git(&["cat-file", "--batch"])
                .input(asked.into_bytes())
                .with_limits(MAX_TOTAL_BYTES, LONG_TIME_LIMIT),
        )
        .await?
        .complete_stdout("cat-file")?;
    let mut rest = answer.as_slice();
    let mut read = |blob: &Option<BlobRef>| -> Result<Option<GitEntry>, GitError> {
        let Some(blob) = blob else { return Ok(None) };
        let (content, after) =
            next_blob(rest).ok_or_else(|| GitError::new("Git does not know a changed file."))?;
        rest = after;
        let content = content.to_vec();
        Ok(Some(match blob.mode.as_str() {
            LINK_MODE => GitEntry::Link { target: content },
            mode => GitEntry::File { is_executable: mode == "100755", content },
        }))
    };
    differences.iter().map(|one| Ok((read(&one.before)?, read(&one.after)?))).collect()
}

/// The first blob of a batch, and what follows it: `<hash> blob <size>\n<content>\n`.
fn next_blob(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let mut words = head.split(' ');
    let (_, kind, size) = (words.next()?, words.next()?, words.next()?.parse::<usize>().ok()?);
    let content = bytes.get(end + 1..end + 1 + size)?;
    (kind == "blob").then_some((content, bytes.get(end + 2 + size..)?))
}
