//! Sessions of sessions: the arguments of `ostler fork`, `export` and `import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{SessionRef, TurnRef};

/// `ostler fork`.
#[derive(Debug, Clone, Args)]
#[command(after_help = FORK_HELP)]
pub struct ForkArgs {
    /// The session: id, start of an id, `last` or list number [default: the only one here]
    #[arg(value_name = "ID")]
    pub id: Option<SessionRef>,
    /// The last turn to keep [default: the last finished one]
    #[arg(long, value_name = "TURN")]
    pub turn: Option<TurnRef>,
}

const FORK_HELP: &str = "\
Examples:
  ostler fork sess_…
  ostler run --session $(ostler fork sess_… --turn turn_…) \"try it the other way\"";

/// `ostler export`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXPORT_HELP)]
pub struct ExportArgs {
    /// The session: id, start of an id, `last` or list number [default: the only one here]
    #[arg(value_name = "ID")]
    pub id: Option<SessionRef>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "md")]
    pub format: ExportAs,
    /// Write to this file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

const EXPORT_HELP: &str = "\
Examples:
  ostler export sess_… | less
  ostler export sess_… --format html -o session.html
  ostler export sess_… --format zip -o session.zip";

/// What a session can be exported as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportAs {
    /// The conversation as Markdown
    Md,
    /// The conversation as one self-contained page
    Html,
    /// The records as JSON lines
    Ndjson,
    /// The conversation as an SQLite database
    Sqlite,
    /// All files of the session, for `ostler import`
    Zip,
}

/// `ostler import`.
#[derive(Debug, Clone, Args)]
#[command(after_help = IMPORT_HELP)]
pub struct ImportArgs {
    /// The file; `-` reads it from stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Input format [default: detected from content]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ImportFrom>,
    /// Workspace of the session [default: its own directory, else the current one]
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
}

const IMPORT_HELP: &str = "\
Examples:
  ostler import session.zip
  ostler import --workspace ~/project transcript.jsonl
  ostler export sess_… --format zip | ssh elsewhere ostler import -";

/// What a session can be imported from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ImportFrom {
    /// An exported archive
    Zip,
    /// Exported records, or a log
    Ndjson,
    /// A conversation, one message per line
    Transcript,
}
