//! A policy as a client sends it: what it leaves out stays as it is.

use ostler_types::{Ability, PatchReviewMode, Policy, Refusal, Rule, ToolKind, object, optional_object};
use schemars::JsonSchema;
use serde::Deserialize;

/// Changes to a policy.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub(super) struct PolicyBody {
    /// Which calls wait for an answer.
    #[serde(deserialize_with = "optional_object")]
    approval: Option<ApprovalBody>,
    /// What is checked after a turn that changed the workspace.
    #[serde(deserialize_with = "optional_object")]
    verify: Option<VerifyBody>,
    /// Whether a person reviews the turn's diff.
    #[serde(deserialize_with = "optional_object")]
    patch_review: Option<PatchReviewBody>,
    /// How the session comes by a model when nobody names one.
    #[serde(deserialize_with = "optional_object")]
    model: Option<ModelBody>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
struct ApprovalBody {
    /// Kinds that always ask.
    require_for_kinds: Option<Vec<ToolKind>>,
    /// Tools that always ask, whatever their kind.
    require_for_tools: Option<Vec<String>>,
    /// Calls that are allowed without asking.
    rules: Option<Vec<RuleBody>>,
    /// Whether commands that are known to only read run without asking.
    safe_commands: Option<bool>,
}

/// A rule, from an object only.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct RuleBody(#[serde(deserialize_with = "object")] Rule);

#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
struct VerifyBody {
    /// Whether verification runs by itself.
    auto: Option<bool>,
    /// The commands, run in order in the workspace.
    commands: Option<Vec<String>>,
    /// Whether a turn only counts as verified when it leaves no uncommitted change behind.
    require_clean: Option<bool>,
    /// How often a failure goes back to the model.
    max_rounds: Option<u32>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
struct PatchReviewBody {
    /// Off, asked for, or shown and accepted by itself.
    mode: Option<PatchReviewMode>,
}

#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields, default)]
struct ModelBody {
    /// What the model must be able to do.
    require: Option<Vec<Ability>>,
    /// The most that a million input tokens may cost, in US dollars.
    #[schemars(range(min = 0))]
    max_input_price: Option<f64>,
    /// The most that a million output tokens may cost, in US dollars.
    #[schemars(range(min = 0))]
    max_output_price: Option<f64>,
    /// Models to be taken before all others.
    prefer: Option<Vec<String>>,
}

impl PolicyBody {
    /// The policy with these changes.
    pub(super) fn over(self, mut policy: Policy) -> Result<Policy, Refusal> {
        if let Some(ApprovalBody { require_for_kinds, require_for_tools, rules, safe_commands }) =
            self.approval
        {
            let approval = &mut policy.approval;
            set(&mut approval.require_for_kinds, require_for_kinds);
            set(&mut approval.require_for_tools, require_for_tools);
            set(&mut approval.safe_commands, safe_commands);
            set(
                &mut approval.rules,
                rules.map(|rules| rules.into_iter().map(|RuleBody(rule)| rule).collect()),
            );
        }
        if let Some(VerifyBody { auto, commands, require_clean, max_rounds }) = self.verify {
            let verify = &mut policy.verify;
            set(&mut verify.auto, auto);
            set(&mut verify.commands, commands);
            set(&mut verify.max_rounds, max_rounds);
            set(&mut verify.require_clean, require_clean);
        }
        if let Some(ModelBody { require, max_input_price, max_output_price, prefer }) = self.model {
            let model = &mut policy.model;
            set(&mut model.require, require);
            set(&mut model.prefer, prefer);
            model.max_input_price = price(max_input_price)?.or(model.max_input_price);
            model.max_output_price = price(max_output_price)?.or(model.max_output_price);
        }
        if let Some(PatchReviewBody { mode }) = self.patch_review {
            set(&mut policy.patch_review.mode, mode);
        }
        Ok(policy)
    }
}

fn set<T>(old: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *old = new;
    }
}

fn price(price: Option<f64>) -> Result<Option<f64>, Refusal> {
    match price {
        Some(price) if price < 0.0 => Err(Refusal::invalid("bad_policy", "a price cannot be negative")),
        price => Ok(price),
    }
}
