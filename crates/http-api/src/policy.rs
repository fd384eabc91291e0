//! A policy as a client changes it: what it leaves out stays as it is.

use ostler_api_types::{ApprovalBody, ModelBody, PatchReviewBody, PolicyBody, RuleBody, VerifyBody};
use ostler_types::{Policy, Refusal};

/// The policy with these changes.
pub(super) fn apply_changes(mut policy: Policy, changes: PolicyBody) -> Result<Policy, Refusal> {
    if let Some(ApprovalBody { require_for_kinds, require_for_tools, rules, safe_commands }) =
        changes.approval
    {
        let approval = &mut policy.approval;
        set(&mut approval.require_for_kinds, require_for_kinds);
        set(&mut approval.require_for_tools, require_for_tools);
        set(&mut approval.safe_commands, safe_commands);
        set(&mut approval.rules, rules.map(|rules| rules.into_iter().map(|RuleBody(rule)| rule).collect()));
    }
    if let Some(VerifyBody { auto, commands, require_clean, max_rounds }) = changes.verify {
        let verify = &mut policy.verify;
        set(&mut verify.auto, auto);
        set(&mut verify.commands, commands);
        set(&mut verify.max_rounds, max_rounds);
        set(&mut verify.require_clean, require_clean);
    }
    if let Some(ModelBody { require, max_input_price, max_output_price, prefer }) = changes.model {
        let model = &mut policy.model;
        set(&mut model.require, require);
        set(&mut model.prefer, prefer);
        model.max_input_price = price(max_input_price)?.or(model.max_input_price);
        model.max_output_price = price(max_output_price)?.or(model.max_output_price);
    }
    if let Some(PatchReviewBody { mode }) = changes.patch_review {
        set(&mut policy.patch_review.mode, mode);
    }
    Ok(policy)
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
