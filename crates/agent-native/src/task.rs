//! The tool `task`: has another session work on something, and returns what it answered. How such a session
//! is made, watched and ended is the engine's affair.
//!
//! For a session of the native agent it is of kind `read`: starting a session changes nothing by itself, the session has
//! the rights of this one at most, and each of its calls is asked about as if it were made here. Whoever wants to be
//! asked first names `task` in the policy. A third-party agent is a program that acts by itself, so a call that names one
//! is of kind `exec`.

use ostler_agent::{FailedTurn, NewChild, ReportError, TurnContext};
use ostler_runner::ToolOutcome;
use ostler_types::{Budget, ChildOutcome, ChildStatus, SessionId, ToolCall, ToolKind, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::loop_tools::parse_input;
use crate::prompts;
use crate::spending::TurnSpending;
use crate::turn::NativeTurn;

/// The agent whose calls are asked about one by one.
const NATIVE_AGENT: &str = "native";
/// How much of a prompt a person is shown in a line.
const SHOWN_CHARS: usize = 2_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskInput {
    description: String,
    prompt: String,
    agent: Option<String>,
    model: Option<String>,
    worktree: Option<bool>,
    background: Option<bool>,
    max_steps: Option<u32>,
    max_tokens: Option<u64>,
    max_seconds: Option<u64>,
}

/// What a model is told of it.
pub(crate) fn spec() -> ToolSpec {
    let text = |description: &str| json!({"type": "string", "description": description});
    let flag = |description: &str| json!({"type": "boolean", "description": description});
    let number = |description: &str| json!({"type": "integer", "minimum": 1, "description": description});
    ToolSpec {
        name: "task".to_owned(),
        description: prompts::TASK.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {
                "description": text("Short description of the task (3-5 words)."),
                "prompt": text("The task, with all the context it needs and what to report back."),
                "agent": text("Agent to use. Default: the agent of this session."),
                "model": text("Model to use. Default: the model of this session."),
                "worktree": flag(
                    "Work in a separate git worktree; merge or drop its changes with task_control. Default: work \
                     in this workspace."
                ),
                "background": flag(
                    "Run in the background: return at once. You are notified when it ends, or can wait for it \
                     with task_control."
                ),
                "max_steps": number("Maximum number of steps."),
                "max_tokens": number("Maximum number of tokens."),
                "max_seconds": number("Timeout in seconds."),
            },
            "required": ["description", "prompt"],
            "additionalProperties": false,
        }),
    }
}

/// What a call will do, for the person who approves it.
pub(crate) fn summary(input: &Value) -> String {
    let text = |name: &str| input[name].as_str().unwrap_or_default();
    let prompt = text("prompt");
    let shown: String = prompt.chars().take(SHOWN_CHARS).collect();
    let more = if shown.len() < prompt.len() { " …" } else { "" };
    let session = match third_party(input) {
        Some(agent) => format!(
            "start a session of the agent {agent}, which runs programs and uses the network without asking here"
        ),
        None => "start a session".to_owned(),
    };
    format!("{session}: {}\n{shown}{more}", text("description"))
}

/// The kind of a call: `exec` where it names a third-party agent, else `read`.
pub(crate) fn kind_of(input: &Value) -> ToolKind {
    if third_party(input).is_some() { ToolKind::Exec } else { ToolKind::Read }
}

/// The agent that is named, unless it is the native one. A name that is no text is refused later, and counts as one here.
fn third_party(input: &Value) -> Option<String> {
    match &input["agent"] {
        Value::Null => None,
        Value::String(name) if name == NATIVE_AGENT => None,
        Value::String(name) => Some(format!("`{name}`")),
        other => Some(other.to_string()),
    }
}

/// Whether the session works in the workspace of this one.
pub(crate) fn shares_workspace(input: &Value) -> bool {
    input["worktree"] != Value::Bool(true)
}

/// Starts the session, or finds it again after a restart, and waits for it unless it was asked not to.
pub(crate) async fn run(turn: &NativeTurn<'_>, call: &ToolCall) -> Result<ToolOutcome, FailedTurn> {
    let input: TaskInput = match parse_input(&call.input) {
        Ok(input) => input,
        Err(why) => return Ok(ToolOutcome::failed(why)),
    };
    let budget =
        Budget { max_steps: input.max_steps, max_tokens: input.max_tokens, max_seconds: input.max_seconds };
    let (worktree, background) = (input.worktree == Some(true), input.background == Some(true));
    let child = NewChild {
        tool_call_id: Some(call.id.clone()),
        subtask: None,
        description: input.description,
        prompt: input.prompt,
        agent: input.agent,
        model: input.model,
        worktree,
        background,
        budget: budget_within(turn.context, turn.spending, budget),
    };
    let session_id = match turn.context.start_child(child).await {
        Ok(session_id) => session_id,
        Err(error) => return refused_outcome("The task was not started", error),
    };
    if background {
        return Ok(background_outcome(session_id, worktree));
    }
    match turn.context.wait_for_child(session_id).await {
        Ok(outcome) => Ok(ended_outcome(session_id, &outcome, worktree)),
        Err(error) => refused_outcome("Cannot wait for the task", error),
    }
}

/// A budget that is no larger than what is left of this session's own.
pub(crate) fn budget_within(context: &TurnContext, spending: &TurnSpending, asked: Budget) -> Budget {
    let least = |one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    };
    let own = context.session.budget.unwrap_or_default();
    let max_steps = least(asked.max_steps.map(u64::from), own.max_steps.map(u64::from));
    Budget {
        max_steps: max_steps.map(|steps| u32::try_from(steps).unwrap_or(u32::MAX)),
        max_tokens: least(asked.max_tokens, spending.tokens_left(context)),
        max_seconds: asked.max_seconds,
    }
}

