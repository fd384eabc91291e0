//! Presets: how much an agent of the pool may do by itself. A preset only ever takes away: what an agent gets is at
//! most what its parent has, or what the daemon is configured to give.

use ostler_types::{Policy, ToolKind};
use serde::Deserialize;

/// How far an agent is trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PoolPreset {
    /// As far as its parent or the configuration allows.
    Trusted,
    /// Reading aside, it asks before everything.
    Sandboxed,
}

impl PoolPreset {
    /// The policy that is left of one.
    pub(super) fn restrict(self, mut policy: Policy) -> Policy {
        match self {
            PoolPreset::Trusted => policy,
            PoolPreset::Sandboxed => {
                let approval = &mut policy.approval;
                for kind in [ToolKind::Write, ToolKind::Exec, ToolKind::Network] {
                    if !approval.require_for_kinds.contains(&kind) {
                        approval.require_for_kinds.push(kind);
                    }
                }
                approval.rules.clear();
                approval.safe_commands = false;
                policy
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ostler_types::{Policy, ToolKind};

    use super::PoolPreset;

    #[test]
    fn a_preset_gives_nothing() {
        let mut open = Policy::default();
        open.approval.require_for_kinds = vec![ToolKind::Network];
        open.approval.safe_commands = true;
        assert_eq!(PoolPreset::Trusted.restrict(open.clone()), open);
        let closed = PoolPreset::Sandboxed.restrict(open);
        for kind in [ToolKind::Write, ToolKind::Exec, ToolKind::Network] {
            assert!(closed.approval.require_for_kinds.contains(&kind), "{kind:?}");
        }
        assert!(closed.approval.rules.is_empty() && !closed.approval.safe_commands);
        assert_eq!(PoolPreset::Trusted.restrict(closed.clone()), closed);
    }
}
