//! `ostler run`: its arguments.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};
use ostler_types::{Cost, Effort, SessionId};

use crate::exit::EXIT_CODES;

/// `ostler run`.
#[derive(Debug, Clone, Args)]
#[command(after_help = help(), group = ArgGroup::new("earlier").args(["session", "continue_last"]))]
pub struct RunArgs {
    /// What to ask; without it, or as `-`, it is read from stdin. What is piped in besides goes along with it
    #[arg(value_name = "PROMPT", conflicts_with = "plan")]
    pub prompt: Option<String>,
    /// Divide the work of this plan among sessions, instead of a prompt: a file in JSON or TOML
    #[arg(long, value_name = "FILE", conflicts_with_all = ["attach", "image", "output_schema"])]
    pub plan: Option<PathBuf>,
    /// Send this file along; can be given more than once
    #[arg(short = 'f', long = "file", visible_alias = "attach", value_name = "FILE")]
    pub attach: Vec<PathBuf>,
    /// Send this image along: PNG, JPEG, GIF or WebP; can be given more than once
    #[arg(short, long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
    /// Print the session's events as JSON lines instead
    #[arg(long)]
    pub json: bool,
    /// Have the last answer be JSON that fits this JSON Schema, and print nothing else
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// Stop when it has cost more than this, in US dollars
    #[arg(long, value_name = "AMOUNT", value_parser = parse_cost)]
    pub max_cost: Option<Cost>,
    /// Stop when it takes longer than this, such as 90s, 10m or 2h
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    pub timeout: Option<Duration>,
    /// Continue this session
    #[arg(long, value_name = "ID")]
    pub session: Option<SessionId>,
    /// Continue the session of this directory in which something happened last
    #[arg(short, long = "continue")]
    pub continue_last: bool,
    /// Leave that session as it is, and go on in one that begins as it ended
    #[arg(long, requires = "earlier")]
    pub fork: bool,
    /// Have this agent work on it; `ostler agents list` shows which there are
    #[arg(long, value_name = "NAME", conflicts_with_all = ["attach", "image", "plan", "earlier"])]
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
    #[arg(long, value_name = "DIR", conflicts_with = "earlier")]
    pub log_dir: Option<PathBuf>,
    /// Work in this directory [default: the current one]
    #[arg(long, value_name = "DIR", conflicts_with = "session")]
    pub workspace: Option<PathBuf>,
    /// Answer tool calls that need an approval [default: ask on a terminal, never otherwise]
    #[arg(long, value_name = "WHEN")]
    pub approve: Option<ApproveWhen>,
    /// Give the model these instructions
    #[arg(long, value_name = "TEXT", conflicts_with = "earlier")]
    pub system_prompt: Option<String>,
}

const RUN_HELP: &str = "\
On a terminal everything is shown as it happens. In a pipe stdout gets the last answer and nothing else, and what \
happens is shown on stderr if that is a terminal. A daemon that runs is used; without one the turn is run here.

With --output-schema the model is told of the schema, its answer is checked, and it is asked again when it does not \
fit, twice at most.

A plan has subtasks, each with an id and a prompt, and where it needs them a description, a model, \
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
