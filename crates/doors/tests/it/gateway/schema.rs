//! Checks values against a JSON Schema, as far as ours uses the language. What it does not know is a failure, so that
//! nothing passes unseen.

use serde_json::Value;

/// Checks a value against a definition of the gateway's schema.
pub(crate) fn check(definition: &str, value: &Value) -> Result<(), String> {
    let schema = ostler_doors::gateway::schema();
    matches(&schema, &schema["$defs"][definition], value).map_err(|why| format!("{why} in {value}"))
}

fn matches(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let Some(rules) = schema.as_object() else {
        return if schema == &Value::Bool(true) { Ok(()) } else { Err(format!("no schema: {schema}")) };
    };
    for (rule, wanted) in rules {
        let holds = match rule.as_str() {
            "$ref" => {
                let pointer = wanted.as_str().unwrap().trim_start_matches('#');
                matches(root, root.pointer(pointer).ok_or("a dead reference")?, value)?;
                true
            }
            "type" => is_of_type(wanted, value),
            "const" => wanted == value,
            "enum" => wanted.as_array().unwrap().contains(value),
            "required" => {
                wanted.as_array().unwrap().iter().all(|name| value.get(name.as_str().unwrap()).is_some())
            }
            "properties" => {
                for (name, schema) in wanted.as_object().unwrap() {
                    if let Some(member) = value.get(name) {
                        matches(root, schema, member).map_err(|why| format!("{name}: {why}"))?;
                    }
                }
                true
            }
            "items" => {
                for item in value.as_array().into_iter().flatten() {
                    matches(root, wanted, item)?;
                }
                true
            }
            "oneOf" | "anyOf" => {
                let fits =
                    wanted.as_array().unwrap().iter().filter(|one| matches(root, one, value).is_ok()).count();
                if rule == "oneOf" { fits == 1 } else { fits >= 1 }
            }
            "allOf" => wanted.as_array().unwrap().iter().all(|one| matches(root, one, value).is_ok()),
            "minLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 >= wanted.as_u64().unwrap())
            }
            "maxLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 <= wanted.as_u64().unwrap())
            }
            "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().unwrap()),
            "format" if wanted == "uuid" => value.as_str().is_none_or(|text| text.len() == 36),
            "format" | "title" | "description" | "default" | "examples" => true,
            unknown => return Err(format!("the rule `{unknown}` is not known here")),
        };
        if !holds {
            return Err(format!("`{rule}` {wanted} does not hold"));
        }
    }
    Ok(())
}

fn is_of_type(wanted: &Value, value: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "number" => value.is_number(),
        "integer" => value.is_u64() || value.is_i64(),
        unknown => panic!("the type `{unknown}` is not known here"),
    };
    wanted.as_array().map_or_else(|| is(wanted), |names| names.iter().any(is))
}
