//! The arguments of `ostler mcp`.

use clap::{Args, Subcommand};
use ostler_types::ToolKind;

/// `ostler mcp`.
#[derive(Debug, Clone, Subcommand)]
pub enum McpCommand {
    /// Add a server to your configuration file.
    Add(McpAdd),
    /// List the servers that are configured, and how they are.
    List {
        /// Start them for this directory, and say whether they work
        #[arg(long)]
        check: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a server out of your configuration file.
    Rm {
        /// The server
        #[arg(value_name = "NAME")]
        name: String,
    },
}

impl Default for McpCommand {
    fn default() -> McpCommand {
        McpCommand::List { check: false, json: false }
    }
}

/// `ostler mcp add`.
#[derive(Debug, Clone, Args)]
pub struct McpAdd {
    /// What to call it; its tools are then `mcp__NAME__TOOL`
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The program and its arguments, after `--`
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "url", conflicts_with = "url")]
    pub command: Vec<String>,
    /// The address, of a server that speaks HTTP
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Give it this variable of the daemon's environment; can be given more than once
    #[arg(long, value_name = "VARIABLE", conflicts_with = "url")]
    pub env: Vec<String>,
    /// Send it the token that this variable of the daemon's environment holds
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    pub bearer_env: Option<String>,
    /// What its tools touch: read, write, exec or network [default: exec; network of a URL]
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    pub kind: Option<ToolKind>,
    /// How many seconds a call may take [default: 120]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    /// Replace the server of that name, if there is one
    #[arg(long)]
    pub force: bool,
}

fn parse_kind(text: &str) -> Result<ToolKind, String> {
    match text {
        "read" => Ok(ToolKind::Read),
        "write" => Ok(ToolKind::Write),
        "exec" => Ok(ToolKind::Exec),
        "network" => Ok(ToolKind::Network),
        _ => Err("expected `read`, `write`, `exec` or `network`".to_owned()),
    }
}
