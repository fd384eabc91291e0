//! The tool `skill`: reads the text of a skill whose name the model knows from the list. It is of kind
//! `read`; whatever the text asks for goes through tools and approvals like anything else.

use ostler_agent::FailedTurn;
use ostler_runner::ToolOutcome;
use ostler_types::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::loop_tools::parse_input;
use crate::prompts;
use crate::turn::NativeTurn;
use crate::workspace_context::skills_request;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillInput {
    name: String,
}

/// What a model is told of it.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: "skill".to_owned(),
        description: prompts::SKILL.to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {"name": {"type": "string", "description": "Name of the skill, as listed."}},
            "required": ["name"],
            "additionalProperties": false,
        }),
    }
}

/// What a call will do, for the person who approves it.
pub(crate) fn summary(input: &Value) -> String {
    format!("read the skill {}", input["name"].as_str().unwrap_or_default())
}

/// Reads it.
pub(crate) async fn run(turn: &NativeTurn<'_>, call: &ToolCall) -> Result<ToolOutcome, FailedTurn> {
    let SkillInput { name } = match parse_input(&call.input) {
        Ok(input) => input,
        Err(why) => return Ok(ToolOutcome::failed(why)),
    };
    let read = turn.agent.runner.context().read_skill(skills_request(turn.context), name.clone()).await;
    Ok(match read {
        Ok(text) => ToolOutcome::done(text, json!({"skill": name})),
        Err(why) => ToolOutcome::failed(why),
    })
}
