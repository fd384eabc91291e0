//! The tool that reads a file: a text in whole or by lines, or an image for the model to see. It never
//! holds more of a text than it shows; what a file is, is for `kind` to say, and its lines for `lines`.

mod kind;
mod selected_lines;

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::Path;

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{Tool, ToolContext, ToolOutcome};
use ostler_types::{Subject, ToolKind, ToolSpec};
use ostler_workspace_fs::{TextEncoding, Utf16Reader};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use self::kind::FileKind;
use self::selected_lines::SelectedLines;
use crate::blocking::{StopFlag, run_blocking};
use crate::file_location::FileLocation;
use crate::file_tracker::{FileTracker, SessionFileTracker};
use crate::hidden_paths::HiddenPaths;
use crate::patch::document::TextDocument;
use crate::patch::plan::MAX_FILE_BYTES;
use crate::seen_files::{Fingerprint, FingerprintReader};
use crate::text::reveal_line;
use crate::workspace::Workspace;
use crate::{Failed, input, prompts};

/// How large an image is handed on. In base64 it then stays within what providers take.
const MAX_IMAGE_BYTES: u64 = 3_750_000;
/// How much of the start is looked at to tell text from other data.
const SAMPLE_BYTES: u64 = 8 * 1024;

/// Reads a file of the workspace.
pub(crate) struct ReadFile {
    hidden_paths: Arc<HiddenPaths>,
    file_tracker: FileTracker,
}

impl ReadFile {
    pub(crate) fn new(hidden: Arc<HiddenPaths>, sight: FileTracker) -> ReadFile {
        ReadFile { hidden_paths: hidden, file_tracker: sight }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadFileInput {
    /// Path of the file, relative to the workspace.
    #[schemars(length(min = 1))]
    path: String,
    /// First line to read, counted from 1. Default: the first line of the file.
    #[schemars(range(min = 1))]
    start_line: Option<u64>,
    /// Last line to read, inclusive. Default: the last line of the file.
    #[schemars(range(min = 1))]
    end_line: Option<u64>,
}

impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_file".to_owned(),
            description: prompts::READ_FILE.to_owned(),
            input_schema: input::schema::<ReadFileInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Read
    }

    fn subject(&self, input: &Value, _workspace: &Path) -> BoxFuture<'_, Subject> {
        std::future::ready(input::argument(input, "path")).boxed()
    }

    fn summary(&self, input: &Value) -> String {
        let Some(path) = input.get("path").and_then(Value::as_str) else {
            return "read a file, but the input names none".to_owned();
        };
        format!("read {}", reveal_line(path))
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        let hidden = Arc::clone(&self.hidden_paths);
        let shown = self.file_tracker.for_session(context.session);
        run_blocking(move |stop| {
            let input: ReadFileInput = input::parse(input)?;
            read(&Workspace::open(&context.workspace, &hidden)?, &shown, &input, stop)
        })
        .boxed()
    }
}

fn read(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    input: &ReadFileInput,
    stop: &StopFlag,
) -> Result<ToolOutcome, Failed> {
    let start = input.start_line.unwrap_or(1);
    let end = input.end_line.unwrap_or(u64::MAX);
    if end < start {
        return Err(Failed::new(format!("`end_line` ({end}) must not be before `start_line` ({start}).")));
    }
    let path = reveal_line(&input.path);
    let cannot = |error| cannot_read(&path, &error);
    let (mut file, stat) = match workspace.read(&input.path) {
        Ok(opened) => opened,
        Err(failed) => {
            let new = new_in_editor(workspace, shown, &input.path).ok_or(failed)?;
            return show_unsaved(&path, &new, (start, end), stop);
        }
    };
    let size = u64::try_from(stat.st_size).unwrap_or(0);
    let mut sample = Vec::new();
    (&mut file).take(SAMPLE_BYTES).read_to_end(&mut sample).map_err(cannot)?;
    file.rewind().map_err(cannot)?;
    match FileKind::from_sample(&sample) {
        FileKind::Image(mime_type) => image(&path, mime_type, file, size),
        FileKind::Other(what, advice) => {
            Err(Failed::new(format!("`{path}` is not a text file: it is {what} of {size} bytes. {advice}")))
        }
        FileKind::Text(encoding) => {
            if let Some(text) = unsaved(workspace, shown, &input.path, &file, size) {
                return show_unsaved(&path, &text, (start, end), stop);
            }
            file.rewind().map_err(cannot)?;
            let mut lines = SelectedLines::new(start, end, encoding);
            let mut fingerprint = Fingerprint::from_content(&[]);
            let file = FingerprintReader::new(file, &mut fingerprint);
            let is_whole = match encoding {
                TextEncoding::Utf8 | TextEncoding::Utf8Marked => {
                    lines.scan(BufReader::with_capacity(64 * 1024, file), stop)
                }
                TextEncoding::Utf16Little | TextEncoding::Utf16Big => {
                    let reader = Utf16Reader::new(file, encoding == TextEncoding::Utf16Big);
                    lines.scan(BufReader::with_capacity(64 * 1024, reader), stop)
                }
            }
            .map_err(cannot)?;
            if is_whole {
                shown.record_seen(workspace, &input.path, fingerprint);
            }
            lines.outcome(&path, is_whole, size)
        }
    }
}

