//! The tool that replaces a text in one file. It looks for the text exactly as given, and where it is
//! not there says what came nearest; how the file is written is left to `change`.

use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::{FileChange, Subject, ToolKind, ToolSpec};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::blocking::{StopFlag, run_blocking};
use crate::file_edit::{FileEdit, FileEditAction, commit, preview, report};
use crate::file_location::FileLocation;
use crate::file_tracker::{
    FileTracker, OUTDATED_ADVICE, SessionFileTracker, outdated_message, unsaved_text_note,
};
use crate::hidden_paths::HiddenPaths;
use crate::patch::document::TextDocument;
use crate::patch::line_tolerance::{LineTolerance, normalize};
use crate::patch::lines_finder::LinesFinder;
use crate::patch::plan::{MAX_FILE_BYTES, read_text};
use crate::text::{excerpt, reveal_line};
use crate::workspace::Workspace;
use crate::{Failed, input, prompts};

/// How long the old and the new text may be.
const MAX_TEXT_BYTES: usize = 1024 * 1024;
/// How many places are named when there are too many or too few.
const MAX_NAMED: usize = 20;

/// Replaces a text in a file of the workspace.
pub(crate) struct EditFile {
    hidden_paths: Arc<HiddenPaths>,
    file_tracker: FileTracker,
}

impl EditFile {
    pub(crate) fn new(hidden: Arc<HiddenPaths>, sight: FileTracker) -> EditFile {
        EditFile { hidden_paths: hidden, file_tracker: sight }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditFileInput {
    /// Path of the file, relative to the workspace.
    #[schemars(length(min = 1))]
    path: String,
    /// Text to replace, exactly as it is in the file, with enough context to be unique.
    #[schemars(length(min = 1))]
    old: String,
    /// Replacement text.
    new: String,
    /// Number of times that `old` occurs; all occurrences are replaced. Default 1.
    #[schemars(range(min = 1))]
    count: Option<u64>,
}

impl Tool for EditFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "edit_file".to_owned(),
            description: prompts::EDIT_FILE.to_owned(),
            input_schema: input::schema::<EditFileInput>(),
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
        match (field("path"), field("old"), field("new")) {
            (Some(path), Some(old), Some(new)) => {
                let (path, old, new) = (reveal_line(path), old.len(), new.len());
                let count = input.get("count").and_then(Value::as_u64).filter(|count| *count != 1);
                let times = count.map(|count| format!(", {count} times")).unwrap_or_default();
                format!("edit {path} ({old} bytes become {new}{times})")
            }
            (Some(path), _, _) => format!("edit {}, but the input lacks `old` or `new`", reveal_line(path)),
            (None, _, _) => "edit a file, but the input names none".to_owned(),
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
            let input: EditFileInput = input::parse(input)?;
            edit(&Workspace::open(&context.workspace, &hidden)?, &shown, &input, stop)
        })
        .boxed()
    }
}

fn plan(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    input: &EditFileInput,
) -> Result<FileEdit, Failed> {
    let path = &input.path;
    for (name, text) in [("old", &input.old), ("new", &input.new)] {
        if text.len() > MAX_TEXT_BYTES {
            let bytes = text.len();
            let reason = format!(
                "`{name}` has {bytes} bytes; the limit is {MAX_TEXT_BYTES}. Use apply_patch or a command"
            );
            return Err(refused(path, &reason));
        }
    }
    if input.old == input.new {
        return Err(refused(path, "`old` and `new` are identical"));
    }
    let place = FileLocation::find_if_parent_exists(workspace, path)?
        .filter(|place| place.existing().is_some())
        .ok_or_else(|| workspace.explain(path, Errno::NOENT))?;
    let (seen, document) = read_text(workspace, shown, &place, path)?;
    let text = replace(path, &document, input)?;
    let content = document.encode(&text);
    Ok(FileEdit { path: path.clone(), action: FileEditAction::Update { seen, content } })
}

fn edit(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    input: &EditFileInput,
    stop: &StopFlag,
) -> Result<ToolOutcome, Failed> {
    let path = &input.path;
    let changes = [plan(workspace, shown, input)?];
    let is_outdated = match &changes[0].action {
        FileEditAction::Update { seen, .. } => shown.is_outdated(workspace, path, seen.content()),
        FileEditAction::Add { .. } | FileEditAction::Delete { .. } | FileEditAction::Move { .. } => false,
    };
    commit(workspace, &changes, stop)?;
    shown.record_edits(workspace, &changes);
    let report = report(workspace, &changes);
    let mut text = report.text;
    if is_outdated {
        writeln!(text, "{}. {OUTDATED_ADVICE}", outdated_message(path)).expect("a string takes everything");
    }
    if let Some(note) = unsaved_text_note(&changes) {
        writeln!(text, "{note}").expect("a string takes everything");
    }
    Ok(ToolOutcome::done(text, json!({"files": report.files})))
}

