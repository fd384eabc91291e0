//! The arguments of `ostler agents`.

use std::path::PathBuf;

use clap::Subcommand;

/// `ostler agents`.
#[derive(Debug, Clone, Subcommand)]
pub enum AgentsCommand {
    /// List the agents that sessions can have, and those that could be configured.
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the sessions that an agent keeps itself, begun here or elsewhere.
    Sessions {
        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
        /// Those of this directory [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take over a session that an agent keeps, with what was said in it.
    Adopt {
        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
        /// The session, as the agent calls it
        #[arg(value_name = "ID")]
        id: String,
        /// The directory that it works in [default: the current one]
        #[arg(long, value_name = "DIR")]
        workspace: Option<PathBuf>,
    },
    /// Log in to an agent by one of its own ways, which `doctor` shows.
    Login {
        /// The agent
        #[arg(value_name = "NAME")]
        name: String,
        /// The way
        #[arg(value_name = "METHOD")]
        method: String,
    },
    /// Start agents that others wrote, and say what works. No model is asked.
    Doctor {
        /// Only these [default: those that are configured, and those that are installed]
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