/// What an editor shows of a text file that is not saved.
fn unsaved(
    workspace: &Workspace,
    shown: &SessionFileTracker,
    path: &str,
    file: &File,
    size: u64,
) -> Option<String> {
    if size > MAX_FILE_BYTES || !shown.has_editor() {
        return None;
    }
    let mut content = Vec::new();
    file.take(MAX_FILE_BYTES).read_to_end(&mut content).ok()?;
    shown.unsaved(workspace, path, Some(TextDocument::decode(&content)?.text()))
}

/// What an editor shows of a file that could be in the workspace and is not on disk.
fn new_in_editor(workspace: &Workspace, shown: &SessionFileTracker, path: &str) -> Option<String> {
    let place = FileLocation::find_if_parent_exists(workspace, path).ok()??;
    if place.existing().is_some() || place.is_link() {
        return None;
    }
    shown.unsaved(workspace, path, None)
}

/// Some lines of a text that an editor shows.
fn show_unsaved(
    path: &str,
    text: &str,
    (start, end): (u64, u64),
    stop: &StopFlag,
) -> Result<ToolOutcome, Failed> {
    let mut lines = SelectedLines::new(start, end, TextEncoding::Utf8);
    let is_whole = lines.scan(text.as_bytes(), stop).map_err(|error| cannot_read(path, &error))?;
    let mut outcome = lines.outcome(path, is_whole, text.len() as u64)?;
    if !outcome.text.is_empty() && !outcome.text.ends_with('\n') {
        outcome.text.push('\n');
    }
    outcome.text.push_str(
        "[This is the text in the user's editor, with unsaved changes. Commands see the file on \
                disk.]",
    );
    if let Some(details) = &mut outcome.details {
        details["unsaved"] = true.into();
    }
    Ok(outcome)
}

/// Hands an image on to the model, with its measures where its head tells them.
fn image(path: &str, mime_type: &str, file: File, size: u64) -> Result<ToolOutcome, Failed> {
    if size > MAX_IMAGE_BYTES {
        return Err(Failed::new(format!(
            "`{path}` is an image ({mime_type}) of {size} bytes; the limit is {MAX_IMAGE_BYTES}. Create a \
             smaller copy first."
        )));
    }
    let mut bytes = Vec::new();
    file.take(MAX_IMAGE_BYTES).read_to_end(&mut bytes).map_err(|error| cannot_read(path, &error))?;
    let mut image = json!({"mime_type": mime_type});
    let mut measures = String::new();
    if let Ok(size) = imagesize::blob_size(&bytes) {
        image["width"] = size.width.into();
        image["height"] = size.height.into();
        measures = format!(", {} × {} pixels", size.width, size.height);
    }
    let text =
        format!("[`{path}` is an image ({mime_type}{measures}, {} bytes); it is attached.]", bytes.len());
    let mut outcome = ToolOutcome::done(text, json!({"bytes": bytes.len(), "image": image}));
    outcome.attachments.push((mime_type.to_owned(), bytes));
    Ok(outcome)
}

fn cannot_read(path: &str, error: &std::io::Error) -> Failed {
    Failed::new(format!("`{path}` cannot be read: {error}."))
}
