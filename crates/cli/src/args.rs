//! The command line: what can be typed, and what `--help` says about it. Carries out nothing.

mod acp;
mod agents;
mod branch;
mod config;
mod daemon;
mod examples;
mod logs_and_watch;
mod mcp;
mod open;
mod projects;
mod reference;
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
use ostler_types::{Scope, SessionId};

use crate::exit::EXIT_CODES;

pub use acp::AcpArgs;
pub use agents::AgentsCommand;
pub use branch::{ExportArgs, ExportAs, ForkArgs, ImportArgs, ImportFrom};
pub use config::ConfigCommand;
pub use daemon::{StatusArgs, StopArgs, UpgradeArgs};
pub use examples::{command, parse};
pub use logs_and_watch::{LogsArgs, WatchArgs};
pub use mcp::{McpAdd, McpCommand};
pub use open::OpenArgs;
pub use projects::ProjectsCommand;
pub use reference::{SessionRef, TurnRef};
pub use rpc::RpcArgs;
pub use run::{ApproveWhen, EffortLevel, RunArgs};
pub use service::{SelfCheckArgs, ServiceCommand};
pub use sessions::{ListSessions, SessionStatusFilter, SessionsCommand};
pub use tui::TuiArgs;
pub use usage::{ModelsArgs, UsageArgs, UsageByArg, UsageSince};

/// Run many coding agents; control them from anywhere.
#[derive(Debug, Clone, Parser)]
#[command(
    name = "ostler",
    version,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"),
    propagate_version = true
)]
pub struct Cli {
    /// The command; without one, the terminal client opens.
    #[command(subcommand)]
    pub command: Option<CliCommand>,
    /// Options that every command takes.
    #[command(flatten)]
    pub global: GlobalArgs,
}

const EXAMPLES: &str = "\
Examples:
  ostler                                      work in this directory, in the terminal
  ostler serve                                start the daemon
  ostler run \"explain what this project does\" ask in the current directory
  ostler sessions                             list your sessions
  ostler watch                                see what all sessions are doing
  ostler attach last                          follow the newest session
  ostler approve                              answer the pending approval, or list them
  ostler usage --by model                     show costs

Each command has its own help, for example `ostler run --help`; `ostler man` writes manual pages.";

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
pub struct GlobalArgs {
    /// Keep sessions in this directory [default: $XDG_DATA_HOME/ostler]
    #[arg(long, global = true, value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Read this configuration file [default: $XDG_CONFIG_HOME/ostler/config.toml]
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Log more to stderr; repeat for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub verbose: u8,
    /// Print only results and errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Disable colours and in-place updates; `NO_COLOR` also disables colours
    #[arg(long, global = true)]
    pub plain: bool,
}

