//! The tool that writes a whole file. How it is put there is left to `change`.

use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::{FileChange, Subject, ToolKind, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::blocking::{StopFlag, run_blocking};
use crate::file_edit::{FileEdit, FileEditAction, commit, line_counts_text, preview, report};
use crate::file_location::FileLocation;
use crate::file_replacement::FileVersion;
use crate::file_tracker::{FileTracker, SessionFileTracker, outdated_message};
use crate::hidden_paths::HiddenPaths;
use crate::patch::document::TextDocument;
use crate::text::reveal_line;
use crate::workspace::Workspace;
use crate::{Failed, input, prompts};

/// How long a file may be that a model writes.
const MAX_CONTENT_BYTES: usize = 1024 * 1024;
/// How long an old file may be for the new one to be compared with it.
const MAX_COMPARED_BYTES: u64 = 4 * 1024 * 1024;

/// Creates or replaces a file of the workspace.
pub(crate) struct WriteFile {
    hidden_paths: Arc<HiddenPaths>,
    file_tracker: FileTracker,
}

impl WriteFile {
    pub(crate) fn new(hidden: Arc<HiddenPaths>, sight: FileTracker) -> WriteFile {
        WriteFile { hidden_paths: hidden, file_tracker: sight }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteFileInput {
    /// Path of the file, relative to the workspace. Missing parent directories are created.
    #[schemars(length(min = 1))]
    path: String,
    /// Complete new content of the file, at most 1 MiB.
    content: String,
}

impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "write_file".to_owned(),
            description: prompts::WRITE_FILE.to_owned(),
            input_schema: input::schema::<WriteFileInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Write
    }

    fn subject(&self, input: &Value, _workspace: &Path) -> BoxFuture<'_, Subject> {
        std::future::ready(input::argument(input, "path")).boxed()
    }

    fn summary(&self, input: &Value) -> String {
        let field = |name: &str| input.get(name).and_then(Value::as_str);
        match (field("path"), field("content")) {
            (Some(path), Some(content)) => format!("write {} ({} bytes)", reveal_line(path), content.len()),
            (Some(path), None) => format!("write {}, but the input has no content", reveal_line(path)),
            (None, _) => "write a file, but the input names none".to_owned(),
        }
    }

    fn preview(&self, input: Value, context: ToolContext) -> BoxFuture<'_, Option<Vec<FileChange>>> {
        let shown = self.file_tracker.for_session(context.session);
        let plan = move |workspace: &Workspace| Ok(vec![plan(workspace, &shown, &input::parse(input)?)?]);
        preview(context, Arc::clone(&self.hidden_paths), plan).boxed()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        let hidden = Arc::clone(&self.hidden_paths);
        let shown = self.file_tracker.for_session(context.session);
        run_blocking(move |stop| {
            let input: WriteFileInput = input::parse(input)?;
            write(&Workspace::open(&context.workspace, &hidden)?, &shown, &input, stop)
        })
        .boxed()
    }
}

fn plan(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    input: &WriteFileInput,
) -> Result<FileEdit, Failed> {
    let bytes = input.content.len();
    let path = reveal_line(&input.path);
    if bytes > MAX_CONTENT_BYTES {
        return Err(Failed::new(format!(
            "`content` has {bytes} bytes; the limit is {MAX_CONTENT_BYTES}. `{path}` was not written. Write \
             a smaller file, or create it with a command."
        )));
    }
    let content = input.content.as_bytes().to_vec();
    let place = FileLocation::find_if_parent_exists(workspace, &input.path)?;
    let seen = place.and_then(|place| {
        // A file that may not be read can still be replaced; it is then known by its stamp.
        place
            .version_without_content()
            .map(|unread| place.read(&input.path, MAX_COMPARED_BYTES).unwrap_or(unread))
    });
    if seen.as_ref().is_some_and(|seen| shown.is_outdated(workspace, &input.path, seen.content())) {
        let outdated = outdated_message(&input.path);
        return Err(Failed::new(format!(
            "{outdated}. Nothing was written. Read it again before you overwrite it."
        )));
    }
    let seen = seen.map(|seen| with_unsaved(workspace, shown, &input.path, seen));
    let action = match seen {
        Some(seen) => FileEditAction::Update { seen, content },
        None => FileEditAction::Add { content, executable: false },
    };
    Ok(FileEdit { path: input.path.clone(), action })
}

fn write(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    input: &WriteFileInput,
    stop: &StopFlag,
) -> Result<ToolOutcome, Failed> {
    let changes = [plan(workspace, shown, input)?];
    let (bytes, path) = (input.content.len(), reveal_line(&input.path));
    let (done, change) = match &changes[0].action {
        FileEditAction::Add { .. } => ("Created", "created"),
        FileEditAction::Update { .. } | FileEditAction::Delete { .. } | FileEditAction::Move { .. } => {
            ("Replaced", "replaced")
        }
    };
    commit(workspace, &changes, stop)?;
    shown.record_edits(workspace, &changes);
    let report = report(workspace, &changes);
    let counts = report.counts.first().copied().flatten();
    let lines = counts.map(|counts| format!(", {}", line_counts_text(counts.added, counts.removed)));
    let details = json!({
        "path": input.path,
        "bytes": bytes,
        "change": change,
        "lines_added": counts.map(|counts| counts.added),
        "lines_removed": counts.map(|counts| counts.removed),
        "files": report.files,
    });
    Ok(ToolOutcome::done(format!("{done} {path}: {bytes} bytes{}.", lines.unwrap_or_default()), details))
}

/// The file with what an editor shows of it that is not saved, which the new content takes the place of.
fn with_unsaved(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    path: &str,
    seen: FileVersion,
) -> FileVersion {
    let Some(document) = seen.content().and_then(TextDocument::decode) else { return seen };
    match shown.unsaved(workspace, path, Some(document.text())) {
        Some(unsaved) => seen.with_unsaved(document.encode(&unsaved)),
        None => seen,
    }
}
