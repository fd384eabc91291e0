//! The calls of one answer: one after the other, halting at the first error, or side by side when
//! the model asks for it with `_parallel`.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use ostler_agent::Failed;
use ostler_types::{CallStatus, Event, Message, OpenTurn, Report, ToolCall, ToolResult, results};
use serde_json::Value;

use crate::call::{finish_call, run_tool_call};
use crate::turn::Turn;

/// Calls that run at the same time.
const AT_ONCE: usize = 8;

/// The calls of one answer, with what is already known of them.
pub(crate) struct Batch {
    calls: Vec<(ToolCall, Option<Known>)>,
    parallel: bool,
    started: bool,
    halted: bool,
}

/// What the log knows of a call of a batch that is picked up again.
#[derive(Clone, Copy)]
struct Known {
    ok: bool,
}

impl Batch {
    /// The calls that a message asks for, if it asks for any.
    pub(crate) fn of(message: &Message) -> Option<Batch> {
        let calls = message.tool_calls().map(|call| (call.clone(), None)).collect();
        Batch::new(calls, None)
    }

    /// The batch that was open when the turn was left, if one was.
    pub(crate) fn left_open(turn: &OpenTurn) -> Option<Batch> {
        let known = |status: &CallStatus| match status {
            CallStatus::Done { ok } => Some(Known { ok: *ok }),
            CallStatus::Proposed
            | CallStatus::Waiting { .. }
            | CallStatus::Granted
            | CallStatus::Denied { .. }
            | CallStatus::Started => None,
        };
        let calls = turn.calls.iter().map(|open| (open.call.clone(), known(&open.status))).collect();
        Batch::new(calls, turn.batch)
    }

    /// A batch that has begun stays as it began: an open call no longer has the arguments for the loop.
    fn new(calls: Vec<(ToolCall, Option<Known>)>, begun: Option<ostler_types::Batch>) -> Option<Batch> {
        let asked = |(call, _): &(ToolCall, _)| call.input.get("_parallel") == Some(&Value::Bool(true));
        let parallel = begun.map_or_else(|| calls.iter().any(asked), |begun| begun.parallel);
        let (started, halted) = (begun.is_some(), begun.is_some_and(|begun| begun.halted));
        (!calls.is_empty()).then_some(Batch { calls, parallel, started, halted })
    }
}

/// Runs a batch until each of its calls has a result.
pub(crate) async fn run_batch(turn: &mut Turn<'_>, batch: Batch) -> Result<(), Failed> {
    if !batch.started {
        turn.context.report(Report::BatchStarted { parallel: batch.parallel }).await?;
    }
    let finished =
        if batch.parallel { side_by_side(turn, batch).await? } else { in_order(turn, batch).await? };
    turn.context.report(Report::BatchCompleted).await?;
    for (name, result, message_id) in finished.calls {
        let event = Event::ToolCallCompleted {
            tool_call: ostler_types::CallName { id: result.id.clone(), name },
            tool_result: result,
            duration_ms: 0,
            message_id,
        };
        turn.conversation.extend(event.message(turn.context.clock.now()).map(Arc::new));
    }
    turn.changed |= finished.changed;
    Ok(())
}

/// What the calls of a batch came to.
#[derive(Default)]
struct Finished {
    calls: Vec<(String, ToolResult, ostler_types::MessageId)>,
    changed: bool,
}

async fn in_order(turn: &Turn<'_>, batch: Batch) -> Result<Finished, Failed> {
    let mut finished = Finished::default();
    let mut halted = batch.halted;
    for (call, known) in batch.calls {
        if let Some(Known { ok }) = known {
            if !ok && !halted {
                halted = true;
                // The turn was left between the call's result and this.
                turn.context.report(Report::BatchHalted { tool_call_id: call.id }).await?;
            }
            continue;
        }
        let name = call.name.clone();
        if halted {
            let result = ToolResult::failed(call.id.clone(), results::HALTED);
            let message_id = finish_call(turn, result.clone(), 0).await?;
            finished.calls.push((name, result, message_id));
            continue;
        }
        let id = call.id.clone();
        let done = run_tool_call(turn, call).await?;
        finished.changed |= done.changed;
        halted = !done.result.ok;
        if halted {
            turn.context.report(Report::BatchHalted { tool_call_id: id }).await?;
        }
        finished.calls.push((name, done.result, done.message_id));
    }
    Ok(finished)
}

async fn side_by_side(turn: &Turn<'_>, batch: Batch) -> Result<Finished, Failed> {
    let open = batch.calls.into_iter().filter(|(_, known)| known.is_none());
    let run = |(call, _): (ToolCall, Option<Known>)| async move {
        let name = call.name.clone();
        run_tool_call(turn, call).await.map(|done| (name, done))
    };
    let mut running = stream::iter(open.map(run)).buffer_unordered(AT_ONCE);
    let mut finished = Finished::default();
    while let Some(done) = running.next().await {
        let (name, done) = done?;
        finished.changed |= done.changed;
        finished.calls.push((name, done.result, done.message_id));
    }
    Ok(finished)
}
