//! What came with this program about models: from a provider and a name to a row of facts.
//!
//! Names vary by date, by vendor and by quantisation, so a row is also found by the beginning of a name;
//! a price is then no longer given, since a guess at money is worse than none. What servers and users
//! say is stronger, and laid over this by others.

mod table;

use ostler_types::{Ability, Prices};

use crate::profile::ThinkingControl;

/// What is known of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct CatalogueRow {
    /// Its name at its provider, in lower case.
    pub(crate) id: &'static str,
    pub(crate) context_window: u64,
    /// 0 where nobody says.
    pub(crate) max_output_tokens: u64,
    pub(crate) prices: Option<Prices>,
    pub(crate) abilities: &'static [Ability],
    pub(crate) thinking: ThinkingControl,
}

/// The rows of a preset, the one that is taken by default first.
pub(crate) fn rows(preset: &str) -> &'static [CatalogueRow] {
    match preset {
        "anthropic" => table::ANTHROPIC,
        "openai" => table::OPENAI,
        "gemini" => table::GEMINI,
        "xai" => table::XAI,
        "mistral" => table::MISTRAL,
        "deepseek" => table::DEEPSEEK,
        "groq" => table::GROQ,
        "openrouter" => table::OPENROUTER,
        _ => &[],
    }
}

/// The row for a model. Prices hold only where the provider is the one that asks them.
pub(crate) fn find_row(preset: Option<&str>, id: &str) -> Option<CatalogueRow> {
    let id = id.to_ascii_lowercase();
    // Google's list puts this before every name, and takes names with and without it.
    let id = id.strip_prefix("models/").unwrap_or(&id);
    let own = preset.map(rows).and_then(|rows| find_in_rows(rows, id));
    own.or_else(|| find_in_other_presets(id).map(|row| CatalogueRow { prices: None, ..row }))
}

/// A model that another provider sells, or that anybody can run. How it is told to think depends on who
/// serves it, unless it was never taught to.
fn find_in_other_presets(id: &str) -> Option<CatalogueRow> {
    let bare = id.rsplit('/').next().unwrap_or(id);
    let makers =
        [table::ANTHROPIC, table::OPENAI, table::GEMINI, table::XAI, table::MISTRAL, table::DEEPSEEK];
    let made = makers.iter().find_map(|rows| find_in_rows(rows, bare));
    // Routers write a version with a dot where Anthropic has a hyphen.
    let made = made.or_else(|| find_in_rows(table::ANTHROPIC, &bare.replace('.', "-")));
    made.or_else(|| find_open_model(bare))
}

fn find_in_rows(rows: &[CatalogueRow], id: &str) -> Option<CatalogueRow> {
    let exact = |id: &str| rows.iter().find(|row| row.id == id).copied();
    exact(id).or_else(|| exact(without_date(id)?)).or_else(|| {
        let known = rows.iter().filter(|row| is_name_prefix(id, row.id)).max_by_key(|row| row.id.len())?;
        Some(CatalogueRow { prices: None, ..*known })
    })
}

/// A name without the date at its end, if it has one: `-20250929`, `-2024-08-06`, `-latest`.
fn without_date(id: &str) -> Option<&str> {
    let ends_so = |shape: &str| {
        let (name, end) = id.split_at_checked(id.len().checked_sub(shape.len())?)?;
        let fits = |(c, shape): (char, char)| if shape == '0' { c.is_ascii_digit() } else { c == shape };
        (!name.is_empty() && end.chars().zip(shape.chars()).all(fits)).then_some(name)
    };
    ["-latest", "-00000000", "-0000-00-00"].into_iter().find_map(ends_so)
}

/// Whether a name begins with a known one, at the end of a word. A dot is none: it goes on with a version.
fn is_name_prefix(id: &str, known: &str) -> bool {
    id.strip_prefix(known).is_some_and(|rest| rest.starts_with(['-', ':', '@', '_', '/']))
}

/// Open models go by many spellings: `qwen3-coder:30b`, `Qwen3-Coder-30B-A3B-Instruct-GGUF`.
fn find_open_model(id: &str) -> Option<CatalogueRow> {
    let id = normalized_name(id);
    let id = id.strip_prefix("meta").unwrap_or(&id);
    let known = table::OPEN.iter().filter(|row| id.starts_with(&normalized_name(row.id)));
    known.max_by_key(|row| row.id.len()).copied()
}

