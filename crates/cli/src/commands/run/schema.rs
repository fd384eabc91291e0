//! Answers that are to fit a JSON Schema: what the model is told of it, and whether what it said fits. Leaves asking
//! again to `run`.

use std::error::Error;
use std::path::Path;

use anyhow::{Context, anyhow};
use boon::{Compiler, SchemaIndex, Schemas, UrlLoader};
use serde_json::Value;

/// Where the schema seems to lie; it has to lie somewhere.
const SCHEMA_URL: &str = "https://schema.invalid/answer.json";
/// Bytes of a schema, at most: all of it is told to the model.
const MAX_SCHEMA: usize = 256 << 10;
/// Characters of what is wrong that the model is told.
const MAX_PROBLEMS: usize = 2000;

/// A schema that answers are to fit.
pub(super) struct AnswerSchema {
    text: String,
    schemas: Schemas,
    index: SchemaIndex,
}

impl AnswerSchema {
    /// Reads a schema, and refuses what is none.
    pub(super) fn read(path: &Path) -> anyhow::Result<AnswerSchema> {
        let shown = path.display();
        let text = std::fs::read_to_string(path).with_context(|| format!("{shown} cannot be read"))?;
        anyhow::ensure!(
            text.len() <= MAX_SCHEMA,
            "{shown} is larger than {} KiB; a model cannot be told all of it",
            MAX_SCHEMA >> 10
        );
        AnswerSchema::parse(&text).map_err(|why| anyhow!("{shown} is no JSON Schema: {why}"))
    }

    fn parse(text: &str) -> Result<AnswerSchema, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        let text = value.to_string();
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.use_loader(Box::new(NoRemoteSchemas));
        let told = |error: boon::CompileError| {
            format!("{error:#}").replace(&format!("{SCHEMA_URL}#"), "it").replace(SCHEMA_URL, "it")
        };
        compiler.add_resource(SCHEMA_URL, value).map_err(told)?;
        let index = compiler.compile(SCHEMA_URL, &mut schemas).map_err(told)?;
        Ok(AnswerSchema { text, schemas, index })
    }

    /// What the model is told along with the prompt.
    pub(super) fn prompt_text(&self) -> String {
        format!(
            "When you are done, let your last message be one JSON value that fits the JSON Schema below, and nothing \
             else: no words before or after it, and no code fence.\n\n{}",
            self.text
        )
    }

    /// What the model is told when its answer does not fit.
    pub(super) fn retry_prompt(&self, problems: &str) -> String {
        format!(
            "Your last message does not fit the JSON Schema that was asked for:\n\n{problems}\n\nSay it again as one \
             JSON value that fits, and nothing else."
        )
    }

    /// The value in an answer, if it fits; else what is wrong with it.
    pub(super) fn check(&self, answer: &str) -> Result<Value, String> {
        let value = json_value(answer)?;
        match self.schemas.validate(&value, self.index) {
            Ok(()) => Ok(value),
            // The first line only names the place of the schema, which is none.
            Err(error) => {
                let text = error.to_string();
                let problems: Vec<&str> = text.lines().skip(1).map(str::trim).collect();
                Err(problems.join("\n").chars().take(MAX_PROBLEMS).collect())
            }
        }
    }
}

/// The JSON in an answer: all of it, or what stands in its last code fence.
fn json_value(answer: &str) -> Result<Value, String> {
    let parsed = serde_json::from_str(answer.trim());
    let error = match parsed {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    let fenced = fenced(answer).and_then(|text| serde_json::from_str(text).ok());
    fenced.ok_or_else(|| match answer.trim() {
        "" => "it is empty".to_owned(),
        _ => format!("it is not JSON: {error}"),
    })
}

fn fenced(answer: &str) -> Option<&str> {
    let (before, _) = answer.rsplit_once("```")?;
    let (_, block) = before.rsplit_once("```")?;
    let (language, body) = block.split_once('\n')?;
    matches!(language.trim(), "" | "json" | "JSON").then(|| body.trim())
}

/// A schema is all in one file: nothing is fetched for it, from the disk or elsewhere.
struct NoRemoteSchemas;

impl UrlLoader for NoRemoteSchemas {
    fn load(&self, url: &str) -> Result<Value, Box<dyn Error>> {
        Err(format!("it refers to {url}; put that under $defs of the same file").into())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::AnswerSchema;

    const TEXT: &str = r##"{"type": "object", "required": ["name", "tags"], "additionalProperties": false,
        "properties": {"name": {"type": "string"}, "tags": {"type": "array", "items": {"$ref": "#/$defs/tag"}}},
        "$defs": {"tag": {"enum": ["a", "b"]}}}"##;

    #[test]
    fn an_answer_fits_bare_or_in_a_fence_and_else_says_where_not() {
        let schema = AnswerSchema::parse(TEXT).unwrap();
        let good = json!({"name": "x", "tags": ["a", "b"]});
        for answer in [
            good.to_string(),
            format!("\n {good:#}\n"),
            format!("Here it is:\n```json\n{good:#}\n```\nAnything else?"),
            format!("```\n{good}\n```"),
        ] {
            assert_eq!(schema.check(&answer), Ok(good.clone()), "{answer}");
        }
        for (answer, problem) in [
            ("", "it is empty"),
            ("certainly!", "it is not JSON"),
            ("{\"name\": \"x\"", "it is not JSON"),
            (r#"{"name": 7, "tags": []}"#, "at '/name': want string, but got number"),
            (r#"{"name": "x", "tags": ["c"]}"#, "at '/tags/0': value must be one of"),
            (r#"{"name": "x", "tags": [], "more": 1}"#, "additionalProperties 'more' not allowed"),
            (r#"{"tags": []}"#, "missing properties 'name'"),
        ] {
            let why = schema.check(answer).unwrap_err();
            assert!(why.contains(problem) && !why.contains("schema.invalid"), "{answer}: {why}");
        }
    }

    #[test]
    fn what_is_no_schema_is_told_and_nothing_is_fetched() {
        for (text, problem) in [
            ("{", "it is not JSON"),
            (r#"{"type": "txt"}"#, "at '/type': value must be one of 'array'"),
            (r#"{"$ref": "file:///etc/passwd"}"#, "put that under $defs"),
            (r#"{"$ref": "https://example.com/x"}"#, "put that under $defs"),
        ] {
            let why = AnswerSchema::parse(text).err().unwrap();
            assert!(why.contains(problem) && !why.contains("schema.invalid"), "{text}: {why}");
        }
    }
}
