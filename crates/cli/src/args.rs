//! The command line: what can be typed, and what `--help` says about it. Carries out nothing.

mod acp;
mod agents;
mod branch;
mod open;
mod projects;
mod rpc;
mod run;
mod tui;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use jiff::civil::Date;
use ostler_types::{Scope, SessionId, SessionStatus, TurnId};

use crate::config::{Auth, Flag};

pub use acp::Acp;
pub use agents::Agents;
pub use branch::{Export, ExportAs, Fork, Import, ImportFrom};
pub use open::Open;
pub use projects::Projects;
pub use rpc::Rpc;
pub use run::{ApproveWhen, EffortLevel, Run};
pub use tui::Tui;

/// Keep many coding-agent sessions going, and drive them from anywhere.
#[derive(Debug, Clone, Parser)]
#[command(name = "ostler", version, after_help = EXAMPLES, propagate_version = true)]
pub struct Cli {
    /// What to do; without it, the terminal client is opened.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// What every command understands.
    #[command(flatten)]
    pub global: Global,
}

const EXAMPLES: &str = "\
Examples:
  ostler                                      work in this directory, in the terminal
  ostler serve                                start the daemon
  ostler run \"explain what this project does\" ask in the current directory
  ostler sessions list                        see what there is
  ostler attach sess_…                        watch a session
  ostler approve                              see what waits for an answer
  ostler usage --by model                     see what it cost";

/// What every command understands.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Keep sessions in this directory [default: $XDG_DATA_HOME/ostler]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Read this configuration file [default: $XDG_CONFIG_HOME/ostler/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Say more about what happens, on stderr; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
}

