//! Our words for how much to think, in the words and numbers of the providers.

use ostler_types::Effort;

/// The least that Anthropic takes as a budget.
const MIN_BUDGET: u64 = 1024;

/// The word for most servers. Few know more than three degrees.
pub(crate) fn plain_word(effort: Effort) -> &'static str {
    match effort {
        Effort::None => "none",
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::Max => "high",
    }
}

/// The word for OpenRouter, which brings it down to what a model has.
pub(crate) fn openrouter_word(effort: Effort) -> &'static str {
    match effort {
        Effort::Max => "xhigh",
        Effort::None | Effort::Low | Effort::Medium | Effort::High => plain_word(effort),
    }
}

/// The word for Anthropic. Thinking cannot be switched off at all of its models, so that none is as
/// little as there is.
pub(crate) fn anthropic_word(effort: Effort) -> &'static str {
    match effort {
        Effort::None | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => "max",
    }
}

/// The word for a model of OpenAI's. The ends of the scale came one after the other, and a model refuses
/// those that it has not.
pub(crate) fn openai_word(model: &str, effort: Effort) -> &'static str {
    let scale = EffortScale::for_model(model);
    match effort {
        Effort::None => scale.least,
        Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max => scale.most,
    }
}

/// The ends of a model's scale.
struct EffortScale {
    least: &'static str,
    most: &'static str,
}

impl EffortScale {
    fn for_model(model: &str) -> EffortScale {
        let name = model.rsplit('/').next().unwrap_or(model);
        let codex = name.contains("codex");
        let Some(version) = name.strip_prefix("gpt-") else {
            // The o series, and names that say nothing.
            return EffortScale { least: "low", most: "high" };
        };
        let digits = version.split(|c: char| !c.is_ascii_digit() && c != '.').next().unwrap_or_default();
        let (major, minor) = digits.split_once('.').unwrap_or((digits, "0"));
        let Ok(major) = major.parse::<u32>() else {
            return EffortScale { least: "low", most: "high" };
        };
        let minor: u32 = minor.parse().unwrap_or(0);
        let most = match (major, minor) {
            (5, 6..) | (6.., _) => "max",
            (5, 2..) => "xhigh",
            (5, _) if name.contains("codex-max") => "xhigh",
            _ => "high",
        };
        let least = match (major, minor) {
            _ if codex => "low",
            (5, 1..) | (6.., _) => "none",
            (5, 0) => "minimal",
            _ => "low",
        };
        EffortScale { least, most }
    }
}

/// The tokens of an answer that may be spent on thinking. None where there is no room to think in, or it
/// is not wanted.
pub(crate) fn thinking_budget(effort: Effort, max_tokens: u64) -> Option<u64> {
    let wanted = match effort {
        Effort::None => return None,
        Effort::Low => 4_096,
        Effort::Medium => 12_288,
        Effort::High => 24_576,
        Effort::Max => u64::MAX,
    };
    // The rest is for the answer itself.
    let budget = wanted.min(max_tokens / 4 * 3);
    (budget >= MIN_BUDGET).then_some(budget)
}

#[cfg(test)]
mod tests {
    use ostler_types::Effort;

    use super::{openai_word, thinking_budget};

    #[test]
    fn the_ends_of_the_scale_are_those_of_the_model() {
        for (model, least, most) in [
            ("gpt-5", "minimal", "high"),
            ("gpt-5-mini", "minimal", "high"),
            ("gpt-5-codex", "low", "high"),
            ("gpt-5.1", "none", "high"),
            ("gpt-5.1-codex-max", "low", "xhigh"),
            ("gpt-5.4-mini", "none", "xhigh"),
            ("gpt-5.6-terra", "none", "max"),
            ("openai/gpt-6", "none", "max"),
            ("o4-mini", "low", "high"),
            ("gpt-oss-120b", "low", "high"),
        ] {
            assert_eq!(openai_word(model, Effort::None), least, "{model}");
            assert_eq!(openai_word(model, Effort::Max), most, "{model}");
            assert_eq!(openai_word(model, Effort::Medium), "medium", "{model}");
        }
    }

    #[test]
    fn a_budget_leaves_room_for_the_answer() {
        assert_eq!(thinking_budget(Effort::None, 64_000), None);
        assert_eq!(thinking_budget(Effort::Low, 64_000), Some(4_096));
        assert_eq!(thinking_budget(Effort::High, 8_192), Some(6_144));
        assert_eq!(thinking_budget(Effort::Max, 64_000), Some(48_000));
        assert_eq!(thinking_budget(Effort::Max, 1_200), None);
    }
}
