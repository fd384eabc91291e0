//! `ostler run`: its arguments.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ostler_types::{Effort, SessionId};

/// `ostler run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = RUN_HELP)]
pub struct Run {
    /// What to ask; `-` reads it from stdin
    #[arg(value_name = "PROMPT", required_unless_present = "plan", conflicts_with = "plan")]
    pub prompt: Option<String>,
    /// Divide the work of this plan among sessions, instead of a prompt: a file in JSON or TOML
    #[arg(long, value_name = "FILE", conflicts_with = "attach")]
    pub plan: Option<PathBuf>,
    /// Print the session's events as JSON lines instead
    #[arg(long)]
    pub json: bool,
    /// Have this agent work on it; `ostler agents list` shows which there are
    #[arg(long, value_name = "NAME", conflicts_with_all = ["attach", "plan"])]
    pub agent: Option<String>,
    /// Use this model, as `provider:model`
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Ask this model when the one before it cannot answer; can be given more than once
    #[arg(long, value_name = "MODEL")]
    pub fallback: Vec<String>,
    /// Let the model think this much [default: as its maker thinks best]
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<EffortLevel>,
    /// Keep the traffic with the model's provider in the session's raw.jsonl
    #[arg(long)]
    pub raw_log: bool,
    /// Keep thinking, times and tokens in the session's verbose.md; --verbose does so, too
    #[arg(long)]
    pub verbose_log: bool,
    /// Keep the session's readable files in a folder of this directory
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub log_dir: Option<PathBuf>,
    /// Work in this directory [default: the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub workspace: Option<PathBuf>,
    /// Answer tool calls that need an approval [default: ask on a terminal, never otherwise]
    #[arg(long, value_name = "WHEN")]
    pub approve: Option<ApproveWhen>,
    /// Continue this session
    #[arg(long, value_name = "ID")]
    pub session: Option<SessionId>,
    /// Send this file along; can be given more than once
    #[arg(long, value_name = "FILE")]
    pub attach: Vec<PathBuf>,
    /// Give the model these instructions
    #[arg(long, value_name = "TEXT", conflicts_with = "session")]
    pub system_prompt: Option<String>,
}

const RUN_HELP: &str = "\
Exit codes:
  0  the turn was completed
  1  the turn failed
  2  the arguments were wrong
  3  the turn was canceled
  4  a tool call needed an approval, and it was refused or there was nobody to ask
  5  the daemon could not be reached

A plan has subtasks, each with an id and a prompt, and where it needs them a description, a model,
an agent, worktree = true, depends_on = [ids] and a budget; and how many are worked on at once:
  concurrency = 2
  [[subtasks]]
  id = \"api\"
  prompt = \"Review the public API.\"
  [[subtasks]]
  id = \"report\"
  prompt = \"Sum up what was found.\"
  depends_on = [\"api\"]

Examples:
  ostler run \"fix the failing test\"
  git diff | ostler run - --system-prompt \"Review this change.\"
  ostler run --attach screenshot.png \"what is wrong on this page?\"
  ostler run --model anthropic:claude-sonnet-5 --fallback openai:gpt-5.5 \"plan the release\"
  ostler run --session sess_… --approve always \"now do the same for the docs\"
  ostler run --plan review.toml --approve always
  ostler run --json \"list the crates\" | jq -r .type";

/// How much a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EffortLevel {
    /// Not at all, where it can be switched off
    None,
    /// A little
    Low,
    /// A fair amount
    Medium,
    /// A lot
    High,
    /// As much as it can
    Max,
}

impl From<EffortLevel> for Effort {
    fn from(level: EffortLevel) -> Effort {
        match level {
            EffortLevel::None => Effort::None,
            EffortLevel::Low => Effort::Low,
            EffortLevel::Medium => Effort::Medium,
            EffortLevel::High => Effort::High,
            EffortLevel::Max => Effort::Max,
        }
    }
}

/// What `run` does about approvals.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ApproveWhen {
    /// Refuse every call that needs one
    Never,
    /// Allow every call, without looking
    Always,
    /// Ask on the terminal
    Ask,
}
