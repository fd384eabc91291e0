//! The models of a turn: the session's own, and those that take its place, in order.

use std::sync::Arc;

use ostler_agent::FailedTurn;
use ostler_models::{Model, ModelError};
use ostler_types::{ModelInfo, Session};

use crate::NativeAgent;
use crate::turn::failed_by_model;

/// The models that a turn may ask. Once one has been passed over it is not asked again in this turn,
/// so that its bad day is paid for once.
pub(crate) struct ModelFallback<'a> {
    agent: &'a NativeAgent,
    names: Vec<String>,
    current_index: usize,
    failures: Vec<ModelError>,
}

impl<'a> ModelFallback<'a> {
    pub(crate) fn new(agent: &'a NativeAgent, session: &Session) -> ModelFallback<'a> {
        let mut names = vec![session.model.clone()];
        for name in &session.fallback_models {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        ModelFallback { agent, names, current_index: 0, failures: Vec::new() }
    }

    /// The name of the model whose turn it is.
    pub(crate) fn current_name(&self) -> &str {
        &self.names[self.current_index]
    }

    /// The model whose turn it is.
    pub(crate) fn current(&self) -> Result<Arc<dyn Model>, ModelError> {
        self.model(self.current_name())
    }

    /// What is known of that model.
    pub(crate) fn info(&self) -> ModelInfo {
        (self.agent.describe)(self.current_name())
    }

    /// The models that are left, the one whose turn it is first: their names, and what is known of them.
    pub(crate) fn remaining(&self) -> Vec<(String, ModelInfo)> {
        let left = self.names[self.current_index..].iter();
        left.map(|name| (name.clone(), (self.agent.describe)(name))).collect()
    }

    /// The model of a name.
    pub(crate) fn model(&self, name: &str) -> Result<Arc<dyn Model>, ModelError> {
        (self.agent.resolve)(name)
    }

    /// Whether there is a model to take over from the one whose turn it is.
    pub(crate) fn has_fallback(&self) -> bool {
        self.current_index + 1 < self.names.len()
    }

    /// Passes over a model that failed. False if it was the last.
    pub(crate) fn fall_back(&mut self, error: &ModelError) -> bool {
        if !self.has_fallback() {
            return false;
        }
        self.failures.push(error.clone());
        self.current_index += 1;
        true
    }

    /// How a turn fails after its last model did: with all that went wrong, in order.
    pub(crate) fn turn_failure(&self, last: &ModelError) -> FailedTurn {
        if self.failures.is_empty() {
            return failed_by_model(last);
        }
        let all = self.names.iter().zip(self.failures.iter().chain([last]));
        let told: Vec<String> = all.map(|(name, error)| format!("{name}: {}", error.message)).collect();
        let message = format!("none of the session's models could answer; {}", told.join("; "));
        failed_by_model(&ModelError { message, ..last.clone() })
    }
}
