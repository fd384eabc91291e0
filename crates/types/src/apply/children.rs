//! What a session hears of others, folded: the sessions that it has started, someone else's agent, and what
//! is left of its conversation.

use crate::{AgentState, Child, ChildStatus, Compaction, Event, PendingApproval, Record, State, TurnId};

impl State {
    /// What someone else's agent says of itself. It keeps its own count of its conversation.
    pub(super) fn hear_agent(&mut self, agent: &AgentState) {
        if agent.agent_session_id.is_some() {
            self.session.agent_session_id.clone_from(&agent.agent_session_id);
        }
        self.context.tokens = agent.context_tokens.or(self.context.tokens);
        self.agent = Some(Box::new(agent.clone()));
    }

    pub(super) fn compact(&mut self, compaction: &Compaction) {
        self.context.tokens = Some(compaction.tokens_after);
        if compaction.summary.is_some() {
            self.context.first_seq = compaction.first_kept_seq.max(1);
        }
    }

    /// The sessions that this one has started: which there are, what they ask, how they ended.
    pub(super) fn apply_to_children(&mut self, record: &Record) {
        let open = self.turn.as_ref().map(|turn| turn.id);
        match &record.event {
            Event::SubagentStarted { session_id, tool_call_id, subtask, description, background } => {
                let Some(turn_id) = record.turn_id else { return };
                self.children.push(Child {
                    session_id: *session_id,
                    turn_id,
                    tool_call_id: tool_call_id.clone(),
                    subtask: subtask.clone(),
                    description: description.clone(),
                    background: *background,
                    outcome: None,
                    approvals: Vec::new(),
                });
            }
            Event::SubagentCompleted { session_id, outcome } => {
                self.children_usage += outcome.usage;
                if let Some(child) = self.children.iter_mut().find(|c| c.session_id == *session_id) {
                    child.outcome = Some(outcome.clone());
                    child.approvals.clear();
                }
                self.children.retain(|child| child.is_of_interest(open));
            }
            Event::ApprovalRequested { tool_call, kind, summary, rule, options, child: Some(asks) } => {
                let child = self.children.iter_mut().find(|child| child.session_id == asks.via);
                child.into_iter().for_each(|child| {
                    child.approvals.push(PendingApproval {
                        session_id: asks.session_id,
                        turn_id: asks.turn_id,
                        tool_call_id: tool_call.id.clone(),
                        tool: tool_call.name.clone(),
                        input: tool_call.input.clone(),
                        kind: *kind,
                        summary: summary.clone(),
                        rule: rule.clone(),
                        options: options.clone(),
                        requested_at: record.ts,
                    });
                });
            }
            Event::ApprovalGranted { tool_call_id, child: Some(asked), .. }
            | Event::ApprovalDenied { tool_call_id, child: Some(asked), .. } => {
                let other =
                    |a: &PendingApproval| a.session_id != asked.session_id || a.tool_call_id != *tool_call_id;
                self.children.iter_mut().for_each(|child| child.approvals.retain(other));
            }
            _ => unreachable!("State::apply hands only children to apply_to_children"),
        }
    }
}

impl Child {
    /// Whether anybody still has to hear of it: the turn that waits for it, or the model.
    pub(super) fn is_of_interest(&self, open: Option<TurnId>) -> bool {
        match &self.outcome {
            None => true,
            Some(_) if open == Some(self.turn_id) => true,
            Some(outcome) => self.background && outcome.status != ChildStatus::Canceled,
        }
    }
}
