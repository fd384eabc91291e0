//! The tool `skill`: reads the text of a skill whose name the model knows from the list. It is of kind
//! `read`; whatever the text asks for goes through tools and approvals like anything else.

use ostler_agent::Failed;
use ostler_tools::ToolOutcome;
use ostler_types::{ToolCall, ToolSpec};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::own::parse;
use crate::turn::Turn;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillInput {
    name: String,
}

/// What a model is told of it.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: "skill".to_owned(),
        description:
            "Reads a skill: instructions that somebody wrote for a kind of work. The skills that there are \
                      have been listed with what each is for."
                .to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {"name": {"type": "string", "description": "The skill's name, as it was listed."}},
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
pub(crate) async fn run(turn: &Turn<'_>, call: &ToolCall) -> Result<ToolOutcome, Failed> {
    let SkillInput { name } = match parse(&call.input) {
        Ok(input) => input,
        Err(why) => return Ok(ToolOutcome::failed(why)),
    };
    let (skills, wanted) = (turn.skills.clone(), name.clone());
    let read = tokio::task::spawn_blocking(move || skills.load(&wanted)).await;
    Ok(match read {
        Ok(Ok(text)) => ToolOutcome::done(text, json!({"skill": name})),
        Ok(Err(error)) => ToolOutcome::failed(error.to_string()),
        Err(_) => ToolOutcome::failed(format!("The skill {name} could not be read.")),
    })
}
