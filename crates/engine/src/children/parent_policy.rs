//! What a child may do by itself, kept within what its parent may: whoever tightens the parent's policy tightens
//! that of the sessions which work for it, from their next call on. What is loosened stays with the parent.

use std::sync::Arc;

use ostler_types::{Command, Policy, Rule, Session, SessionChange, SessionId};
use tokio::sync::Notify;

use super::start::move_rule;
use crate::engine::Engine;
use crate::error::EngineError;

/// What an attendant knows of the parent's rights.
#[derive(Default)]
pub(super) struct ParentPolicy {
    changed: Arc<Notify>,
    /// The parent's rules when it was last looked at. None are known after a restart: a rule that was withdrawn in
    /// the moment of a crash stays with the child, whatever else asks there asks here.
    rules: Vec<Rule>,
}

impl ParentPolicy {
    /// Is to be notified when the parent's policy has changed.
    pub(super) fn changed(&self) -> Arc<Notify> {
        Arc::clone(&self.changed)
    }

    /// Returns when the parent's policy has changed.
    pub(super) async fn wait(&self) {
        self.changed.notified().await;
    }

    /// Remembers what the parent may.
    pub(super) fn remember(&mut self, parent: &Session) {
        self.rules.clone_from(&parent.policy.approval.rules);
    }

    /// Lets the child do no more than its parent may now.
    pub(super) async fn limit_child(
        &mut self,
        engine: &Engine,
        parent: SessionId,
        child: SessionId,
    ) -> Result<(), EngineError> {
        let parent = engine.view(parent).await?.session;
        let child = engine.view(child).await?.session;
        let kept = &parent.policy.approval.rules;
        let mut withdrawn: Vec<Rule> =
            self.rules.iter().filter(|rule| !kept.contains(rule)).cloned().collect();
        for rule in &mut withdrawn {
            move_rule(rule, &parent.workspace_key(), &child.workspace_key());
        }
        let approval = child.policy.approval.clone().tightened(&parent.policy.approval, &withdrawn);
        if approval != child.policy.approval {
            let policy = Some(Policy { approval, ..child.policy });
            match engine
                .submit(child.id, Command::Update(SessionChange { policy, ..SessionChange::default() }))
                .await
            {
                Ok(_) | Err(EngineError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        self.remember(&parent);
        Ok(())
    }
}
