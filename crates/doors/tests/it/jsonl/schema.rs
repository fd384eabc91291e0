//! As much of JSON Schema as the schemas of this repository use; whatever else they come to use fails here.

use serde_json::Value;

/// Why a value does not fit a definition of the document; `Ok` when it does.
pub(crate) fn check(document: &Value, definition: &str, value: &Value) -> Result<(), String> {
    fits(document, &document["$defs"][definition], value, definition)
}

fn fits(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    match schema {
        Value::Bool(true) => Ok(()),
        Value::Object(members) => members
            .iter()
            .try_for_each(|(keyword, wanted)| obeys(document, schema, (keyword, wanted), value, at)),
        other => Err(format!("{at}: {other} fits nothing")),
    }
}

/// Whether a value is as one keyword of a schema wants it.
fn obeys(
    document: &Value,
    schema: &Value,
    (keyword, wanted): (&str, &Value),
    value: &Value,
    at: &str,
) -> Result<(), String> {
    let all = |schemas: &Value| schemas.as_array().unwrap().clone();
    match keyword {
        "$ref" => {
            let name =
                wanted.as_str().and_then(|name| name.strip_prefix("#/$defs/")).expect("a local reference");
            fits(document, &document["$defs"][name], value, name)
        }
        "type" => {
            let is = |kind: &Value| is_kind(kind.as_str().unwrap(), value);
            let fits = wanted.as_array().map_or_else(|| is(wanted), |kinds| kinds.iter().any(is));
            if fits { Ok(()) } else { Err(format!("{at}: {value} is not {wanted}")) }
        }
        "const" if wanted != value => Err(format!("{at}: {value} is not {wanted}")),
        "enum" if !all(wanted).contains(value) => Err(format!("{at}: {value} is none of {wanted}")),
        "required" => {
            let missing = |name: &Value| value.is_object() && value.get(name.as_str().unwrap()).is_none();
            match all(wanted).into_iter().find(missing) {
                Some(name) => Err(format!("{at}: {name} is missing in {value}")),
                None => Ok(()),
            }
        }
        "properties" => {
            wanted.as_object().unwrap().iter().try_for_each(|(name, schema)| match value.get(name) {
                Some(member) => fits(document, schema, member, &format!("{at}.{name}")),
                None => Ok(()),
            })
        }
        "items" => {
            let after = schema.get("prefixItems").map_or(0, |first| first.as_array().unwrap().len());
            let mut members = value.as_array().into_iter().flatten().skip(after);
            members.try_for_each(|member| fits(document, wanted, member, &format!("{at}[]")))
        }
        "prefixItems" => {
            let schemas = all(wanted);
            let mut pairs = schemas.iter().zip(value.as_array().into_iter().flatten());
            pairs.try_for_each(|(schema, member)| fits(document, schema, member, &format!("{at}[]")))
        }
        "minItems" | "maxItems" => count(keyword, wanted, value, at),
        "anyOf" | "oneOf" => alternatives(document, keyword, &all(wanted), value, at),
        "allOf" => all(wanted).iter().try_for_each(|schema| fits(document, schema, value, at)),
        "pattern" => check_id(wanted.as_str().unwrap(), value, at),
        "const" | "enum" | "description" | "title" | "format" | "default" | "minimum" => Ok(()),
        other => panic!("{at}: the schema says `{other}`, which is not understood here"),
    }
}

fn count(keyword: &str, wanted: &Value, value: &Value, at: &str) -> Result<(), String> {
    let Some(count) = value.as_array().map(|members| members.len() as u64) else { return Ok(()) };
    let limit = wanted.as_u64().unwrap();
    let fits = if keyword == "minItems" { count >= limit } else { count <= limit };
    if fits { Ok(()) } else { Err(format!("{at}: {count} members")) }
}

fn alternatives(
    document: &Value,
    keyword: &str,
    schemas: &[Value],
    value: &Value,
    at: &str,
) -> Result<(), String> {
    let tries: Vec<_> = schemas.iter().map(|schema| fits(document, schema, value, at)).collect();
    let count = tries.iter().filter(|fits| fits.is_ok()).count();
    if count == 1 || count > 1 && keyword == "anyOf" {
        return Ok(());
    }
    let errors: Vec<String> = tries.into_iter().filter_map(Result::err).collect();
    Err(format!("{at}: {count} alternatives fit {value}: {errors:#?}"))
}

/// Patterns are those of ids.
fn check_id(pattern: &str, value: &Value, at: &str) -> Result<(), String> {
    let prefix = pattern
        .strip_prefix('^')
        .and_then(|rest| rest.strip_suffix("[0-9a-f]{32}$"))
        .expect("an id's pattern");
    let digits = value.as_str().and_then(|text| text.strip_prefix(prefix));
    let fits =
        digits.is_some_and(|digits| digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
    if fits || !value.is_string() { Ok(()) } else { Err(format!("{at}: {value} is not {pattern}")) }
}

fn is_kind(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type is called {other}"),
    }
}
