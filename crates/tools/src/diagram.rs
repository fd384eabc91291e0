//! The tool that draws: makes an SVG of a description in the language of Graphviz or Mermaid, with whichever
//! program for it is installed. The picture is data from elsewhere; what could run in it is taken out in
//! `svg`.

mod svg;

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_runner::{CommandEnding, Tool, ToolContext, ToolOutcome};
use ostler_types::{ToolKind, ToolSpec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::process::{ProgramInput, run};
use crate::program_confiner::{ProgramConfiner, ProgramSpec};
use crate::text::{head, reveal};
use crate::{Failed, input, prompts};

/// How long a description may be.
const MAX_SOURCE_BYTES: usize = 256 * 1024;
/// How large a picture may be.
const MAX_PICTURE_BYTES: usize = 4 * 1024 * 1024;
/// How much of what the program complains about is told.
const MAX_COMPLAINT_BYTES: usize = 4 * 1024;
const TIMEOUT: Duration = Duration::from_secs(60);

/// Gives the program for Mermaid its settings, which it takes only from files, in a directory of its own. The
/// browser inside it runs without a sandbox of its own, because it is in ours. Labels are plain text: as HTML
/// they would be taken out of the picture.
const MERMAID: &str = r#"
d=$(mktemp -d) || exit 1
trap 'rm -rf "$d"' EXIT
printf '%s' '{"args":["--no-sandbox","--disable-gpu"]}' > "$d/browser.json"
printf '%s' '{"htmlLabels":false,"flowchart":{"htmlLabels":false},"securityLevel":"strict"}' > "$d/mermaid.json"
"$0" --quiet -e svg -p "$d/browser.json" -c "$d/mermaid.json" -i - -o -
"#;

/// Draws a diagram.
pub(crate) struct Diagram {
    confiner: Arc<ProgramConfiner>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct DiagramInput {
    /// Source of the diagram, at most 256 KiB.
    #[schemars(length(min = 1))]
    source: String,
    /// Language of the source: `dot` for Graphviz, `mermaid` for Mermaid.
    format: DiagramFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum DiagramFormat {
    Dot,
    Mermaid,
}

impl DiagramFormat {
    /// The program that draws it, and what to install for it.
    fn program(self) -> (&'static str, &'static str) {
        match self {
            DiagramFormat::Dot => ("dot", "the package graphviz"),
            DiagramFormat::Mermaid => ("mmdc", "the npm package @mermaid-js/mermaid-cli"),
        }
    }

    fn file_name(self) -> String {
        match self {
            DiagramFormat::Dot => "diagram.dot".to_owned(),
            DiagramFormat::Mermaid => "diagram.mmd".to_owned(),
        }
    }

    fn command_line(self, program: &Path) -> Vec<OsString> {
        match self {
            DiagramFormat::Dot => vec![program.into(), "-Tsvg".into()],
            DiagramFormat::Mermaid => vec!["/bin/sh".into(), "-c".into(), MERMAID.into(), program.into()],
        }
    }
}

impl Diagram {
    pub(crate) fn new(confines: Arc<ProgramConfiner>) -> Diagram {
        Diagram { confiner: confines }
    }

    async fn draw(&self, input: Value, context: &ToolContext) -> Result<ToolOutcome, Failed> {
        let DiagramInput { source, format } = input::parse(input)?;
        if source.len() > MAX_SOURCE_BYTES {
            return Err(Failed::new(format!(
                "`source` is longer than {MAX_SOURCE_BYTES} bytes. Shorten it."
            )));
        }
        let (name, package) = format.program();
        let Some(program) = self.confiner.find_program(name, &context.workspace) else {
            let text = format!(
                "No image was rendered because `{name}` is not installed (package: {package}). The source \
                 was saved as {}.",
                format.file_name()
            );
            let files = vec![(format.file_name(), source.into_bytes())];
            return Ok(ToolOutcome { files, ..ToolOutcome::done(text, json!({"drawn": false})) });
        };
        let (mut picture, mut complaint, mut is_large) = (String::new(), String::new(), false);
        let take = |stream: &'static str, text: &str| {
            let (to, limit) = match stream {
                "stdout" => (&mut picture, MAX_PICTURE_BYTES),
                _ => (&mut complaint, MAX_COMPLAINT_BYTES),
            };
            let part = head(text, limit.saturating_sub(to.len()));
            is_large |= stream == "stdout" && part.len() < text.len();
            to.push_str(part);
        };
        let program = ProgramSpec::read_only(format.command_line(&program));
        let given = ProgramInput::from_bytes(source.clone().into_bytes());
        let ran = run(&self.confiner, context, program, TIMEOUT, given, take).await;
        let ending = ran.map_err(|reason| Failed::new(format!("`{name}` was not started: {reason}")))?.ending;
        let drawn = match ending {
            CommandEnding::Exited(0) if is_large => {
                Err(format!("the image is larger than {MAX_PICTURE_BYTES} bytes"))
            }
            CommandEnding::Exited(0) => {
                svg::clean(&picture).map_err(|reason| format!("its output is not valid SVG: {reason}"))
            }
            _ => Err(format!("`{name}` failed ({})", ending.text())),
        };
        Ok(drawn.map_or_else(
            |reason| failed(format, source, &reason, &complaint),
            |picture| {
                let text = "The image was saved as diagram.svg.".to_owned() + &complaint_text(&complaint);
                let files = vec![("diagram.svg".to_owned(), picture.into_bytes())];
                ToolOutcome { files, ..ToolOutcome::done(text, json!({"drawn": true})) }
            },
        ))
    }
}

impl Tool for Diagram {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "diagram".to_owned(),
            description: prompts::DIAGRAM.to_owned(),
            input_schema: input::schema::<DiagramInput>(),
        }
    }

    fn kind(&self) -> ToolKind {
        ToolKind::Exec
    }

    fn summary(&self, input: &Value) -> String {
        let field = |name: &str| input.get(name).and_then(Value::as_str).unwrap_or_default();
        format!("draw a diagram ({}):\n{}", reveal(field("format")), reveal(field("source")))
    }

    fn warning(&self, _input: &Value) -> Option<String> {
        self.confiner.warning()
    }

    fn run(&self, input: Value, context: ToolContext) -> BoxFuture<'_, ToolOutcome> {
        async move { self.draw(input, &context).await.unwrap_or_else(ToolOutcome::from) }.boxed()
    }
}

fn failed(format: DiagramFormat, source: String, reason: &str, complaint: &str) -> ToolOutcome {
    let name = format.file_name();
    let text = format!(
        "No image was rendered: {reason}. The source was saved as {name}.{}",
        complaint_text(complaint)
    );
    let files = vec![(name, source.into_bytes())];
    ToolOutcome { ok: false, files, ..ToolOutcome::done(text, json!({"drawn": false})) }
}

fn complaint_text(complaint: &str) -> String {
    let complaint = complaint.trim();
    if complaint.is_empty() { String::new() } else { format!("\n{}", reveal(complaint)) }
}
