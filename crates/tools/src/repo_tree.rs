//! The tool that shows what is where: an indented tree of a directory.

use std::fmt::Write;
use std::time::Duration;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::{ToolKind, ToolSpec};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::blocking::{StopFlag, run_blocking};
use crate::hidden_paths::HiddenPaths;
use crate::text::reveal_line;
use crate::workspace::Workspace;
use crate::workspace_walk::{OmittedEntries, WorkDeadline, WorkspaceEntry, WorkspaceWalk};
use crate::{Failed, input, prompts};

const DEFAULT_DEPTH: usize = 3;
const DEFAULT_MAX_FILES: usize = 500;
/// How long a walk may take.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// Lists a directory of the workspace.
pub(crate) struct RepoTree {
    hidden_paths: Arc<HiddenPaths>,
}

impl RepoTree {
    pub(crate) fn new(hidden: Arc<HiddenPaths>) -> RepoTree {
        RepoTree { hidden_paths: hidden }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RepoTreeInput {
    /// Directory to list, relative to the workspace. Default: the workspace.
    path: Option<String>,
    /// Number of levels to show. Default 3.
    #[schemars(range(min = 1, max = 64))]
    depth: Option<usize>,
    /// Maximum number of files and directories to list. Default 500.
    #[schemars(range(min = 1, max = 5_000))]
    max_files: Option<usize>,
}

impl Tool for RepoTree {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "repo_tree".to_owned(),
            description: prompts::REPO_TREE.to_owned(),
            input_schema: input::schema::<RepoTreeInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn summary(&self, input: &Value) -> String {
        let path = input.get("path").and_then(Value::as_str).filter(|path| !path.is_empty()).unwrap_or(".");
        format!("list {}", reveal_line(path))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        let hidden = Arc::clone(&self.hidden_paths);
        run_blocking(move |stop| {
            let input: RepoTreeInput = input::parse(input)?;
            list(&Workspace::open(&context.workspace, &hidden)?, &input, stop)
        })
        .boxed()
    }
}

fn list(workspace: &Workspace, input: &RepoTreeInput, stop: &StopFlag) -> Result<ToolOutcome, Failed> {
    let path = input.path.as_deref().filter(|path| !path.is_empty()).unwrap_or(".");
    let depth = input.depth.unwrap_or(DEFAULT_DEPTH);
    let max_files = input.max_files.unwrap_or(DEFAULT_MAX_FILES);
    let until = WorkDeadline::new(stop, TIME_LIMIT);
    let (entries, omitted) = WorkspaceWalk::new(workspace, path, depth, &until)?.run();
    let mut text = String::new();
    for entry in entries.iter().take(max_files) {
        let name = entry.path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let indent = 2 * (entry.depth - 1);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{:indent$}{}{}", "", reveal_line(&name), type_suffix(entry));
    }
    if entries.is_empty() {
        text.push_str("[No files found, apart from ignored ones.]\n");
    }
    let (listed, left_out) = (entries.len().min(max_files), entries.len().saturating_sub(max_files));
    let notes = notes(&omitted, left_out, depth, max_files);
    if !notes.is_empty() {
        // As above.
        let _ = writeln!(text, "[{}]", notes.join(" "));
    }
    let truncated = left_out > 0 || omitted.too_deep > 0 || omitted.too_many;
    let details = json!({
        "path": path,
        "entries": listed,
        "left_out": left_out,
        "ignored": omitted.ignored,
        "truncated": truncated,
    });
    Ok(ToolOutcome::done(text, details))
}

/// What is put after a name to say what it is, as `ls -F` does.
fn type_suffix(entry: &WorkspaceEntry) -> &'static str {
    match entry.kind {
        FileType::Directory => "/",
        FileType::Symlink => "@",
        FileType::RegularFile => "",
        FileType::Fifo => "|",
        FileType::Socket => "=",
        FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => "?",
    }
}

fn notes(omitted: &OmittedEntries, left_out: usize, depth: usize, max_files: usize) -> Vec<String> {
    let mut notes = Vec::new();
    if left_out > 0 {
        let more = if omitted.too_many { "More than " } else { "" };
        notes.push(format!(
            "{more}{left_out} more are not shown after the first {max_files}; list one directory with path, \
             or raise max_files."
        ));
    }
    if omitted.too_deep > 0 {
        notes.push(format!(
            "{} directories at depth {depth} are not expanded; list them with path, or raise depth.",
            omitted.too_deep
        ));
    }
    if omitted.ignored > 0 {
        notes.push(format!("{} ignored files or directories are not shown.", omitted.ignored));
    }
    if omitted.unreadable > 0 {
        notes.push(format!("{} directories could not be read.", omitted.unreadable));
    }
    if omitted.too_many {
        notes.push("There are too many files to list them all; list one directory with path.".to_owned());
    }
    notes
}
