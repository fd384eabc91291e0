//! What a model gives a tool: the schema made from the Rust type, and the check against it.
//!
//! The check reads the schema that the model was shown, so the two cannot differ. It knows what the
//! built-in tools use (flat objects of strings, numbers and booleans) and leaves the rest to serde.

use ostler_types::Subject;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Failed;
use crate::text::cut;

/// The JSON schema of an input, without what a model has no use for.
pub(crate) fn schema<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(root) = schema.as_object_mut() {
        root.remove("title");
        root.remove("description");
        root.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        root.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().filter_map(Value::as_object_mut).for_each(simplify);
    }
    schema
}

/// What a call acts on where one argument says it all.
pub(crate) fn argument(input: &Value, name: &str) -> Subject {
    let text = input.get(name).and_then(Value::as_str);
    text.map_or(Subject::Input, |text| Subject::Argument(text.to_owned()))
}

/// Checks an input and reads it. The error names the field and what was expected.
pub(crate) fn parse<T: JsonSchema + DeserializeOwned>(input: Value) -> Result<T, Failed> {
    let input = if input.is_null() { Value::Object(Map::new()) } else { input };
    check(&schema::<T>(), &input).map_err(|problem| {
        Failed::new(format!("Invalid input: {problem}. Correct it and call the tool again."))
    })?;
    serde_json::from_value(input)
        .map_err(|error| Failed::new(format!("Invalid input: {error}. Correct it and call the tool again.")))
}

/// Drops the formats of Rust's integers, which are none of JSON schema's, and the `null` of optional
/// fields, which may simply be left out.
fn simplify(property: &mut Map<String, Value>) {
    property.remove("format");
    property.remove("default");
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
}

fn check(schema: &Value, input: &Value) -> Result<(), String> {
    let Some(input) = input.as_object() else {
        return Err(format!("it must be an object, but was {}", show(input)));
    };
    let no_properties = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&no_properties);
    if let Some(name) = input.keys().find(|name| !properties.contains_key(*name)) {
        let known: Vec<String> = properties.keys().map(|known| format!("`{known}`")).collect();
        return Err(format!("unknown field `{}`; the fields are {}", cut(name, 100).0, known.join(", ")));
    }
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    for (name, property) in properties {
        let is_required = required.contains(&name.as_str());
        match input.get(name) {
            None if is_required => {
                return Err(format!("`{name}` is missing; it must be {}", expected(property)));
            }
            Some(Value::Null) if is_required => {
                return Err(format!("`{name}` is null; it must be {}", expected(property)));
            }
            None | Some(Value::Null) => {}
            Some(value) if fits(property, value) => {}
            Some(value) => {
                return Err(format!("`{name}` must be {}, but was {}", expected(property), show(value)));
            }
        }
    }
    Ok(())
}

fn fits(property: &Value, value: &Value) -> bool {
    let bound = |name: &str| property.get(name).and_then(Value::as_u64);
    match property.get("type").and_then(Value::as_str) {
        Some("string") => {
            value.as_str().is_some_and(|text| bound("minLength").is_none_or(|min| text.len() as u64 >= min))
        }
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.as_u64().is_some_and(|number| {
            bound("minimum").is_none_or(|min| number >= min)
                && bound("maximum").is_none_or(|max| number <= max)
        }),
        Some(_) | None => true,
    }
}

fn expected(property: &Value) -> String {
    let bound = |name: &str| property.get(name).and_then(Value::as_u64);
    match property.get("type").and_then(Value::as_str) {
        Some("string") if bound("minLength").is_some() => "a non-empty string".to_owned(),
        Some("string") => "a string".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("integer") => match (bound("minimum").unwrap_or(0), bound("maximum")) {
            (min, Some(max)) => format!("an integer from {min} to {max}"),
            (min, None) => format!("an integer of at least {min}"),
        },
        Some(other) => format!("of type {other}"),
        None => "valid by the schema".to_owned(),
    }
}

fn show(value: &Value) -> String {
    let json = value.to_string();
    match cut(&json, 100) {
        (_, 0) => json,
        (start, _) => format!("{start}…"),
    }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::{parse, schema};

    /// Words for people, not for the model.
    #[derive(Debug, PartialEq, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Sample {
        /// The path.
        #[schemars(length(min = 1))]
        path: String,
        /// The line.
        #[schemars(range(min = 1, max = 9))]
        line: Option<u32>,
        /// The flag.
        #[serde(default)]
        flag: bool,
    }

    #[test]
    fn the_schema_says_only_what_a_model_needs() {
        assert_eq!(
            schema::<Sample>(),
            json!({
                "type": "object",
                "properties": {
                    "path": {"description": "The path.", "type": "string", "minLength": 1},
                    "line": {"description": "The line.", "type": "integer", "minimum": 1, "maximum": 9},
                    "flag": {"description": "The flag.", "type": "boolean"},
                },
                "required": ["path"],
                "additionalProperties": false,
            })
        );
    }

    #[test]
    fn a_good_input_is_read() {
        let sample = parse::<Sample>(json!({"path": "a", "line": null})).unwrap();
        assert_eq!(sample, Sample { path: "a".to_owned(), line: None, flag: false });
    }

    #[test]
    fn a_bad_input_is_told_the_field_and_what_was_expected() {
        let table: [(Value, &str); 9] = [
            (json!({}), "`path` is missing; it must be a non-empty string"),
            (json!(null), "`path` is missing"),
            (json!({"path": null}), "`path` is null"),
            (json!({"path": ""}), "`path` must be a non-empty string, but was \"\""),
            (json!({"path": 7}), "but was 7"),
            (json!({"path": "a", "line": "ten"}), "`line` must be an integer from 1 to 9, but was \"ten\""),
            (json!({"path": "a", "line": 10}), "`line` must be an integer from 1 to 9, but was 10"),
            (
                json!({"path": "a", "lines": 1}),
                "unknown field `lines`; the fields are `path`, `line`, `flag`",
            ),
            (json!(["a"]), "it must be an object, but was [\"a\"]"),
        ];
        for (input, expected) in table {
            let failed = parse::<Sample>(input.clone()).unwrap_err();
            assert!(failed.0.contains(expected), "{input}: {}", failed.0);
        }
    }
}
