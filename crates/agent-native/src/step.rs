//! One step: the model's answer, shown as it streams and recorded when it is whole. A model that
//! cannot begin to answer hands over to the next of the session's list.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use ostler_agent::{FailedTurn, TurnContext};
use ostler_context::validate;
use ostler_models::{ModelError, ModelEvent, ModelRequest};
use ostler_types::{
    Accepted, CompactionTrigger, Failure, Message, Part, Resolution, ResolvedBy, TurnReport, Usage,
};

use crate::compaction;
use crate::streamed_answer::StreamedAnswer;
use crate::turn::{NativeTurn, failed_by_model, to_failure};

/// The longest that a model may want to be left alone while there is another one to ask.
pub(crate) const FALLBACK_AFTER: Duration = Duration::from_secs(10);

/// What a provider's client says of a request that is too long. Such a conversation is made shorter, not moved
/// to another model.
const CONTEXT_OVERFLOW: &str = "context_overflow";

/// How many bytes of files one request carries; providers take about 32 MiB, and base64 adds a third.
const MAX_FILE_BYTES: usize = 20 << 20;

/// An answer of the model that is whole, and not recorded yet.
pub(crate) struct FinishedStep {
    model: String,
    message: Message,
    pub(crate) stop_reason: String,
    usage: Usage,
}

/// Asks the model once.
pub(crate) async fn run_step(turn: &mut NativeTurn<'_>) -> Result<FinishedStep, FailedTurn> {
    let mut request = model_request(turn).await?;
    let mut is_shorter = false;
    let (answer, stop_reason) = loop {
        let hand_over_after = turn.models.has_fallback().then_some(FALLBACK_AFTER);
        match stream_answer(turn, ModelRequest { fallback_after: hand_over_after, ..request.clone() }).await?
        {
            AskOutcome::Answered(answer, stop_reason) => break (answer, stop_reason),
            AskOutcome::NotBegun(error) if error.code == CONTEXT_OVERFLOW && is_shorter => {
                return Err(still_too_long(&error));
            }
            AskOutcome::NotBegun(error) if error.code == CONTEXT_OVERFLOW => {
                if !compaction::compact(turn, CompactionTrigger::Overflow).await? {
                    return Err(turn.models.turn_failure(&error));
                }
                is_shorter = true;
                request = self::model_request(turn).await?;
            }
            AskOutcome::NotBegun(error) => fall_back(turn, &error).await?,
        }
    };
    turn.note_counted_tokens(answer.usage.input_tokens);
    let (model, usage) = (turn.models.current_name().to_owned(), answer.usage);
    Ok(FinishedStep { model, message: answer.into_message(turn), stop_reason, usage })
}

impl FinishedStep {
    pub(crate) fn asks_for_calls(&self) -> bool {
        self.message.tool_calls().next().is_some()
    }

    /// Records the step. Returns its message, which is on disk.
    pub(crate) async fn record(self, turn: &mut NativeTurn<'_>) -> Result<Arc<Message>, FailedTurn> {
        let FinishedStep { model, message, stop_reason, usage } = self;
        let shown = Arc::new(message.clone());
        turn.context.report(TurnReport::StepFinished { model, message, stop_reason, usage }).await?;
        turn.spending.mark_recorded();
        turn.conversation.push(Arc::clone(&shown));
        Ok(shown)
    }

    /// Records the step and the end of the turn at once, or hands what steers the turn to the model. Returns whether
    /// the turn is over.
    pub(crate) async fn record_with_turn_end(self, turn: &mut NativeTurn<'_>) -> Result<bool, FailedTurn> {
        let FinishedStep { model, message, stop_reason, usage } = self;
        let shown = Arc::new(message.clone());
        let report = TurnReport::LastStepFinished { model, message, stop_reason, usage };
        let accepted = turn.context.report(report).await?;
        turn.spending.mark_recorded();
        let Accepted::Steering(messages) = accepted else { return Ok(true) };
        turn.conversation.push(shown);
        turn.conversation.extend(messages.into_iter().map(Arc::new));
        Ok(false)
    }
}

/// What became of asking one model.
enum AskOutcome {
    /// It answered, and why it stopped.
    Answered(StreamedAnswer, String),
    /// It failed before it said anything.
    NotBegun(ModelError),
}

/// Streams one answer of the model whose turn it is. One that fails in the middle ends the turn: what
/// it said has been shown, and another model would begin anew.
async fn stream_answer(turn: &mut NativeTurn<'_>, request: ModelRequest) -> Result<AskOutcome, FailedTurn> {
    let model = match turn.models.current() {
        Ok(model) => model,
        Err(error) => return Ok(AskOutcome::NotBegun(error)),
    };
    let mut answer = StreamedAnswer::new(turn.context.message_id());
    let mut events = model.stream(request);
    let error = loop {
        match events.next().await {
            Some(Ok(ModelEvent::Stop(reason))) => return Ok(AskOutcome::Answered(answer, reason)),
            Some(Ok(ModelEvent::Waiting { attempt, attempts, wait, error })) => {
                report_waiting(turn, turn.models.current_name(), (attempt, attempts), wait, &error).await?;
            }
            Some(Ok(event)) => match answer.apply_event(event) {
                Ok(delta) => {
                    turn.spending.count_running(turn.models.current_name(), answer.usage);
                    if let Some(delta) = delta {
                        turn.context.delta(delta);
                    }
                }
                Err(error) => break error,
            },
            Some(Err(error)) => break error,
            None => break stream_cut_error(),
        }
    };
    turn.spending.record_unused(turn.context).await?;
    if answer.is_empty() { Ok(AskOutcome::NotBegun(error)) } else { Err(failed_by_model(&error)) }
}

