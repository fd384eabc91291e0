//! A policy as a client sends it: what it leaves out stays as it is.

use ostler_types::{Ability, PatchReviewMode, Policy, Rule, ToolKind, object, optional_object};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Changes to a policy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyBody {
    /// Which calls wait for an answer.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub approval: Option<ApprovalBody>,
    /// What is checked after a turn that changed the workspace.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub verify: Option<VerifyBody>,
    /// Whether a person reviews the turn's diff.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub patch_review: Option<PatchReviewBody>,
    /// How the session comes by a model when nobody names one.
    #[serde(deserialize_with = "optional_object", skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelBody>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ApprovalBody {
    /// Kinds that always ask.
    pub require_for_kinds: Option<Vec<ToolKind>>,
    /// Tools that always ask, whatever their kind.
    pub require_for_tools: Option<Vec<String>>,
    /// Calls that are allowed without asking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<RuleBody>>,
    /// Whether commands that are known to only read run without asking.
    pub safe_commands: Option<bool>,
}

/// A rule, from an object only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct RuleBody(#[serde(deserialize_with = "object")] pub Rule);

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct VerifyBody {
    /// Whether verification runs by itself.
    pub auto: Option<bool>,
    /// The commands, run in order in the workspace.
    pub commands: Option<Vec<String>>,
    /// Whether a turn only counts as verified when it leaves no uncommitted change behind.
    pub require_clean: Option<bool>,
    /// How often a failure goes back to the model.
    pub max_rounds: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PatchReviewBody {
    /// Off, asked for, or shown and accepted by itself.
    pub mode: Option<PatchReviewMode>,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ModelBody {
    /// What the model must be able to do.
    pub require: Option<Vec<Ability>>,
    /// The most that a million input tokens may cost, in US dollars.
    #[schemars(range(min = 0))]
    pub max_input_price: Option<f64>,
    /// The most that a million output tokens may cost, in US dollars.
    #[schemars(range(min = 0))]
    pub max_output_price: Option<f64>,
    /// Models to be taken before all others.
    pub prefer: Option<Vec<String>>,
}

impl From<Policy> for PolicyBody {
    /// The whole policy, so that nothing stays as it was, but for prices that it does not limit.
    fn from(policy: Policy) -> PolicyBody {
        let Policy { approval, verify, patch_review, model } = policy;
        PolicyBody {
            approval: Some(ApprovalBody {
                require_for_kinds: Some(approval.require_for_kinds),
                require_for_tools: Some(approval.require_for_tools),
                rules: Some(approval.rules.into_iter().map(RuleBody).collect()),
                safe_commands: Some(approval.safe_commands),
            }),
            verify: Some(VerifyBody {
                auto: Some(verify.auto),
                commands: Some(verify.commands),
                require_clean: Some(verify.require_clean),
                max_rounds: Some(verify.max_rounds),
            }),
            patch_review: Some(PatchReviewBody { mode: Some(patch_review.mode) }),
            model: Some(ModelBody {
                require: Some(model.require),
                max_input_price: model.max_input_price,
                max_output_price: model.max_output_price,
                prefer: Some(model.prefer),
            }),
        }
    }
}
