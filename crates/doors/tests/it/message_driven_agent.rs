//! An agent without a model: what it does is what the last message says.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_agent::{Agent, CompletedTurn, FailedTurn, TurnContext};
use ostler_types::{
    CompactionTrigger, Cost, Delta, DeltaKind, Failure, Message, MessageId, NewCompaction, Part, Purpose,
    Role, ToolCall, ToolCallId, ToolKind, ToolResult, TurnReport, Usage, Verdict,
};
use serde_json::json;
use tokio::sync::Semaphore;

/// `how many` says how many messages there are; `wait` streams some text and goes on when the gate opens; `ask` asks for an approval; `pay` answers with
/// a model that has a price; `steered` takes what was said meanwhile, once the gate opens; `fail` fails; everything else is repeated.
pub(crate) struct MessageDrivenAgent {
    /// Lets a waiting turn go on, once for each permit.
    pub(crate) gate: Arc<Semaphore>,
}

impl Agent for MessageDrivenAgent {
    fn run_turn(&self, turn: TurnContext) -> BoxFuture<'_, Result<CompletedTurn, FailedTurn>> {
        Box::pin(async move {
            match &turn.open_turn.purpose {
                Purpose::Answer => {}
                Purpose::Compact => return compact(&turn).await,
                Purpose::Subtasks { plan } => {
                    say(&turn, &[&format!("{} subtasks", plan.subtasks.len())]).await?;
                    return Ok(completed("subtasks_completed"));
                }
            }
            let said = turn.history.iter().rev().find(|message| message.role == Role::User);
            match said.map(|message| message.text()).unwrap_or_default().as_str() {
                "wait" => self.wait(&turn).await?,
                "ask" => ask(&turn).await?,
                "steered" => {
                    self.wait(&turn).await?;
                    turn.report(TurnReport::TakeSteering).await?;
                    say(&turn, &["I see"]).await?;
                }
                "pay" => pay(&turn).await?,
                "fail" => return Err(failure()),
                "how many" => say(&turn, &[&shown(&turn)]).await?,
                other => say(&turn, &["You said: ", other]).await?,
            }
            Ok(completed("end_turn"))
        })
    }

    fn can_resume_turns(&self) -> bool {
        true
    }
}

impl MessageDrivenAgent {
    async fn wait(&self, turn: &TurnContext) -> Result<(), FailedTurn> {
        let id = turn.message_id();
        stream(turn, id, &["half of ", "an änswer"]);
        tokio::select! {
            () = turn.canceled.cancelled() => {}
            permit = self.gate.acquire() => permit.unwrap().forget(),
        }
        finish(turn, id, vec![Part::text("half of an änswer, and the rest")]).await
    }
}

fn completed(stop_reason: &str) -> CompletedTurn {
    CompletedTurn { stop_reason: stop_reason.to_owned(), verified: None, verification: None }
}

/// Puts a summary in the place of all but the last message.
async fn compact(turn: &TurnContext) -> Result<CompletedTurn, FailedTurn> {
    let [first, .., before, _] = turn.history.as_slice() else { return Ok(completed("nothing to compact")) };
    let parts = vec![Part::text("what was said before")];
    let summary = Message { id: turn.message_id(), role: Role::User, parts, created_at: turn.clock.now() };
    let compaction = NewCompaction {
        from_message_id: first.id,
        to_message_id: before.id,
        tokens_before: 100,
        tokens_after: 40,
        trigger: CompactionTrigger::Asked,
        summary: Some(summary),
        pruned: Vec::new(),
    };
    turn.report(TurnReport::Compacted(Box::new(compaction))).await?;
    Ok(completed("compacted"))
}

async fn say(turn: &TurnContext, pieces: &[&str]) -> Result<(), FailedTurn> {
    let id = turn.message_id();
    stream(turn, id, pieces);
    finish(turn, id, vec![Part::text(pieces.concat())]).await
}

async fn ask(turn: &TurnContext) -> Result<(), FailedTurn> {
    let (id, name) = (ToolCallId("call_1".to_owned()), "shell".to_owned());
    let call = ToolCall { id: id.clone(), name, input: json!({"command": "make test"}) };
    // A turn that is picked up after a restart has its call already.
    if turn.open_turn.calls.is_empty() {
        finish(turn, turn.message_id(), vec![Part::ToolCall { call: call.clone() }]).await?;
        turn.report(TurnReport::BatchStarted { parallel: false }).await?;
    }
    let (verdict, _) = turn
        .request_approval(
            call.clone(),
            ToolKind::Exec,
            "run `make test`".to_owned(),
            None,
            ostler_testing::agent::subject(&call),
        )
        .await?;
    let result = match verdict {
        Verdict::Approve => {
            turn.report(TurnReport::CallStarted { tool_call: call, kind: ToolKind::Exec }).await?;
            let parts = vec![Part::text("ok")];
            ToolResult { id, ok: true, parts, error: None, artifacts: Vec::new(), details: None }
        }
        Verdict::Deny => ToolResult::failed(id, "denied"),
    };
    let message_id = turn.message_id();
    turn.report(TurnReport::CallFinished { result, duration_ms: 1, message_id }).await?;
    turn.report(TurnReport::BatchCompleted).await?;
    say(turn, &["done"]).await
}

fn stream(turn: &TurnContext, message_id: MessageId, pieces: &[&str]) {
    let mut offset = 0;
    for piece in pieces {
        let kind = DeltaKind::Text { message_id, part: 0 };
        turn.delta(Delta { kind, offset, text: (*piece).to_owned() });
        offset += piece.len() as u64;
    }
}

async fn finish(turn: &TurnContext, id: MessageId, parts: Vec<Part>) -> Result<(), FailedTurn> {
    let message = Message { id, role: Role::Assistant, parts, created_at: turn.clock.now() };
    let usage = Usage { input_tokens: 3, output_tokens: 5, ..Usage::default() };
    let (model, stop_reason) = (turn.session.model.clone(), "end_turn".to_owned());
    turn.report(TurnReport::StepFinished { model, message, stop_reason, usage }).await?;
    Ok(())
}

async fn pay(turn: &TurnContext) -> Result<(), FailedTurn> {
    let (id, parts) = (turn.message_id(), vec![Part::text("paid")]);
    let message = Message { id, role: Role::Assistant, parts, created_at: turn.clock.now() };
    let usage = Usage {
        input_tokens: 100,
        output_tokens: 20,
        cached_tokens: 30,
        cache_write_tokens: 40,
        reasoning_tokens: 10,
        cost_usd: Some(Cost::from_usd(0.25)),
    };
    let (model, stop_reason) = ("test:two".to_owned(), "end_turn".to_owned());
    turn.report(TurnReport::StepFinished { model, message, stop_reason, usage }).await?;
    Ok(())
}

/// What it is shown of the conversation.
fn shown(turn: &TurnContext) -> String {
    let secrets = turn.history.iter().filter(|message| message.text().contains("secret")).count();
    let secrets = if secrets == 0 { "none".to_owned() } else { secrets.to_string() };
    format!("{} messages, {secrets} with a secret", turn.history.len())
}

fn failure() -> FailedTurn {
    let hint = Some("try again".to_owned());
    let error = Failure { code: "scripted".to_owned(), message: "it was asked to fail".to_owned(), hint };
    FailedTurn { error, reason: "scripted".to_owned() }
}
