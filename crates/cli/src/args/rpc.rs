//! `ostler rpc`: what can be typed.

use std::path::PathBuf;

use clap::Args;

/// `ostler rpc`.
#[derive(Debug, Clone, Args)]
#[command(after_help = HELP)]
pub struct RpcArgs {
    /// Work in this directory [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Model, as `provider:model` [default: an available one]
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// System prompt of the first session
    #[arg(long, value_name = "TEXT")]
    pub system_prompt: Option<String>,
    /// Continue the session in this file, or save the first session there
    #[arg(long, value_name = "FILE")]
    pub session_file: Option<PathBuf>,
    /// Send progress events
    #[arg(long)]
    pub debug: bool,
    /// Deny every call that needs an approval instead of asking
    #[arg(long)]
    pub no_ui: bool,
    /// Grace period for running turns after stdin closes
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub linger: u32,
    /// Longest line that is accepted
    #[arg(long, value_name = "BYTES", default_value_t = 8 << 20, value_parser = clap::value_parser!(u32).range(1024..=64 << 20))]
    pub max_line_bytes: u32,
}

const HELP: &str = "\
Lines of JSON go in on stdin and come out on stdout; docs/protocols/jsonl.md describes them. The log goes to \
stderr. If a daemon runs on the data directory, its sessions are used, else they are run here.

Exit codes:
  0  it was asked to end, by `quit`, by the end of stdin or by a signal
  1  the first session could not be started, or nobody read the output
  2  the arguments were wrong
  5  the daemon ended

Examples:
  ostler rpc --model anthropic:claude-sonnet-5
  echo '{\"type\":\"prompt\",\"text\":\"list the files\"}' | ostler rpc --linger 600";
