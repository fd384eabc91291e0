//! The arguments of `ostler agents`.

use std::path::PathBuf;

use clap::Subcommand;

/// `ostler agents`.
#[derive(Debug, Clone, Subcommand)]
pub enum AgentsCommand {
    /// List configured agents and those that could be configured.
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the sessions that an agent stores itself.
    Sessions {
        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
        /// Only those in this directory [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Import a session that an agent stores, with its history.
    Adopt {
        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
        /// The agent's own session id
        #[arg(value_name = "ID")]
        id: String,
        /// The directory that it works in [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Log in to an agent with one of the methods that `doctor` lists.
    Login {
        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
        /// The login method
        #[arg(value_name = "METHOD")]
        method: String,
    },
    /// Start third-party agents and test them. No model is called.
    Doctor {
        /// Only these [default: configured and installed ones]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Start them in this directory [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

impl Default for AgentsCommand {
    fn default() -> AgentsCommand {
        AgentsCommand::List { json: false }
    }
}
