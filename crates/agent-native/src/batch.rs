//! The calls of one answer: one after the other, halting at the first error, or side by side when
//! the model asks for it with `_parallel`.

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use ostler_agent::FailedTurn;
use ostler_types::{
    CallEvent, CallStatus, Event, Message, OpenTurn, StateLimits, ToolCall, ToolResult, TurnReport, results,
};
use serde_json::Value;

use crate::call::{FinishedCall, RecordedCallResult, finish_call, resume_tool_call, run_tool_call};
use crate::loop_tools::LoopTool;
use crate::turn::NativeTurn;

/// Calls that run at the same time. Those that only wait for other sessions have a limit of their own.
const MAX_PARALLEL_CALLS: usize = 8;

/// The calls of one answer, with how far each of them is.
pub(crate) struct CallBatch {
    calls: Vec<(ToolCall, BatchCallState)>,
    parallel: bool,
    started: bool,
    halted: bool,
}

/// How far a call of a batch is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BatchCallState {
    /// It has to be run.
    Open,
    /// It waits for another session, and goes on waiting.
    AtWork,
    /// It has its result.
    Done { ok: bool },
}

impl CallBatch {
    /// The calls that a message asks for, if it asks for any.
    pub(crate) fn from_message(message: &Message) -> Option<CallBatch> {
        let calls = message.tool_calls().map(|call| (call.clone(), BatchCallState::Open)).collect();
        CallBatch::new(calls, None)
    }

    /// The batch that was open when the turn was left, if one was.
    pub(crate) fn from_open_turn(turn: &OpenTurn) -> Option<CallBatch> {
        let standing = |call: &ToolCall, status: &CallStatus| match status {
            CallStatus::Done { ok } => BatchCallState::Done { ok: *ok },
            // The session that it started is found again by the call's id.
            CallStatus::Started if call.name == LoopTool::Task.name() => BatchCallState::AtWork,
            CallStatus::Proposed
            | CallStatus::Waiting { .. }
            | CallStatus::Granted
            | CallStatus::Denied { .. }
            | CallStatus::Started => BatchCallState::Open,
        };
        let calls = turn.calls.iter().map(|open| (open.call.clone(), standing(&open.call, &open.status)));
        CallBatch::new(calls.collect(), turn.batch)
    }

    /// A batch that has begun stays as it began: an open call no longer has the arguments for the loop.
    fn new(
        calls: Vec<(ToolCall, BatchCallState)>,
        begun: Option<ostler_types::OpenBatch>,
    ) -> Option<CallBatch> {
        let asked = |(call, _): &(ToolCall, _)| call.input.get("_parallel") == Some(&Value::Bool(true));
        let parallel = begun.map_or_else(|| calls.iter().any(asked), |begun| begun.parallel);
        let (started, halted) = (begun.is_some(), begun.is_some_and(|begun| begun.halted));
        (!calls.is_empty()).then_some(CallBatch { calls, parallel, started, halted })
    }
}

/// Runs a batch until each of its calls has a result.
pub(crate) async fn run_batch(turn: &mut NativeTurn<'_>, batch: CallBatch) -> Result<(), FailedTurn> {
    if !batch.started {
        turn.context.report(TurnReport::BatchStarted { parallel: batch.parallel }).await?;
    }
    let mut finished =
        if batch.parallel { run_in_parallel(turn, batch).await? } else { run_in_order(turn, batch).await? };
    turn.context.report(TurnReport::BatchCompleted).await?;
    // The next request, and what is left out of later ones, must go by the order of the log.
    finished.calls.sort_by_key(|(_, _, recorded)| recorded.place);
    for (name, result, recorded) in finished.calls {
        let event = Event::Call(CallEvent::Completed {
            tool_call: ostler_types::CallName { id: result.id.clone(), name },
            tool_result: result,
            duration_ms: 0,
            message_id: recorded.message_id,
        });
        turn.conversation.extend(event.message(turn.context.clock.now()).map(Arc::new));
    }
    if finished.changed {
        turn.acceptance.note_change();
    }
    Ok(())
}

/// What the calls of a batch came to.
#[derive(Default)]
struct BatchResult {
    calls: Vec<(String, ToolResult, RecordedCallResult)>,
    changed: bool,
}

async fn run_in_order(turn: &NativeTurn<'_>, batch: CallBatch) -> Result<BatchResult, FailedTurn> {
    let mut finished = BatchResult::default();
    let mut halted = batch.halted;
    for (call, standing) in batch.calls {
        if let BatchCallState::Done { ok } = standing {
            if !ok && !halted {
                halted = true;
                // The turn was left between the call's result and this.
                turn.context.report(TurnReport::BatchHalted { tool_call_id: call.id }).await?;
            }
            continue;
        }
        let name = call.name.clone();
        if halted {
            let result = ToolResult::failed(call.id.clone(), results::HALTED);
            let recorded = finish_call(turn, result.clone(), 0).await?;
            finished.calls.push((name, result, recorded));
            continue;
        }
        let id = call.id.clone();
        let done = run_one(turn, call, standing).await?;
        finished.changed |= done.changed;
        halted = !done.result.ok;
        if halted {
            turn.context.report(TurnReport::BatchHalted { tool_call_id: id }).await?;
        }
        finished.calls.push((name, done.result, done.recorded));
    }
    Ok(finished)
}

async fn run_in_parallel(turn: &NativeTurn<'_>, batch: CallBatch) -> Result<BatchResult, FailedTurn> {
    let open =
        batch.calls.into_iter().filter(|(_, standing)| !matches!(standing, BatchCallState::Done { .. }));
    let (tasks, others): (Vec<_>, Vec<_>) = open.partition(|(call, _)| call.name == LoopTool::Task.name());
    let run = |(call, standing): (ToolCall, BatchCallState)| async move {
        let name = call.name.clone();
        run_one(turn, call, standing).await.map(|done| (name, done))
    };
    let tasks = stream::iter(tasks.into_iter().map(run)).buffer_unordered(StateLimits::CHILDREN);
    let others = stream::iter(others.into_iter().map(run)).buffer_unordered(MAX_PARALLEL_CALLS);
    let mut running = stream::select(tasks, others);
    let mut finished = BatchResult::default();
    while let Some(done) = running.next().await {
        let (name, done) = done?;
        finished.changed |= done.changed;
        finished.calls.push((name, done.result, done.recorded));
    }
    Ok(finished)
}

async fn run_one(
    turn: &NativeTurn<'_>,
    call: ToolCall,
    standing: BatchCallState,
) -> Result<FinishedCall, FailedTurn> {
    match standing {
        BatchCallState::AtWork => resume_tool_call(turn, call).await,
        BatchCallState::Open | BatchCallState::Done { .. } => run_tool_call(turn, call).await,
    }
}
