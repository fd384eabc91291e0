//! `ostler acp`: what can be typed.

use std::path::PathBuf;

use clap::Args;

/// `ostler acp`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub struct AcpArgs {
    /// Resolve relative directories from here [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Model of new sessions, as `provider:model` [default: an available one]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// System prompt of new sessions
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
}

const HELP: &str = "\
For editors that speak the Agent Client Protocol: they start this program and talk to it by stdin and stdout; \
docs/protocols/acp.md describes how. The log goes to stderr. If a daemon runs on the data directory, its sessions are \
used, else they are run here.

Exit codes:
  0  the editor closed stdin, or a signal ended it
  1  nobody read the output
  2  the arguments were wrong
  5  the daemon ended

Example, for Zed's settings:
  \"agent_servers\": { \"Ostler\": { \"type\": \"custom\", \"command\": \"ostler\", \"args\": [\"acp\"] } }";