/// Lets the next model of the list take over; without one, the turn fails with what went wrong first.
async fn fall_back(turn: &mut NativeTurn<'_>, error: &ModelError) -> Result<(), FailedTurn> {
    let instead_of = turn.models.current_name().to_owned();
    if !turn.models.fall_back(error) {
        return Err(turn.models.turn_failure(error));
    }
    let model = turn.models.current_name().to_owned();
    let detail = format!("{instead_of} could not answer, so {model} is asked instead");
    let (reason, error) = (ResolvedBy::Failover, Some(to_failure(error)));
    let resolution = Resolution { model, reason, detail, instead_of: Some(instead_of), error };
    turn.context.report(TurnReport::ModelResolved(resolution)).await?;
    Ok(())
}

/// Records that the model cannot answer yet.
pub(crate) async fn report_waiting(
    turn: &NativeTurn<'_>,
    model: &str,
    (attempt, attempts): (u32, u32),
    wait: Duration,
    error: &ModelError,
) -> Result<(), FailedTurn> {
    let model = model.to_owned();
    let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let error = to_failure(error);
    turn.context.report(TurnReport::ModelWaiting { model, attempt, attempts, wait_ms, error }).await?;
    Ok(())
}

/// What the model is shown. A conversation that breaks the rules is not sent to anybody.
async fn model_request(turn: &mut NativeTurn<'_>) -> Result<ModelRequest, FailedTurn> {
    let session = &turn.context.session;
    load_files(turn.context, &turn.conversation, &mut turn.files).await;
    let messages: Vec<Arc<Message>> =
        turn.conversation.iter().filter(|message| !is_blank(message)).map(Arc::clone).collect();
    if let Err(violation) = validate(&messages) {
        let code = "context_invalid".to_owned();
        let message = format!("the conversation cannot be sent to a model: {violation}");
        let hint = Some("nothing was sent; fork the session before this turn, or begin a new one".to_owned());
        return Err(FailedTurn { error: Failure { code: code.clone(), message, hint }, reason: code });
    }
    Ok(ModelRequest {
        system: Some(turn.system_prompt.clone()),
        messages,
        tools: Arc::clone(&turn.specs),
        effort: session.effort,
        max_output_tokens: None,
        cache_key: Some(session.id.to_string()),
        files: turn.files.clone(),
        raw: turn.context.raw(),
        fallback_after: None,
    })
}

/// Whether a message says nothing, like an answer of a model that had nothing to add. No provider takes one.
fn is_blank(message: &Message) -> bool {
    message.parts.iter().all(|part| match part {
        Part::Text { text } | Part::Reasoning { text, opaque: None } => text.trim().is_empty(),
        Part::Reasoning { opaque: Some(_), .. }
        | Part::Image { .. }
        | Part::Audio { .. }
        | Part::File { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => false,
    })
}

/// Reads the files that the conversation refers to, the newest first and each once a turn, as far as one
/// request can carry them. One that is not there is said to be so by the model's client where it matters.
async fn load_files(
    context: &TurnContext,
    conversation: &[Arc<Message>],
    files: &mut Arc<HashMap<String, Bytes>>,
) {
    let references: Vec<&String> =
        conversation.iter().flat_map(|message| &message.parts).flat_map(file_references).collect();
    let mut room = MAX_FILE_BYTES.saturating_sub(files.values().map(Bytes::len).sum());
    for reference in references.into_iter().rev() {
        if room == 0 || files.contains_key(reference) {
            continue;
        }
        if let Ok(content) = context.read_file(reference.clone()).await {
            if content.len() > room {
                room = 0;
                continue;
            }
            room -= content.len();
            Arc::make_mut(files).insert(reference.clone(), content);
        }
    }
}

fn file_references(part: &Part) -> Vec<&String> {
    match part {
        Part::Image { reference, .. } | Part::Audio { reference, .. } | Part::File { reference, .. } => {
            vec![reference]
        }
        Part::ToolResult { images, .. } => images.iter().map(|image| &image.reference).collect(),
        Part::Text { .. } | Part::Reasoning { .. } | Part::ToolCall { .. } => Vec::new(),
    }
}

/// A conversation of which even the newest part is too long.
fn still_too_long(error: &ModelError) -> FailedTurn {
    let message = format!("{}, also after it was made shorter", error.message);
    let hint = "the newest messages alone are too long for this model: send shorter ones, or choose a model with a \
                larger window";
    failed_by_model(&ModelError::new(CONTEXT_OVERFLOW, message).hint(hint))
}

pub(crate) fn stream_cut_error() -> ModelError {
    ModelError::new("cut_stream", "the model's answer ended before it was whole")
        .hint("the text so far is kept; retry the turn")
}
