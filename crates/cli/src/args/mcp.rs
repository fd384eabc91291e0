//! The arguments of `ostler mcp`.

use clap::{Args, Subcommand};
use ostler_types::ToolKind;

/// `ostler mcp`.
#[derive(Debug, Clone, Subcommand)]
pub enum McpCommand {
    /// Add a server to your configuration file.
    Add(McpAdd),
    /// List configured servers and their status.
    List {
        /// Start them for this directory and test them
        #[arg(long)]
        check: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Remove a server from your configuration file.
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
    /// Its name; its tools become `mcp__NAME__TOOL`
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The program and its arguments, after `--`
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "url", conflicts_with = "url")]
    pub command: Vec<String>,
    /// The URL of a server that speaks HTTP
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Pass this variable of the daemon's environment to it; repeatable
    #[arg(long, value_name = "VARIABLE", conflicts_with = "url")]
    pub env: Vec<String>,
    /// Send the token in this variable of the daemon's environment
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    pub bearer_env: Option<String>,
    /// Kind of its tools: read, write, exec or network [default: exec, or network for a URL]
    #[arg(long, value_name = "KIND", value_parser = parse_kind)]
    pub kind: Option<ToolKind>,
    /// Timeout of a call in seconds [default: 120]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub timeout: Option<u64>,
    /// Replace an existing server of that name
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
