//! How a conversation that has become too long is made shorter: a plan, and the words of the summary that
//! takes the place of what goes. Pure: whoever carries a plan out asks the model and records what came of it.
//!
//! Old output of tools goes first, because it can be had again. Only when that is not enough, the oldest
//! messages are summarised, and then never a call without its results, and never what a user said without a
//! trace.

mod summary;
mod transcript;

pub use summary::{ComposedSummary, compose_summary, is_summary, summary_of, user_messages};
pub use transcript::prompt_for_summary;

use std::ops::Range;
use std::sync::Arc;

use ostler_types::{Message, MessageId, Part, Role, ToolCallId, results};

use crate::tokens::{PER_PICTURE, TokenEstimate, text_tokens};

/// The share of the window that a compaction aims at.
const TARGET_PERCENT: u64 = 40;
/// The share of the target in which output is left as it is, counted from the newest message.
const UNPRUNED_PERCENT: u64 = 50;
/// The share of the target that the summary may take, and its bounds.
const SUMMARY_PERCENT: u64 = 25;
const MIN_SUMMARY: u64 = 400;
const MAX_SUMMARY: u64 = 12_000;
/// Output up to this size is not worth leaving out.
const MIN_PRUNED_BYTES: usize = 1_024;

/// What a compaction aims at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CompactionLimits {
    /// The tokens that the messages may have afterwards.
    pub target: u64,
    /// The newest tokens in which no output is left out.
    pub unpruned: u64,
    /// The tokens that the summary may have.
    pub summary: u64,
}

impl CompactionLimits {
    /// The limits for a model's window, of which `fixed` tokens are taken by the system prompt and the tools.
    pub fn for_window(window: u64, fixed: u64) -> CompactionLimits {
        CompactionLimits::for_target((window * TARGET_PERCENT / 100).saturating_sub(fixed).max(window / 10))
    }

    /// The limits for messages of so many tokens.
    pub fn for_target(target: u64) -> CompactionLimits {
        let summary = (target * SUMMARY_PERCENT / 100).clamp(MIN_SUMMARY.min(target / 2), MAX_SUMMARY);
        CompactionLimits { target, unpruned: target * UNPRUNED_PERCENT / 100, summary }
    }
}

/// Whether a request of so many tokens is due to be made shorter: it takes `percent` of the window or more, or
/// leaves no room for an answer. A quarter of the window is room enough for any.
pub fn is_compaction_due(
    request: TokenEstimate,
    window: u64,
    max_output_tokens: Option<u64>,
    percent: u64,
) -> bool {
    let answer = max_output_tokens.unwrap_or(0).min(window / 4);
    request.tokens() >= (window.saturating_mul(percent) / 100).min(window - answer)
}

/// How a conversation is to be made shorter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactionPlan {
    /// The first message that it touches, and the last.
    pub from_message_id: MessageId,
    /// As above.
    pub to_message_id: MessageId,
    /// The calls whose output is left out.
    pub pruned: Vec<ToolCallId>,
    /// The messages to be summarised, from the first one on; none where leaving out output is enough.
    pub summarised: Option<Range<usize>>,
    /// The tokens that the summary may have.
    pub summary_tokens: u64,
    /// About how many tokens the messages have.
    pub tokens_before: u64,
    /// About how many they will have, with a summary as long as it may be.
    pub tokens_after: u64,
}

impl CompactionPlan {
    /// The plan for a conversation. None where there is nothing to gain: then the newest messages alone are
    /// too long, and the model's answer is to say so.
    pub fn new(messages: &[Arc<Message>], limits: &CompactionLimits) -> Option<CompactionPlan> {
        let tokens: Vec<u64> =
            messages.iter().map(|message| TokenEstimate::of_message(message).tokens()).collect();
        let before: u64 = tokens.iter().sum();
        let groups = groups(messages);
        let mut output = PrunableOutput::find(messages, &tokens, &groups);
        output.prune_older_than(limits.unpruned);
        if before - output.saved(0) <= limits.target {
            return output.plan(messages, before);
        }
        let keep = limits.target.saturating_sub(limits.summary);
        let start = first_kept_message(&groups, &tokens, &output, keep);
        if start == 0 || messages[..start].iter().all(|message| is_summary(message)) {
            output.prune_until(before.saturating_sub(limits.target));
            return output.plan(messages, before);
        }
        let kept: u64 = tokens[start..].iter().sum();
        output.drop_before(start);
        output.prune_until(kept.saturating_sub(keep));
        Some(CompactionPlan {
            from_message_id: messages[0].id,
            to_message_id: messages[start - 1].id,
            tokens_after: kept - output.saved(start) + limits.summary,
            pruned: output.pruned(),
            summarised: Some(0..start),
            summary_tokens: limits.summary,
            tokens_before: before,
        })
    }
}

