//! The tool that changes several files by one patch. Reading the patch, working out what it does and
//! making the changes are left to `patch` and `change`.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::{FileChange, ToolKind, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::blocking::{StopFlag, run_blocking};
use crate::file_edit::{FileEdit, FileEditAction, commit, preview, report};
use crate::file_tracker::{
    FileTracker, OUTDATED_ADVICE, SessionFileTracker, outdated_message, unsaved_text_note,
};
use crate::hidden_paths::HiddenPaths;
use crate::patch::plan::plan;
use crate::patch::read::parse_patch;
use crate::patch::{FileAction, FilePatch};
use crate::text::reveal_line;
use crate::workspace::Workspace;
use crate::{Failed, input, prompts};

/// Applies a patch to files of the workspace.
pub(crate) struct ApplyPatch {
    hidden_paths: Arc<HiddenPaths>,
    file_tracker: FileTracker,
}

impl ApplyPatch {
    pub(crate) fn new(hidden: Arc<HiddenPaths>, sight: FileTracker) -> ApplyPatch {
        ApplyPatch { hidden_paths: hidden, file_tracker: sight }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApplyPatchInput {
    /// The complete patch, at most 1 MiB and 200 files.
    #[schemars(length(min = 1))]
    patch: String,
}

impl Tool for ApplyPatch {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "apply_patch".to_owned(),
            description: prompts::APPLY_PATCH.to_owned(),
            input_schema: input::schema::<ApplyPatchInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Write
    }

    fn summary(&self, input: &Value) -> String {
        let Some(patch) = input.get("patch").and_then(Value::as_str) else {
            return "apply a patch, but the input has none".to_owned();
        };
        match parse_patch(patch) {
            Ok(patch) => patch.files.iter().map(describe).collect::<Vec<_>>().join(", "),
            Err(_) => "apply a patch that cannot be read".to_owned(),
        }
    }

    fn written_paths(&self, input: &Value) -> Vec<String> {
        let patch = input.get("patch").and_then(Value::as_str).and_then(|patch| parse_patch(patch).ok());
        patch.map_or_else(Vec::new, |patch| patch.files.iter().map(|file| file.path.clone()).collect())
    }

    fn preview(&self, input: Value, context: ToolContext) -> BoxFuture<'_, Option<Vec<FileChange>>> {
        let shown = self.file_tracker.for_session(context.session);
        let plan = move |workspace: &Workspace| {
            let input: ApplyPatchInput = input::parse(input)?;
            Ok(plan(workspace, &shown, &parse_patch(&input.patch)?)?.changes)
        };
        preview(context, Arc::clone(&self.hidden_paths), plan).boxed()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        let hidden = Arc::clone(&self.hidden_paths);
        let shown = self.file_tracker.for_session(context.session);
        run_blocking(move |stop| {
            let input: ApplyPatchInput = input::parse(input)?;
            apply_patch(&Workspace::open(&context.workspace, &hidden)?, &shown, &input, stop)
        })
        .boxed()
    }
}

fn describe(file: &FilePatch<'_>) -> String {
    let path = reveal_line(&file.path);
    match &file.action {
        FileAction::Add { .. } => format!("add {path}"),
        FileAction::Delete { .. } => format!("delete {path}"),
        FileAction::Update { move_to: None, .. } => format!("update {path}"),
        FileAction::Update { move_to: Some(to), .. } => format!("move {path} to {}", reveal_line(to)),
    }
}

fn apply_patch(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    input: &ApplyPatchInput,
    stop: &StopFlag,
) -> Result<ToolOutcome, Failed> {
    let patch = parse_patch(&input.patch)?;
    let mut plan = plan(workspace, shown, &patch)?;
    let outdated = outdated_file_notes(workspace, shown, &plan.changes)?;
    plan.notes.extend(outdated);
    commit(workspace, &plan.changes, stop)?;
    shown.record_edits(workspace, &plan.changes);
    let report = report(workspace, &plan.changes);
    let mut text = report.text;
    for note in plan.notes.iter().map(String::as_str).chain(unsaved_text_note(&plan.changes)) {
        text.push_str(note);
        text.push('\n');
    }
    Ok(ToolOutcome::done(text, json!({"files": report.files})))
}

/// What is to be said of files that somebody has changed since the session saw them. Lines that a hunk names are still
/// there, so it may go on; whoever deletes a file says nothing of what is in it, and may not.
fn outdated_file_notes(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    changes: &[FileEdit],
) -> Result<Vec<String>, Failed> {
    let mut notes = Vec::new();
    for FileEdit { path, action } in changes {
        let (path, seen) = match action {
            FileEditAction::Add { .. } => continue,
            FileEditAction::Update { seen, .. } | FileEditAction::Delete { seen } => (path, seen),
            FileEditAction::Move { from, seen, .. } => (from, seen),
        };
        if !shown.is_outdated(workspace, path, seen.content()) {
            continue;
        }
        let outdated = outdated_message(path);
        if let FileEditAction::Delete { .. } = action {
            return Err(Failed::new(format!(
                "{outdated}. Nothing was changed. Read it again before you delete it."
            )));
        }
        notes.push(format!("{outdated}. {OUTDATED_ADVICE}"));
    }
    Ok(notes)
}
