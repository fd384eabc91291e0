//! The ways to let a session work between which people switch, as policies.

use crate::{PatchReview, PatchReviewMode, Policy, ToolKind};

/// A way to let a session work.
#[derive(Debug, PartialEq, Eq)]
pub struct WorkMode {
    /// What it is called in commands.
    pub id: &'static str,
    /// What it is called for people.
    pub name: &'static str,
    /// What it means, in a line.
    pub description: &'static str,
    /// Kinds of calls that wait for an answer.
    pub asks: &'static [ToolKind],
    /// Whether what a turn changed waits for a review at its end.
    pub reviews: bool,
}

/// The ways that there are, the most careful first.
pub const WORK_MODES: [WorkMode; 4] = [
    WorkMode {
        id: "ask",
        name: "Ask first",
        description: "Changes, commands and network calls wait for your answer.",
        asks: &[ToolKind::Write, ToolKind::Exec, ToolKind::Network],
        reviews: false,
    },
    WorkMode {
        id: "review",
        name: "Review edits",
        description: "Files are changed without asking, and each turn's change waits for your review; commands and network calls wait.",
        asks: &[ToolKind::Exec, ToolKind::Network],
        reviews: true,
    },
    WorkMode {
        id: "edits",
        name: "Accept edits",
        description: "Files are changed without asking; commands and network calls wait.",
        asks: &[ToolKind::Exec, ToolKind::Network],
        reviews: false,
    },
    WorkMode {
        id: "free",
        name: "Never ask",
        description: "Everything runs by itself, inside the sandbox.",
        asks: &[],
        reviews: false,
    },
];

impl WorkMode {
    /// The way that a policy amounts to, if it is one of them. A review tells two of them apart; beside the others it is
    /// a wish of its own.
    pub fn from_policy(policy: &Policy) -> Option<&'static WorkMode> {
        let asks = &policy.approval.require_for_kinds;
        let same = |mode: &&WorkMode| {
            mode.asks.len() == asks.len() && mode.asks.iter().all(|kind| asks.contains(kind))
        };
        let reviews = policy.patch_review.mode == PatchReviewMode::Request;
        let mut modes = WORK_MODES.iter().filter(same);
        match (modes.next(), modes.next()) {
            (Some(reviewing), Some(accepting)) => Some(if reviews { reviewing } else { accepting }),
            (only, _) => only,
        }
    }

    /// A policy changed to this way. What is asked about by name, and what rules allow, stays.
    pub fn apply_to(&self, now: &Policy) -> Policy {
        let mode = if self.reviews { PatchReviewMode::Request } else { PatchReviewMode::Off };
        let mut policy = Policy { patch_review: PatchReview { mode }, ..now.clone() };
        policy.approval.require_for_kinds = self.asks.to_vec();
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_is_told_from_its_policy() {
        for mode in &WORK_MODES {
            assert_eq!(WorkMode::from_policy(&mode.apply_to(&Policy::default())), Some(mode));
        }
        let mut policy = Policy::default();
        policy.patch_review.mode = PatchReviewMode::Request;
        assert_eq!(WorkMode::from_policy(&policy).map(|mode| mode.id), Some("ask"));
        policy.approval.require_for_kinds = vec![ToolKind::Network];
        assert_eq!(WorkMode::from_policy(&policy), None);
    }
}
