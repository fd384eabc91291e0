//! `ostler run`: its arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use ostler_types::{Cost, Effort};

use super::SessionRef;
use crate::exit::EXIT_CODES;

/// `ostler run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = help(), group = ArgGroup::new("earlier").args(["session", "continue_last"]))]
pub struct RunArgs {
    /// The prompt; without it, or as `-`, it is read from stdin. Other piped input is added to it
    #[arg(value_name = "PROMPT", conflicts_with = "plan")]
    pub prompt: Option<String>,
    /// Run this plan (JSON or TOML) in parallel sessions instead of a prompt
    #[arg(long, value_name = "FILE", conflicts_with_all = ["attach", "image", "output_schema"])]
    pub plan: Option<PathBuf>,
    /// Attach this file; repeatable
    #[arg(short = 'f', long = "file", visible_alias = "attach", value_name = "FILE")]
    pub attach: Vec<PathBuf>,
    /// Attach this image (PNG, JPEG, GIF or WebP); repeatable
    #[arg(short, long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// Print the session's events as JSON lines
    #[arg(long)]
    pub json: bool,
    /// Require the final answer to match this JSON Schema, and print only that
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// Stop when it costs more than this, in US dollars
    #[arg(long, value_name = "AMOUNT", value_parser = parse_cost, allow_negative_numbers = true)]
    pub max_cost: Option<Cost>,
    /// Stop when it takes longer than this, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Continue this session
    #[arg(long, value_name = "ID")]
    pub session: Option<SessionRef>,
    /// Continue the most recent session in this directory
    #[arg(short, long = "continue")]
    pub continue_last: bool,
    /// Fork that session and continue in the copy
    #[arg(long, requires = "earlier")]
    pub fork: bool,
    /// Use this agent; `ostler agents` lists them
    #[arg(long, value_name = "NAME", conflicts_with_all = ["attach", "image", "plan", "earlier"])]
    pub agent: Option<String>,
    /// Model, as `provider:model`
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// Fall back to this model when the one before fails; repeatable
    #[arg(long, value_name = "MODEL")]
    pub fallback: Vec<String>,
    /// Thinking effort [default: the provider's]
    #[arg(long, value_name = "EFFORT")]
    pub effort: Option<EffortLevel>,
    /// Log traffic with the model's provider to the session's raw.jsonl
    #[arg(long)]
    pub raw_log: bool,
    /// Log thinking, times and tokens to the session's verbose.md; implied by --verbose
    #[arg(long)]
    pub verbose_log: bool,
    /// Write the session's readable files below this directory
    #[arg(long, value_name = "DIR", conflicts_with = "earlier")]
    pub log_dir: Option<PathBuf>,
    /// Work in this directory [default: the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub workspace: Option<PathBuf>,
    /// How to answer approvals [default: ask on a terminal, never otherwise]
    #[arg(long, value_name = "WHEN")]
    pub approve: Option<ApproveWhen>,
    /// System prompt
    #[arg(long, value_name = "TEXT", conflicts_with = "earlier")]
    pub system_prompt: Option<String>,
}

const RUN_HELP: &str = "\
On a terminal, progress is shown live. In a pipe, stdout gets only the final answer; progress goes to stderr if that is \
a terminal. A running daemon is used; without one the turn runs in this process.

With --output-schema the schema is added to the prompt, the answer is checked against it, and the model is asked again \
up to twice if it does not match.

A plan has subtasks, each with an id and a prompt, and optionally a description, a model, an agent, worktree = true, \
depends_on = [ids] and a budget; concurrency limits how many run at once:
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
  git diff | ostler run \"review this change\"
  ostler run --file spec.md --image screenshot.png \"what is wrong on this page?\"
  ostler run --model anthropic:claude-sonnet-5 --fallback openai:gpt-5.5 \"plan the release\"
  ostler run --continue --approve always \"now do the same for the docs\"
  ostler run --session sess_… --fork \"try it the other way\"
  ostler run --output-schema crates.json --max-cost 0.50 --timeout 10m \"list the crates\" | jq .
  ostler run --plan review.toml --approve always
  ostler run --json \"list the crates\" | jq -r .type";

fn help() -> String {
    format!("{EXIT_CODES}\n\n{RUN_HELP}")
}

/// Dollars, with or without their sign.
fn parse_cost(text: &str) -> Result<Cost, String> {
    let amount: Option<f64> = text.strip_prefix('$').unwrap_or(text).parse().ok();
    let amount = amount.filter(|amount| amount.is_finite() && *amount > 0.0 && *amount <= 1e6);
    amount.map(Cost::from_usd).ok_or_else(|| "expected an amount of US dollars, such as 0.50".to_owned())
}

/// A time in seconds, minutes or hours.
fn parse_duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit {
        "" | "s" => 1,
        "m" | "min" => 60,
        "h" => 3600,
        _ => 0,
    };
    let seconds = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    let seconds = seconds.filter(|seconds| (1..=LONGEST).contains(seconds));
    seconds
        .map(Duration::from_secs)
        .ok_or_else(|| "expected a time such as 90s, 10m or 2h, of a week at most".to_owned())
}

/// The longest time that can be asked for.
const LONGEST: u64 = 7 * 24 * 3600;

/// How much a model thinks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum EffortLevel {
    /// Off, where possible
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
    /// Deny every call that needs an approval
    Never,
    /// Approve every call
    Always,
    /// Ask on the terminal
    Ask,
}
