//! Questions to a repository, which is only looked at.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

use crate::error::GitError;
use crate::git::{Git, GitCall, Isolation};
use crate::output::GitOutput;
use crate::repository::GitRepository;

/// Runs each line of its input, which is quoted for it, and says after it how it ended, on both of its outputs.
const EACH_LINE_SCRIPT: &str = "eval \"$1\"";

/// What a repository answered.
pub struct QueryAnswers {
    /// Where it keeps what it knows of this work tree.
    pub directory: PathBuf,
    /// What git said to each question, in their order. The last ones are missing where those before them had too
    /// much to say.
    pub outputs: Vec<GitOutput>,
}

/// Asks the repository of a workspace, which is only read. No answer may hold two zero bytes in a row.
pub async fn query_repository(
    workspace: &Path,
    isolation: &Isolation,
    questions: &[&[&str]],
) -> Result<QueryAnswers, GitError> {
    let repository = GitRepository::find(workspace)?;
    let real = std::fs::canonicalize(workspace)
        .map_err(|error| GitError::io("The workspace cannot be opened:", workspace, error))?;
    let directory = repository.directory.clone();
    let git = Git::open(repository, isolation, CancellationToken::new()).await?;
    // One sandbox for all of them costs more to make than git to run.
    let script: String = questions.iter().map(|arguments| script_line(arguments)).collect();
    let call = GitCall::script(EACH_LINE_SCRIPT, &[OsStr::new(&script)]).in_directory(&real);
    let output = git.run(call).await?;
    let outputs = split_outputs(&output);
    if outputs.is_empty() {
        return Err(GitError::new(format!("Git could not be run: {}", output.stderr.trim())));
    }
    Ok(QueryAnswers { directory, outputs })
}

/// A question as a line of a script. The words are our own, and quoted all the same.
fn script_line(arguments: &[&str]) -> String {
    let mut words = String::from("git --no-pager --literal-pathspecs");
    for argument in arguments {
        words.push_str(&format!(" '{}'", argument.replace('\'', r"'\''")));
    }
    format!("{words}; code=$?; printf '\\n\\0\\0%s\\0\\0' $code; printf '\\0\\0' >&2\n")
}

fn split_outputs(output: &GitOutput) -> Vec<GitOutput> {
    let mut answers = Vec::new();
    let (mut rest, mut complaints) = (&output.stdout[..], output.stderr.as_str());
    let mut complaint = || {
        let (own, after) = complaints.split_once("\0\0").unwrap_or((complaints, ""));
        complaints = after;
        own.to_owned()
    };
    while let (stdout, Some(after)) = split_at_separator(rest) {
        let (code, after) = split_at_separator(after);
        let code = std::str::from_utf8(code).ok().and_then(|code| code.parse::<i32>().ok());
        let stdout = stdout.strip_suffix(b"\n").unwrap_or(stdout).to_owned();
        let stderr = complaint();
        answers.push(GitOutput { is_success: code == Some(0), code, stdout, is_cut: false, stderr });
        rest = after.unwrap_or_default();
    }
    if output.is_cut {
        let (stdout, stderr) = (rest.to_owned(), complaint());
        answers.push(GitOutput { is_success: true, code: None, stdout, is_cut: true, stderr });
    }
    answers
}

/// What is before two zero bytes, and what after them, if they are there.
fn split_at_separator(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    match bytes.windows(2).position(|pair| pair == [0, 0]) {
        Some(place) => (&bytes[..place], Some(&bytes[place + 2..])),
        None => (bytes, None),
    }
}