/// The commands.
#[derive(Debug, Clone, Subcommand)]
pub enum Command {
    /// Work in a directory, in the terminal; also what `ostler` alone does.
    Tui(Tui),
    /// Start the daemon.
    Serve(Serve),
    /// Send a prompt and show the answer as it comes.
    Run(Run),
    /// Drive many sessions by lines of JSON, on stdin and stdout.
    Rpc(Rpc),
    /// Be the agent of an editor that speaks the Agent Client Protocol, on stdin and stdout.
    Acp(Acp),
    /// List, search, show, put away, remove or export sessions.
    Sessions {
        /// What to do with them.
        #[command(subcommand)]
        command: Sessions,
    },
    /// List the agents that sessions can have, or see whether those that others wrote work.
    Agents {
        /// What to do with them.
        #[command(subcommand)]
        command: Agents,
    },
    /// List, add or remove projects: workspaces that are registered.
    Projects {
        /// What to do with them.
        #[command(subcommand)]
        command: Projects,
    },
    /// Show the page of the running daemon in a browser.
    Open(Open),
    /// Follow a session: what was said, then what happens.
    Attach(Attach),
    /// Answer a tool call that waits, or list all that do.
    Approve(Approve),
    /// Stop the turn that a session is in.
    Cancel {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
    },
    /// Bring a workspace back to how it was before a turn.
    Undo(Undo),
    /// Make a session that goes its own way after a turn of another one.
    Fork(Fork),
    /// Make a session's conversation shorter for the model; nothing is lost.
    Compact {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
    },
    /// Show what is in the model's context, and what it costs.
    Context {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Tell the model something before its next turn, without starting one.
    Note {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
        /// What to tell; `-` reads it from stdin
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Write a session as one file: to read, to look at, or to take elsewhere.
    Export(Export),
    /// Make a session of an exported one, or of a transcript.
    Import(Import),
    /// Trust a workspace, or no longer: its own settings, checks and servers.
    Trust(Trust),
    /// List the models that sessions can have, and say which one they get.
    Models(Models),
    /// Sum up what models were used for, and what it cost.
    Usage(Usage),
    /// Check the data directory, and mend it on request.
    Doctor(Doctor),
    /// Show the configuration.
    Config {
        /// What to do with it.
        #[command(subcommand)]
        command: Config,
    },
    /// Print the completions for a shell.
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the OpenAPI document of the daemon.
    #[command(hide = true)]
    Openapi,
    /// Print the JSON Schema of a wire's frames.
    #[command(hide = true)]
    Schema {
        /// The wire
        #[arg(value_name = "WIRE")]
        wire: Wire,
    },
}

/// Wires whose frames have a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Wire {
    /// The gateway.
    Gateway,
    /// Lines of JSON.
    Jsonl,
}

/// `ostler serve`.
#[derive(Debug, Clone, Args)]
pub struct Serve {
    /// Listen on this address [default: 127.0.0.1:8787]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Ask requests for the token; `off` is possible on a loopback address only [default: on]
    #[arg(long, value_name = "on|off", value_parser = parse_auth)]
    pub auth: Option<Auth>,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// Outlive the terminal that it was started from
    #[arg(long, hide = true)]
    pub background: bool,
}

impl Serve {
    /// The flags that set a key of the configuration.
    pub fn flags(&self) -> Vec<Flag> {
        let listen = self.listen.clone().map(|value| Flag { name: "--listen", key: "server.listen", value });
        let auth = self.auth.map(|auth| match auth {
            Auth::On => "on".to_owned(),
            Auth::Off => "off".to_owned(),
        });
        let auth = auth.map(|value| Flag { name: "--auth", key: "server.auth", value });
        listen.into_iter().chain(auth).collect()
    }
}

/// `ostler undo`.
#[derive(Debug, Clone, Args)]
pub struct Undo {
    /// The session
    #[arg(value_name = "ID")]
    pub id: SessionId,
    /// The turn before which the workspace is to stand [default: the last that changed it]
    #[arg(value_name = "TURN")]
    pub turn: Option<TurnId>,
    /// Only show what would be done
    #[arg(long)]
    pub preview: bool,
    /// Also put back what has been changed since by somebody else
    #[arg(long)]
    pub force: bool,
}

/// `ostler trust`.
#[derive(Debug, Clone, Args)]
pub struct Trust {
    /// The workspace [default: the current directory]
    #[arg(value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Trust it no longer
    #[arg(long, conflicts_with = "show")]
    pub revoke: bool,
    /// Only say how it stands
    #[arg(long)]
    pub show: bool,
}

/// `ostler sessions`.
#[derive(Debug, Clone, Subcommand)]
pub enum Sessions {
    /// List sessions, newest activity first.
    List(ListSessions),
    /// Show a session and how it stands.
    Show {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Search what was said in sessions.
    Search {
        /// The words to look for
        #[arg(value_name = "QUERY")]
        query: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put a session away, so that lists leave it out.
    Archive {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
        /// Bring it back
        #[arg(long)]
        undo: bool,
    },
    /// Close a session.
    Rm {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
        /// Remove its files as well; this cannot be undone
        #[arg(long)]
        purge: bool,
    },
    /// Write a session's records as JSON lines.
    Export {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
        /// Write to this file instead of stdout
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// `ostler sessions list`.
#[derive(Debug, Clone, Args)]
pub struct ListSessions {
    /// Only those that stand so: active, waiting_approval, failed, completed or canceled
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    pub status: Option<SessionStatus>,
    /// Only those that work in this directory
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Those that were put away
    #[arg(long)]
    pub archived: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ostler attach`.
#[derive(Debug, Clone, Args)]
pub struct Attach {
    /// The session
    #[arg(value_name = "ID")]
    pub id: SessionId,
    /// Print the events as JSON lines instead
    #[arg(long)]
    pub json: bool,
    /// Begin after this record
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub after: u64,
}

/// `ostler approve`.
#[derive(Debug, Clone, Args)]
pub struct Approve {
    /// The session; without one, everything that waits is listed
    #[arg(value_name = "ID", requires = "call")]
    pub id: Option<SessionId>,
    /// The tool call
    #[arg(value_name = "CALL")]
    pub call: Option<String>,
    /// Refuse it
    #[arg(long, requires = "id")]
    pub deny: bool,
    /// How far the answer goes: this call, every such call of this session, or of every session
    #[arg(long, value_name = "once|session|always", default_value = "once", value_parser = parse_scope)]
    pub scope: Scope,
    /// Say why; the model reads it when the answer is no
    #[arg(long, value_name = "TEXT", requires = "id")]
    pub reason: Option<String>,
}

/// `ostler models`.
#[derive(Debug, Clone, Args)]
pub struct Models {
    /// Only those whose name contains this
    #[arg(value_name = "FILTER")]
    pub filter: Option<String>,
    /// Ask the providers anew
    #[arg(long)]
    pub refresh: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ostler usage`.
#[derive(Debug, Clone, Args)]
pub struct Usage {
    /// Give each of these a row
    #[arg(long, value_name = "WHAT", default_value = "day")]
    pub by: UsageBy,
    /// Since when: so many days with today, such as 30d, or a date
    #[arg(long, value_name = "DAYS|DATE", default_value = "7d", value_parser = parse_since)]
    pub since: Since,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What a row of `ostler usage` stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UsageBy {
    /// Days, the newest first
    Day,
    /// Models, the dearest first
    Model,
    /// Sessions, the dearest first
    Session,
    /// Workspaces, the dearest first
    Workspace,
}

/// Since when `ostler usage` counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// The last days, as many as this, of which today is one.
    Days(u16),
    /// The beginning of a day.
    Date(Date),
}

/// `ostler doctor`.
#[derive(Debug, Clone, Args)]
pub struct Doctor {
    /// Make the index and the other views again from the logs
    #[arg(long)]
    pub rebuild: bool,
    /// Save what can be read of a session whose log is damaged
    #[arg(long, value_name = "ID")]
    pub salvage: Option<SessionId>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// `ostler config`.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Config {
    /// Show every key, its value and where the value came from.
    Show {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

fn parse_auth(text: &str) -> Result<Auth, String> {
    match text {
        "on" => Ok(Auth::On),
        "off" => Ok(Auth::Off),
        _ => Err("expected `on` or `off`".to_owned()),
    }
}

fn parse_scope(text: &str) -> Result<Scope, String> {
    match text {
        "once" => Ok(Scope::Once),
        "session" => Ok(Scope::Session),
        "always" => Ok(Scope::Always),
        _ => Err("expected `once`, `session` or `always`".to_owned()),
    }
}

fn parse_since(text: &str) -> Result<Since, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse().ok()).filter(|days| *days > 0);
    // A longer text would be read as a date too, and its time be left out.
    let date = || text.parse().ok().filter(|_| text.len() == "2026-01-31".len());
    days.map(Since::Days)
        .or_else(|| date().map(Since::Date))
        .ok_or_else(|| "expected a number of days such as 30d, or a date such as 2026-01-31".to_owned())
}

fn parse_status(text: &str) -> Result<SessionStatus, String> {
    let all = [
        SessionStatus::Active,
        SessionStatus::WaitingApproval,
        SessionStatus::Failed,
        SessionStatus::Completed,
        SessionStatus::Canceled,
    ];
    all.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|status| status.as_str()).collect();
        format!("expected one of {}", names.join(", "))
    })
}
