//! The command line: what can be typed, and what `--help` says about it. Carries out nothing.

mod acp;
mod agents;
mod branch;
mod examples;
mod logs_and_watch;
mod mcp;
mod open;
mod projects;
mod rpc;
mod run;
mod service;
mod sessions;
mod tui;
mod usage;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use ostler_config::{Auth, ConfigFlag};
use ostler_types::{Scope, SessionId, TurnId};

use crate::exit::EXIT_CODES;

pub use acp::AcpArgs;
pub use agents::AgentsCommand;
pub use branch::{ExportArgs, ExportAs, ForkArgs, ImportArgs, ImportFrom};
pub use examples::{command, parse};
pub use logs_and_watch::{LogsArgs, WatchArgs};
pub use mcp::{McpAdd, McpCommand};
pub use open::OpenArgs;
pub use projects::ProjectsCommand;
pub use rpc::RpcArgs;
pub use run::{ApproveWhen, EffortLevel, RunArgs};
pub use service::{SelfCheckArgs, ServiceCommand};
pub use sessions::{ListSessions, SessionsCommand};
pub use tui::TuiArgs;
pub use usage::{ModelsArgs, UsageArgs, UsageByArg, UsageSince};

/// Keep many coding-agent sessions going, and drive them from anywhere.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ostler",
    version,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"),
    propagate_version = true
)]
pub struct Cli {
    /// What to do; without it, the terminal client is opened.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    /// What every command understands.
    #[command(flatten)]
    pub global: GlobalArgs,
}

const EXAMPLES: &str = "\
Examples:
  ostler                                      work in this directory, in the terminal
  ostler serve                                start the daemon
  ostler run \"explain what this project does\" ask in the current directory
  ostler sessions list                        see what there is
  ostler watch                                see what all of them do
  ostler attach sess_…                        follow one of them
  ostler approve                              see what waits for an answer
  ostler usage --by model                     see what it cost

Each command has its own help, such as `ostler run --help`; `ostler man` writes all of it as manual pages.";

/// What every command understands.
#[derive(Debug, Clone, Args)]
pub struct GlobalArgs {
    /// Keep sessions in this directory [default: $XDG_DATA_HOME/ostler]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Read this configuration file [default: $XDG_CONFIG_HOME/ostler/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Say more about what happens, on stderr; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Say nothing but what was asked for, and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Use no colours, and write no line again; `NO_COLOR` does without colours, too
    #[arg(long, global = true)]
    pub plain: bool,
}

/// The commands.
#[derive(Debug, Clone, Subcommand)]
pub enum CliCommand {
    /// Work in a directory, in the terminal; also what `ostler` alone does.
    Tui(TuiArgs),
    /// Start the daemon.
    Serve(Serve),
    /// Send a prompt and show the answer as it comes.
    Run(RunArgs),
    /// Drive many sessions by lines of JSON, on stdin and stdout.
    Rpc(RpcArgs),
    /// Be the agent of an editor that speaks the Agent Client Protocol, on stdin and stdout.
    Acp(AcpArgs),
    /// List, search, show, put away, remove or export sessions.
    Sessions {
        /// What to do with them; without a word they are listed.
        #[command(subcommand)]
        command: Option<SessionsCommand>,
    },
    /// List the agents that sessions can have, or see whether those that others wrote work.
    Agents {
        /// What to do with them; without a word they are listed.
        #[command(subcommand)]
        command: Option<AgentsCommand>,
    },
    /// List, add or remove projects: workspaces that are registered.
    Projects {
        /// What to do with them; without a word they are listed.
        #[command(subcommand)]
        command: Option<ProjectsCommand>,
    },
    /// Show the page of the running daemon in a browser.
    Open(OpenArgs),
    /// Follow a session: what was said, then what happens.
    Attach(Attach),
    /// Show what a session's log holds, a line for each record.
    Logs(LogsArgs),
    /// See what all sessions do, as it happens.
    Watch(WatchArgs),
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
    Fork(ForkArgs),
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
    Export(ExportArgs),
    /// Make a session of an exported one, or of a transcript.
    Import(ImportArgs),
    /// Trust a workspace, or no longer: its own settings, checks and servers.
    Trust(Trust),
    /// List the models that sessions can have, and say which one they get.
    Models(ModelsArgs),
    /// Sum up what models were used for, and what it cost.
    Usage(UsageArgs),
    /// Add, list or remove servers of the Model Context Protocol, whose tools sessions get.
    Mcp {
        /// What to do with them; without a word they are listed.
        #[command(subcommand)]
        command: Option<McpCommand>,
    },
    /// Check the data directory, and mend it on request.
    Doctor(Doctor),
    /// Try everything out with the built-in model, in a place of its own.
    SelfCheck(SelfCheckArgs),
    /// Have systemd keep the daemon running for you.
    Service {
        /// What to do with it.
        #[command(subcommand)]
        command: ServiceCommand,
    },
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
    /// Write the manual, a page for each command.
    Man {
        /// Write the pages to this directory [default: print the first one]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// Print the OpenAPI document of the daemon.
    #[command(hide = true)]
    Openapi,
    /// Print the JSON Schema of a wire's frames.
    #[command(hide = true)]
    Schema {
        /// The wire
        #[arg(value_name = "WIRE")]
        wire: SchemaWire,
    },
}

/// Wires whose frames have a JSON Schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SchemaWire {
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
    pub fn flags(&self) -> Vec<ConfigFlag> {
        let listen =
            self.listen.clone().map(|value| ConfigFlag { name: "--listen", key: "server.listen", value });
        let auth = self.auth.map(|auth| match auth {
            Auth::On => "on".to_owned(),
            Auth::Off => "off".to_owned(),
        });
        let auth = auth.map(|value| ConfigFlag { name: "--auth", key: "server.auth", value });
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
