//! Plans in files: work to be divided among sessions, in JSON or TOML.

use std::path::Path;

use anyhow::{Context, anyhow};
use ostler_types::Plan;

/// Reads a plan, and refuses one that cannot be carried out.
pub(super) fn read(path: &Path) -> anyhow::Result<Plan> {
    let text = std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))?;
    let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"))
        || text.trim_start().starts_with('{');
    let plan: Plan = if is_json {
        serde_json::from_str(&text).with_context(|| format!("{} is no plan in JSON", path.display()))?
    } else {
        toml::from_str(&text).with_context(|| format!("{} is no plan in TOML", path.display()))?
    };
    plan.check().map_err(|why| anyhow!("{}: {why}", path.display()))?;
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn a_plan_is_the_same_in_either_form_and_a_bad_one_says_why() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::write(&path, text).unwrap();
            read(&path)
        };
        let json = put(
            "a.json",
            r#"{"subtasks":[{"id":"a","prompt":"one","worktree":true},
            {"id":"b","prompt":"two","depends_on":["a"],"budget":{"max_steps":3}}],"concurrency":2}"#,
        );
        let toml = put(
            "a.toml",
            "concurrency = 2\n[[subtasks]]\nid = \"a\"\nprompt = \"one\"\nworktree = true\n\
            [[subtasks]]\nid = \"b\"\nprompt = \"two\"\ndepends_on = [\"a\"]\nbudget = { max_steps = 3 }\n",
        );
        assert_eq!(json.unwrap(), toml.unwrap());
        for (name, text, expected) in [
            ("empty.toml", "", "no plan in TOML"),
            ("none.json", "{\"subtasks\":[]}", "between 1 and"),
            ("misspelt.toml", "[[subtasks]]\nid = \"a\"\npromt = \"x\"\n", "promt"),
            (
                "circle.toml",
                "[[subtasks]]\nid = \"a\"\nprompt = \"x\"\ndepends_on = [\"a\"]\n",
                "waits for itself",
            ),
        ] {
            let error = format!("{:#}", put(name, text).unwrap_err());
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