fn normalized_name(id: &str) -> String {
    id.chars().filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use ostler_types::Ability;

    use super::{CatalogueRow, find_row, rows, table, without_date};
    use crate::PRESETS;

    fn id(preset: Option<&str>, name: &str) -> Option<&'static str> {
        find_row(preset, name).map(|row| row.id)
    }

    #[test]
    fn names_are_found_exactly_then_undated_then_by_their_beginning() {
        for (preset, name, known, priced) in [
            (Some("anthropic"), "claude-sonnet-5", "claude-sonnet-5", true),
            (Some("anthropic"), "Claude-Sonnet-5", "claude-sonnet-5", true),
            (Some("anthropic"), "claude-sonnet-4-5-20250929", "claude-sonnet-4-5", true),
            (Some("anthropic"), "claude-opus-4-20250514", "claude-opus-4", true),
            (Some("openai"), "gpt-4o-2024-08-06", "gpt-4o", true),
            (Some("openai"), "gpt-5-pro", "gpt-5-pro", true),
            (Some("openai"), "gpt-5-codex-next", "gpt-5-codex", false),
            (Some("gemini"), "models/gemini-2.5-pro", "gemini-2.5-pro", true),
            (Some("groq"), "openai/gpt-oss-20b", "openai/gpt-oss-20b", true),
            (Some("openrouter"), "qwen/qwen3-coder:free", "qwen/qwen3-coder", false),
            (Some("openrouter"), "anthropic/claude-opus-4.5", "claude-opus-4-5", false),
            (None, "claude-sonnet-5", "claude-sonnet-5", false),
            (None, "llama3.1:8b", "llama-3.1", false),
            (None, "Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf", "llama-3.1", false),
            (None, "qwen3-coder:30b", "qwen3-coder", false),
            (None, "qwen3:8b", "qwen3", false),
            (None, "hf.co/bartowski/SmolLM2-135M-Instruct.Q4_1.gguf", "smollm2", false),
            (None, "gpt-oss:20b", "gpt-oss", false),
        ] {
            let row = find_row(preset, name).unwrap_or_else(|| panic!("{name} is not found"));
            assert_eq!((row.id, row.prices.is_some()), (known, priced), "{name}");
        }
    }

    #[test]
    fn a_newer_version_is_not_taken_for_an_older_one() {
        for name in ["gpt-5.9", "claude-opus-9", "gpt-50", "o300", "gemini-9-pro", "nobody-knows"] {
            assert_eq!(id(Some("openai"), name), None, "{name}");
        }
    }

    #[test]
    fn dates_are_told_from_versions() {
        for (name, rest) in [
            ("claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5")),
            ("gpt-4o-2024-08-06", Some("gpt-4o")),
            ("codestral-latest", Some("codestral")),
            ("claude-sonnet-4-5", None),
            ("mistral-large-2512", None),
            ("12345678", None),
            ("", None),
            ("é-20250929", Some("é")),
        ] {
            assert_eq!(without_date(name), rest, "{name}");
        }
    }

    #[test]
    fn every_row_makes_sense() {
        let all: Vec<(&str, &[CatalogueRow])> =
            PRESETS.iter().map(|preset| (preset.name, rows(preset.name))).collect();
        for (shop, rows) in all.into_iter().chain([("open", table::OPEN)]) {
            for (place, row) in rows.iter().enumerate() {
                assert_eq!(row.id, row.id.to_ascii_lowercase());
                assert!(rows[..place].iter().all(|earlier| earlier.id != row.id), "{shop}: {} twice", row.id);
                assert!(
                    row.context_window >= 8_192 && row.max_output_tokens <= row.context_window,
                    "{}",
                    row.id
                );
                assert_eq!(row.prices.is_some(), shop != "open", "{shop}: {}", row.id);
                let Some(prices) = row.prices else { continue };
                assert!(0.0 < prices.input && prices.input <= prices.output, "{}", row.id);
                assert!(prices.cached.is_none_or(|cached| cached < prices.input), "{}", row.id);
                assert_eq!(prices.cached.is_some(), row.abilities.contains(&Ability::Caching), "{}", row.id);
            }
        }
    }
}