/// What a model is told of a session that has ended.
pub(crate) fn ended_outcome(session_id: SessionId, outcome: &ChildOutcome, worktree: bool) -> ToolOutcome {
    let ChildOutcome { status, text, error, usage, changed_files } = outcome;
    let answer = match status {
        ChildStatus::Completed if text.trim().is_empty() => "The task ended without an answer.".to_owned(),
        ChildStatus::Completed => text.clone(),
        ChildStatus::Failed => {
            let why = error.as_deref().unwrap_or("unknown error");
            format!("The task failed: {why}{}", prompts::partial_answer(text))
        }
        ChildStatus::Canceled => {
            let why = error.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
            format!("The task was stopped{why}.{}", prompts::partial_answer(text))
        }
    };
    let link = session_link(session_id);
    let tokens = format!("{} tokens read, {} written", usage.input_tokens, usage.output_tokens);
    let merge = match changed_files {
        Some(0) => "\n[It changed no files in its git worktree.]".to_owned(),
        Some(files) => {
            format!("\n[It changed {}.]\n{}", files_in_words(*files), prompts::worktree(session_id))
        }
        None if worktree => format!("\n{}", prompts::worktree(session_id)),
        None => String::new(),
    };
    let told = format!("{answer}\n\n[{link}: {tokens}]{merge}");
    let details = json!({
        "session_id": session_id, "link": link, "status": status, "usage": usage, "worktree": worktree,
        "changed_files": changed_files, "background": false,
    });
    let ok = *status == ChildStatus::Completed;
    ToolOutcome { ok, ..ToolOutcome::done(told, details) }
}

/// So many files, in words.
pub(crate) fn files_in_words(files: u64) -> String {
    if files == 1 { "1 file".to_owned() } else { format!("{files} files") }
}

/// Where a client finds a session.
pub(crate) fn session_link(session_id: SessionId) -> String {
    format!("sessions/{session_id}")
}

/// A request that the rules refused is a result that the model sees; anything else ends the turn.
pub(crate) fn refused_outcome(what: &str, error: ReportError) -> Result<ToolOutcome, FailedTurn> {
    match error {
        ReportError::Refused(refusal) => {
            let hint = refusal.hint.map(|hint| format!(" ({hint})")).unwrap_or_default();
            Ok(ToolOutcome::failed(format!("{what}: {}{hint}", refusal.message)))
        }
        error @ (ReportError::TurnOver | ReportError::NotRecorded(_)) => Err(error.into()),
    }
}

fn background_outcome(session_id: SessionId, worktree: bool) -> ToolOutcome {
    let link = session_link(session_id);
    let merge = if worktree { format!("\n{}", prompts::worktree(session_id)) } else { String::new() };
    let told = prompts::background_task(&link, session_id) + &merge;
    let details = json!({
        "session_id": session_id, "link": link, "status": null, "worktree": worktree, "background": true,
    });
    ToolOutcome::done(told, details)
}

#[cfg(test)]
mod tests {
    use ostler_types::ToolKind;
    use serde_json::{Value, json};

    use super::{TaskInput, kind_of, shares_workspace, spec, summary};
    use crate::loop_tools::parse_input;

    #[test]
    fn every_field_that_a_model_is_told_of_is_understood_and_no_other() {
        let schema = spec().input_schema;
        let mut input = serde_json::Map::new();
        for (name, property) in schema["properties"].as_object().unwrap() {
            let value = match property["type"].as_str().unwrap() {
                "string" => json!("x"),
                "boolean" => json!(true),
                _ => json!(3),
            };
            input.insert(name.clone(), value);
        }
        assert!(parse_input::<TaskInput>(&Value::Object(input.clone())).is_ok());
        input.insert("other".to_owned(), json!(1));
        let told = parse_input::<TaskInput>(&Value::Object(input)).err().unwrap();
        assert!(told.contains("unknown field `other`"), "{told}");
        let told = parse_input::<TaskInput>(&json!({"description": "x"})).err().unwrap();
        assert!(told.contains("missing field `prompt`"), "{told}");
    }

    #[test]
    fn an_agent_that_acts_by_itself_is_asked_about_like_a_program() {
        for input in [json!({}), json!({"agent": null}), json!({"agent": "native"})] {
            assert_eq!(kind_of(&input), ToolKind::Read, "{input}");
        }
        for input in [json!({"agent": "claude"}), json!({"agent": "Native"}), json!({"agent": ["native"]})] {
            assert_eq!(kind_of(&input), ToolKind::Exec, "{input}");
        }
        let shown = summary(&json!({"agent": "claude", "description": "look", "prompt": "p"}));
        assert!(shown.contains("agent `claude`") && shown.contains("without asking here"), "{shown}");
    }

    #[test]
    fn only_a_worktree_keeps_a_session_out_of_the_workspace() {
        for (input, shares) in [
            (json!({}), true),
            (json!({"worktree": false}), true),
            (json!({"worktree": "true"}), true),
            (json!({"worktree": true}), false),
        ] {
            assert_eq!(shares_workspace(&input), shares, "{input}");
        }
    }

    #[test]
    fn a_long_prompt_is_cut_for_people() {
        let told = summary(&json!({"description": "look", "prompt": "é".repeat(5_000)}));
        assert!(told.starts_with("start a session: look\né") && told.ends_with(" …"), "{}", told.len());
    }
}