/// The commands.
#[derive(Debug, Clone, Subcommand)]
pub enum CliCommand {
    /// Open the terminal client, as `ostler` alone does.
    Tui(TuiArgs),
    /// Start the daemon.
    Serve(Serve),
    /// Stop the daemon.
    Stop(StopArgs),
    /// Stop the daemon and start it in the background; also starts one if none is running.
    Restart(StopArgs),
    /// Show whether the daemon is running.
    Status(StatusArgs),
    /// Send a prompt and stream the answer.
    Run(RunArgs),
    /// Control sessions with JSON lines on stdin and stdout.
    Rpc(RpcArgs),
    /// Serve an editor over the Agent Client Protocol (stdio).
    Acp(AcpArgs),
    /// List, search, show, archive, close or export sessions.
    Sessions {
        /// The action; without one, they are listed.
        #[command(subcommand)]
        command: Option<SessionsCommand>,
    },
    /// List agents, or test third-party ones.
    Agents {
        /// The action; without one, they are listed.
        #[command(subcommand)]
        command: Option<AgentsCommand>,
    },
    /// List, add or remove projects (registered workspaces).
    Projects {
        /// The action; without one, they are listed.
        #[command(subcommand)]
        command: Option<ProjectsCommand>,
    },
    /// Open the page of the running daemon in a browser.
    Open(OpenArgs),
    /// Follow a session: show its history, then new events.
    Attach(Attach),
    /// Show the log of a session, one line per record.
    Logs(LogsArgs),
    /// Watch all sessions live.
    Watch(WatchArgs),
    /// Approve or deny a pending tool call, or list them.
    Approve(Approve),
    /// Stop the running turn of a session.
    Cancel {
        /// The session: id, start of an id, `last` or list number [default: the only one here]
        #[arg(value_name = "ID")]
        id: Option<SessionRef>,
    },
    /// Revert the workspace to before a turn.
    Undo(Undo),
    /// Create a new session from a turn of an existing one.
    Fork(ForkArgs),
    /// Compact the conversation that the model is sent; the log keeps everything.
    Compact {
        /// The session: id, start of an id, `last` or list number [default: the only one here]
        #[arg(value_name = "ID")]
        id: Option<SessionRef>,
    },
    /// Show what is in the model's context, in tokens.
    Context {
        /// The session: id, start of an id, `last` or list number [default: the only one here]
        #[arg(value_name = "ID")]
        id: Option<SessionRef>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add context for the next turn without starting one.
    #[command(allow_missing_positional = true)]
    Note {
        /// The session: id, start of an id, `last` or list number [default: the only one here]
        #[arg(value_name = "ID")]
        id: Option<SessionRef>,
        /// The text; `-` reads it from stdin
        #[arg(value_name = "TEXT")]
        text: String,
    },
    /// Export a session as Markdown, HTML, JSON lines, SQLite or zip.
    Export(ExportArgs),
    /// Import an exported session or a transcript.
    Import(ImportArgs),
    /// Trust or untrust a workspace: its own settings, checks and servers.
    Trust(Trust),
    /// List available models and show the default.
    Models(ModelsArgs),
    /// Show model usage and costs.
    Usage(UsageArgs),
    /// Add, list or remove MCP servers, whose tools sessions can use.
    Mcp {
        /// The action; without one, they are listed.
        #[command(subcommand)]
        command: Option<McpCommand>,
    },
    /// Check the data directory, and repair it with `--rebuild` or `--salvage`.
    Doctor(Doctor),
    /// Replace this program by the newest release.
    Upgrade(UpgradeArgs),
    /// Run an end-to-end test with the demo model in a scratch directory.
    SelfCheck(SelfCheckArgs),
    /// Run the daemon as a systemd user service.
    Service {
        /// The action.
        #[command(subcommand)]
        command: ServiceCommand,
    },
    /// Show or change the configuration.
    Config {
        /// The action.
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print shell completions.
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write manual pages, one per command.
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
    /// Require the token in requests; `off` is only allowed on a loopback address [default: on]
    #[arg(long, value_name = "on|off", value_parser = parse_auth)]
    pub auth: Option<Auth>,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
    /// Keep running after the terminal closes
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
    /// The session: id, start of an id, `last` or list number [default: the only one here]
    #[arg(value_name = "ID")]
    pub id: Option<SessionRef>,
    /// Revert to the state before this turn [default: the last that changed files]
    #[arg(value_name = "TURN")]
    pub turn: Option<TurnRef>,
    /// Only show what would change
    #[arg(long)]
    pub preview: bool,
    /// Also revert files that changed since
    #[arg(long)]
    pub force: bool,
}

/// `ostler trust`.
#[derive(Debug, Clone, Args)]
pub struct Trust {
    /// The workspace [default: the current directory]
    #[arg(value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Revoke trust
    #[arg(long, conflicts_with = "show")]
    pub revoke: bool,
    /// Only show whether it is trusted
    #[arg(long)]
    pub show: bool,
}

/// `ostler attach`.
#[derive(Debug, Clone, Args)]
pub struct Attach {
    /// The session: id, start of an id, `last` or list number [default: the only one here]
    #[arg(value_name = "ID")]
    pub id: Option<SessionRef>,
    /// Print events as JSON lines
    #[arg(long)]
    pub json: bool,
    /// Start after this record
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    pub after: u64,
}

/// `ostler approve`.
#[derive(Debug, Clone, Args)]
pub struct Approve {
    /// The session [default: the only one with a pending call]
    #[arg(value_name = "ID")]
    pub id: Option<SessionRef>,
    /// The tool call, or the start of its id [default: the only one that is pending]
    #[arg(value_name = "CALL")]
    pub call: Option<String>,
    /// Approve it without asking
    #[arg(short, long, conflicts_with = "deny")]
    pub yes: bool,
    /// Deny it
    #[arg(long)]
    pub deny: bool,
    /// Approve this call, such calls of this session, or such calls of all sessions
    #[arg(long, value_name = "once|session|always", default_value = "once", value_parser = parse_scope)]
    pub scope: Scope,
    /// The reason, which is sent to the model when you deny
    #[arg(long, value_name = "TEXT")]
    pub reason: Option<String>,
}

/// `ostler doctor`.
#[derive(Debug, Clone, Args)]
pub struct Doctor {
    /// Rebuild the index and the other views from the logs
    #[arg(long)]
    pub rebuild: bool,
    /// Keep the readable part of a session whose log is damaged
    #[arg(long, value_name = "ID")]
    pub salvage: Option<SessionId>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
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
