//! The questions of a prompt: whether the agent may make a call, and whether the daemon may do something for it.

use std::time::Instant;

use agent_client_protocol::v1::schema::{Error, RequestId, ToolCallStatus, ToolCallUpdate};
use ostler_acp::{summary, to_permission_answer};
use ostler_types::{Accepted, ApprovalOption, ToolCallId, ToolKind};
use serde_json::Value;

use super::action::{Asker, EffectPolicy, RecorderAction};
use super::calls::{CallQuestion, CallState, from_first_update};
use super::{AcpRecorder, CALL_BYTES, outcome_of};
use crate::effect::AgentEffect;

impl AcpRecorder {
    /// Takes the agent's question whether it may make a call.
    pub(super) fn permission(
        &mut self,
        request: RequestId,
        update: ToolCallUpdate,
        options: Vec<ApprovalOption>,
        at: Instant,
    ) {
        if options.is_empty() {
            // Nobody can be asked a question that has no answers.
            self.update_call(update, at);
            return self.answer_permission(request, None);
        }
        if !self.has_budget(CALL_BYTES) {
            return;
        }
        let id = self.call_to_ask_about(update, at);
        self.calls.get_mut(&id).question = Some(CallQuestion::Permission { request, options });
        self.advance();
        self.ask(id);
    }

    /// The call that a question is about. One that has started, or that was asked about, is recorded again.
    fn call_to_ask_about(&mut self, update: ToolCallUpdate, at: Instant) -> ToolCallId {
        let Some(id) = self.calls.newest(&update.tool_call_id.0) else {
            return self.draft_call(from_first_update(update), at);
        };
        let call = self.calls.get_mut(&id);
        match call.state {
            CallState::Drafted | CallState::Recorded if call.question.is_none() => {
                call.merge(update.fields);
                id
            }
            CallState::Drafted
            | CallState::Recorded
            | CallState::Asked
            | CallState::Started
            | CallState::Detached
            | CallState::Denied
            | CallState::Finished => {
                // The agent said that the call was in progress, and asks about it now. Later calls of the turn
                // are not taken to run by that.
                self.asks_late |= call.state == CallState::Started && !call.is_granted;
                let mut described = match &call.described {
                    Some(described) => (**described).clone(),
                    None => from_first_update(update.clone()),
                };
                described.update(update.fields);
                described.status = ToolCallStatus::Pending;
                self.draft_call(described, at)
            }
        }
    }

    /// Takes the agent's request for an effect. It is carried out if the policy allows it or a person has approved
    /// a call that covers it; otherwise it becomes a call of its own.
    pub(super) fn request_effect(
        &mut self,
        request: RequestId,
        effect: AgentEffect,
        policy: EffectPolicy,
        at: Instant,
    ) {
        // It belongs to a call that does not wait for an answer.
        self.start_announced();
        let covering = if policy.is_risky { None } else { self.covering_call(&effect, policy.asks) };
        let is_allowed_read = !policy.asks && effect.tool_call().2 == ToolKind::Read;
        if covering.is_some() || is_allowed_read {
            let action = RecorderAction::CarryOut { request, effect, call: covering, is_own: false };
            return self.actions.push(action);
        }
        let id = self.calls.add_own(request, effect, at, &self.new_id);
        self.draft.add_call(id.clone());
        self.ask(id);
    }

    /// The open call that an effect is a part of: any that has started, where the policy does not ask; else one that
    /// a person approved and that names the very file or command.
    fn covering_call(&self, effect: &AgentEffect, asks: bool) -> Option<ToolCallId> {
        let covers = |id: &&ToolCallId| {
            let call = self.calls.get(id);
            let names = |call| effect.is_named_by(call, &self.settings.workspace);
            let is_named = || call.is_granted && call.described.as_deref().is_some_and(names);
            call.state == CallState::Started && (!asks || is_named())
        };
        self.calls.open.iter().find(covers).cloned()
    }

    /// Asks about a call, once its message is recorded. That has to wait while a person is asked about a call of the
    /// message before.
    fn ask(&mut self, id: ToolCallId) {
        if self.calls.get(&id).state == CallState::Drafted {
            if self.calls.is_asking() {
                return self.postponed.push(id);
            }
            self.flush();
        }
        let call = self.calls.get_mut(&id);
        call.refresh(&self.settings.agent);
        call.state = CallState::Asked;
        let options = match &call.question {
            Some(CallQuestion::Permission { options, .. }) => Some(options.clone()),
            Some(CallQuestion::Effect { .. }) | None => None,
        };
        let asker = match (&call.described, options) {
            (Some(described), Some(options)) => Asker::Agent { summary: summary(described), options },
            _ => Asker::Daemon,
        };
        let (call, kind) = (call.call.clone(), call.kind);
        self.actions.push(RecorderAction::Ask { call, kind, asker });
    }

    /// Asks the next question that was postponed. One whose call has ended meanwhile has no answer.
    pub(super) fn ask_postponed(&mut self) {
        while !self.calls.is_asking() && !self.postponed.is_empty() {
            let id = self.postponed.remove(0);
            let call = self.calls.get_mut(&id);
            if call.has_ended().is_none() {
                self.ask(id);
            } else if let Some(CallQuestion::Permission { request, .. }) = call.question.take() {
                self.answer_permission(request, None);
                self.advance();
            }
        }
    }

    /// Takes the answer to a question. What follows for the call is recorded before the agent gets the answer.
    pub(super) fn answered(&mut self, id: &ToolCallId, accepted: Accepted) {
        let (is_yes, chosen, reason) = match accepted {
            Accepted::Chosen { option, allowed } => (allowed, Some(option), None),
            Accepted::Denied { reason } => (false, None, reason),
            _ => (true, None, None),
        };
        match self.calls.get_mut(id).question.take() {
            Some(CallQuestion::Permission { request, options }) => {
                // A plain answer without a counterpart among the agent's cannot be given to it.
                let chosen = chosen.filter(|chosen| options.iter().any(|option| option.id == *chosen));
                self.decide_call(id, is_yes && chosen.is_some(), reason);
                self.answer_permission(request, chosen.as_deref());
            }
            Some(CallQuestion::Effect { request, effect }) => {
                self.decide_call(id, is_yes, reason.clone());
                if is_yes {
                    let call = Some(id.clone());
                    self.actions.push(RecorderAction::CarryOut { request, effect, call, is_own: true });
                } else {
                    let error = Error::new(-32603, format!("The user denied this{}", denial_text(reason)));
                    self.actions.push(RecorderAction::Respond { request, response: Err(error) });
                }
            }
            None => {}
        }
        self.advance();
    }

    /// Records what the answer means for the call.
    fn decide_call(&mut self, id: &ToolCallId, is_granted: bool, reason: Option<String>) {
        self.calls.get_mut(id).is_granted = is_granted;
        if is_granted {
            return self.start_call(id);
        }
        let text = format!("The user denied this call{}", denial_text(reason));
        self.finish_call(id, false, outcome_of(text, Value::Null), CallState::Denied);
    }

    fn answer_permission(&mut self, request: RequestId, chosen: Option<&str>) {
        let answer = to_permission_answer(chosen);
        let response = serde_json::to_value(answer).map_err(|_| Error::internal_error());
        self.actions.push(RecorderAction::Respond { request, response });
    }
}

fn denial_text(reason: Option<String>) -> String {
    reason.map_or_else(String::new, |reason| format!(": {reason}"))
}