/// The conversation in pieces that stay together: a message with calls and all their results, or one message.
fn groups(messages: &[Arc<Message>]) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match groups.last_mut() {
            Some(last) if message.role == Role::Tool => last.end = index + 1,
            Some(_) | None => groups.push(index..index + 1),
        }
    }
    groups
}

/// The first message that is kept: the newest pieces that fit, and at least the newest of all.
fn first_kept_message(groups: &[Range<usize>], tokens: &[u64], output: &PrunableOutput, keep: u64) -> usize {
    let mut start = groups.last().map_or(0, |last| last.start);
    let mut kept = 0;
    for group in groups.iter().rev() {
        kept += group.clone().map(|index| tokens[index] - output.saved_in(index)).sum::<u64>();
        if kept > keep {
            break;
        }
        start = group.start;
    }
    start
}

/// The output that could be left out.
struct PrunableOutput {
    /// By message, the oldest first.
    results: Vec<OldResult>,
    /// The tokens saved in each message by what is chosen.
    saved: Vec<u64>,
}

struct OldResult {
    index: usize,
    call: ToolCallId,
    /// The tokens that leaving it out saves.
    gain: u64,
    /// The tokens of all newer messages.
    newer: u64,
    is_chosen: bool,
}

impl PrunableOutput {
    /// All results that are worth leaving out. Those of the newest piece are not: the model asked for them
    /// just now.
    fn find(messages: &[Arc<Message>], tokens: &[u64], groups: &[Range<usize>]) -> PrunableOutput {
        let newest = groups.last().map_or(0, |last| last.start);
        let stub = text_tokens(results::PRUNED);
        let mut newer: u64 = tokens.iter().sum();
        let mut found = Vec::new();
        for (index, message) in messages.iter().enumerate().take(newest) {
            newer -= tokens[index];
            for part in &message.parts {
                let Part::ToolResult { tool_call_id, text, images, .. } = part else { continue };
                let pictures = PER_PICTURE * images.len() as u64;
                if text.len() > MIN_PRUNED_BYTES || pictures > 0 {
                    let gain = (text_tokens(text) + pictures).saturating_sub(stub);
                    found.push(OldResult {
                        index,
                        call: tool_call_id.clone(),
                        gain,
                        newer,
                        is_chosen: false,
                    });
                }
            }
        }
        PrunableOutput { results: found, saved: vec![0; messages.len()] }
    }

    fn prune_older_than(&mut self, fresh: u64) {
        self.prune_where(|result| result.newer >= fresh);
    }

    /// Leaves out more, the oldest first, until so many tokens are saved.
    fn prune_until(&mut self, wanted: u64) {
        let mut saved: u64 =
            self.results.iter().filter(|result| result.is_chosen).map(|result| result.gain).sum();
        self.prune_where(|result| {
            let is_needed = saved < wanted;
            saved += if is_needed { result.gain } else { 0 };
            is_needed
        });
    }

    fn prune_where(&mut self, mut is_meant: impl FnMut(&OldResult) -> bool) {
        for result in self.results.iter_mut().filter(|result| !result.is_chosen) {
            if is_meant(result) {
                result.is_chosen = true;
                self.saved[result.index] += result.gain;
            }
        }
    }

    /// Forgets the output of messages that are summarised: it goes with them.
    fn drop_before(&mut self, start: usize) {
        self.results.retain(|result| result.index >= start);
    }

    fn saved_in(&self, index: usize) -> u64 {
        self.saved[index]
    }

    fn saved(&self, from: usize) -> u64 {
        self.saved[from..].iter().sum()
    }

    fn pruned(&self) -> Vec<ToolCallId> {
        self.results.iter().filter(|result| result.is_chosen).map(|result| result.call.clone()).collect()
    }

    /// The plan that only leaves out output; none where there is none.
    fn plan(&self, messages: &[Arc<Message>], before: u64) -> Option<CompactionPlan> {
        let mut chosen = self.results.iter().filter(|result| result.is_chosen).map(|result| result.index);
        let first = chosen.next()?;
        let last = chosen.next_back().unwrap_or(first);
        Some(CompactionPlan {
            from_message_id: messages[first].id,
            to_message_id: messages[last].id,
            pruned: self.pruned(),
            summarised: None,
            summary_tokens: 0,
            tokens_before: before,
            tokens_after: before - self.saved(0),
        })
    }
}
