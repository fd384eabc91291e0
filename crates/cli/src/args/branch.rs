//! Sessions of sessions: the arguments of `ostler fork`, `export` and `import`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ostler_types::{SessionId, TurnId};

/// `ostler fork`.
#[derive(Debug, Clone, Args)]
#[command(after_help = FORK_HELP)]
pub struct ForkArgs {
    /// The session
    #[arg(value_name = "ID")]
    pub id: SessionId,
    /// The last turn that both are to share [default: the last finished one]
    #[arg(long, value_name = "TURN")]
    pub turn: Option<TurnId>,
}

const FORK_HELP: &str = "\
Examples:
  ostler fork sess_…
  ostler run --session $(ostler fork sess_… --turn turn_…) \"try it the other way\"";

/// `ostler export`.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXPORT_HELP)]
pub struct ExportArgs {
    /// The session
    #[arg(value_name = "ID")]
    pub id: SessionId,
    /// As what
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
    /// The conversation to read
    Md,
    /// The conversation to look at, in one file that needs nothing else
    Html,
    /// The records, one a line
    Ndjson,
    /// The conversation as a database
    Sqlite,
    /// All files of the session, to import it elsewhere
    Zip,
}

/// `ostler import`.
#[derive(Debug, Clone, Args)]
#[command(after_help = IMPORT_HELP)]
pub struct ImportArgs {
    /// The file; `-` reads it from stdin
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// What it is [default: told from its content]
    #[arg(long, value_name = "FORMAT")]
    pub format: Option<ImportFrom>,
    /// Have the session work in this directory [default: the one it worked in, else the current one]
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
    /// An archive that was exported
    Zip,
    /// Records that were exported, or a log
    Ndjson,
    /// A conversation, one message a line
    Transcript,
}