/// The text with every occurrence replaced, if there are as many as there should be.
fn replace(path: &str, document: &TextDocument, input: &EditFileInput) -> Result<String, Failed> {
    let text = document.text();
    let ending = document.usual_ending();
    let with_endings = |text: &str| text.replace("\r\n", "\n").replace('\n', ending);
    let is_exact = text.contains(&input.old);
    // A model sees line breaks and not their kind, so it may well send the other kind.
    let old = if is_exact { input.old.clone() } else { with_endings(&input.old) };
    let new = if ending == "\r\n" || !is_exact { with_endings(&input.new) } else { input.new.clone() };
    let count = usize::try_from(input.count.unwrap_or(1)).unwrap_or(usize::MAX);
    let found = text.matches(&old).count();
    if found == 0 {
        return Err(not_found(path, document, &input.old));
    }
    if found != count {
        let advice = if input.count.is_none() {
            "include more surrounding text to make it unique, or set `count` to replace all of them"
        } else {
            "set the right `count`, or include more surrounding text"
        };
        let lines = line_numbers(text, &old, found);
        let reason = format!("`old` occurs {found} times, not {count}: {lines}; {advice}");
        return Err(refused(path, &reason));
    }
    let removed = found.saturating_mul(old.len());
    let bytes = (text.len() - removed).saturating_add(found.saturating_mul(new.len()));
    if bytes as u64 > MAX_FILE_BYTES {
        return Err(refused(
            path,
            &format!(
                "the result would have {bytes} bytes; the limit is \
                {MAX_FILE_BYTES}"
            ),
        ));
    }
    Ok(text.replace(&old, &new))
}

fn line_numbers(text: &str, old: &str, found: usize) -> String {
    let (mut line, mut from) = (1, 0);
    let mut numbers = Vec::new();
    for (at, _) in text.match_indices(old).take(MAX_NAMED) {
        line += text[from..at].matches('\n').count();
        from = at;
        numbers.push(line.to_string());
    }
    let more = if found > MAX_NAMED { " …" } else { "" };
    format!("on line{} {}{more}", if found > 1 { "s" } else { "" }, numbers.join(", "))
}

fn not_found(path: &str, document: &TextDocument, old: &str) -> Failed {
    let lines: Vec<&str> = document.lines().iter().map(|line| line.text).collect();
    let wanted: Vec<&str> = old.lines().collect();
    let inside = match wanted.as_slice() {
        [line] => inside_line(&lines, line),
        _ => None,
    };
    let nearest = inside.or_else(|| {
        let mut finder = LinesFinder::new(lines);
        let nearest = finder.nearest(&wanted, 0)?;
        let at = nearest.start + nearest.differs.unwrap_or(0);
        let what = match nearest.differs {
            Some(differs) => format!("first difference: expected `{}`", excerpt(wanted[differs])),
            None => format!("but whitespace or quotes differ: expected `{}`", excerpt(wanted.first()?)),
        };
        let found = finder
            .line(at)
            .map_or_else(|| "the end of the file".to_owned(), |line| format!("`{}`", excerpt(line)));
        let (start, matched, all) = (nearest.start + 1, nearest.matched, wanted.len());
        Some(format!(
            "The closest match is at line {start}, where {matched} of {all} lines match, {what}, found \
             {found} on line {}",
            at + 1
        ))
    });
    let nearest = nearest.unwrap_or_else(|| "No line in the file is similar".to_owned());
    let reason = format!("`old` was not found. {nearest}. Read the file again and copy `old` exactly");
    refused(path, &reason)
}

/// The line that holds the text but for its spaces and quotes.
fn inside_line(lines: &[&str], wanted: &str) -> Option<String> {
    let folded = normalize(wanted, LineTolerance::Typography);
    if folded.is_empty() {
        return None;
    }
    let at =
        lines.iter().position(|line| normalize(line, LineTolerance::Typography).contains(folded.as_ref()))?;
    Some(format!(
        "The closest match is at line {}, but whitespace or quotes differ: expected `{}`, found `{}`",
        at + 1,
        excerpt(wanted),
        excerpt(lines[at])
    ))
}

fn refused(path: &str, reason: &str) -> Failed {
    Failed::new(format!("`{}` was not changed: {reason}.", reveal_line(path)))
}
