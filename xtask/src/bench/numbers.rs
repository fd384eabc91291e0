//! Reads the files that `ostler-bench --json` writes. Strict: an unknown format or a malformed number is an error.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

/// The version of the files that is understood.
const FORMAT: u64 = 1;

/// The numbers of one run, by name.
#[derive(Debug)]
pub(super) struct RunNumbers(pub(super) BTreeMap<String, RunNumber>);

/// One of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunNumber {
    pub(super) value: f64,
    pub(super) unit: String,
    pub(super) is_lower_better: bool,
}

impl RunNumbers {
    pub(super) fn read(file: &Path) -> Result<RunNumbers, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        RunNumbers::parse(&text).map_err(|error| format!("{}: {error}", file.display()))
    }

    pub(super) fn parse(text: &str) -> Result<RunNumbers, String> {
        let document: Value =
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
        if document["format"] != FORMAT {
            return Err(format!("its format is {}, and {FORMAT} is understood", document["format"]));
        }
        let mut numbers = BTreeMap::new();
        for number in document["numbers"].as_array().ok_or("it has no list of numbers")? {
            let (name, number) = parse_number(number).ok_or_else(|| format!("{number} is not understood"))?;
            if numbers.insert(name.clone(), number).is_some() {
                return Err(format!("`{name}` is there twice"));
            }
        }
        Ok(RunNumbers(numbers))
    }
}

fn parse_number(number: &Value) -> Option<(String, RunNumber)> {
    let is_lower_better = match number["better"].as_str()? {
        "lower" => true,
        "higher" => false,
        _ => return None,
    };
    let unit = number["unit"].as_str()?.to_owned();
    let value = number["value"].as_f64().filter(|value| *value >= 0.0)?;
    Some((number["name"].as_str()?.to_owned(), RunNumber { value, unit, is_lower_better }))
}

#[cfg(test)]
mod tests {
    use super::{RunNumber, RunNumbers};

    #[test]
    fn what_the_bench_writes_is_read() {
        let text = r#"{"format": 1, "load": "0.5", "numbers": [
            {"name": "start.empty", "value": 12.5, "unit": "ms", "better": "lower"},
            {"name": "x.delivered", "value": 99, "unit": "%", "better": "higher"}]}"#;
        let RunNumbers(numbers) = RunNumbers::parse(text).unwrap();
        assert_eq!(
            numbers["start.empty"],
            RunNumber { value: 12.5, unit: "ms".to_owned(), is_lower_better: true }
        );
        assert!(!numbers["x.delivered"].is_lower_better);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for text in [
            "",
            "{}",
            r#"{"format": 2, "numbers": []}"#,
            r#"{"format": 1}"#,
            r#"{"format": 1, "numbers": [{"name": "a", "value": 1, "unit": "ms", "better": "other"}]}"#,
            r#"{"format": 1, "numbers": [{"name": "a", "value": -1, "unit": "ms", "better": "lower"}]}"#,
            r#"{"format": 1, "numbers": [{"name": "a", "value": 1, "unit": "", "better": "lower"},
                {"name": "a", "value": 1, "unit": "", "better": "lower"}]}"#,
        ] {
            RunNumbers::parse(text).unwrap_err();
        }
    }
}
