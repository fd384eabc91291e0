//! What a session hears of others, folded: the sessions that it has started, someone else's agent, and what
//! is left of its conversation.

use jiff::Timestamp;

use super::ApprovalQuestion;
use crate::{
    AgentState, Child, ChildCall, ChildOutcome, ChildStatus, Compaction, PendingApproval, SessionId, State,
    ToolCallId, TurnId,
};

impl State {
    /// What someone else's agent says of itself. It keeps its own count of its conversation.
    pub(super) fn apply_agent_state(&mut self, agent: &AgentState) {
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

    /// A session that this one has started is over.
    pub(super) fn end_child(&mut self, session_id: SessionId, outcome: &ChildOutcome) {
        let open = self.turn.as_ref().map(|turn| turn.id);
        self.children_usage += outcome.usage;
        if let Some(child) = self.children.iter_mut().find(|child| child.session_id == session_id) {
            child.outcome = Some(outcome.clone());
            child.approvals.clear();
        }
        self.children.retain(|child| child.is_needed(open));
    }

    /// A session that this one has started, or one below it, asks something.
    pub(super) fn add_child_approval(
        &mut self,
        asks: &ChildCall,
        asked: &ApprovalQuestion<'_>,
        at: Timestamp,
    ) {
        if let Some(child) = self.children.iter_mut().find(|child| child.session_id == asks.via) {
            child.approvals.push(asked.pending(asks.session_id, asks.turn_id, at));
        }
    }

    /// That was answered.
    pub(super) fn remove_child_approval(&mut self, asked: &ChildCall, tool_call_id: &ToolCallId) {
        let is_other = |approval: &PendingApproval| {
            approval.session_id != asked.session_id || approval.tool_call_id != *tool_call_id
        };
        self.children.iter_mut().for_each(|child| child.approvals.retain(is_other));
    }
}

impl Child {
    /// Whether anybody still has to hear of it: the turn that waits for it, or the model.
    pub(super) fn is_needed(&self, open: Option<TurnId>) -> bool {
        match &self.outcome {
            None => true,
            Some(_) if open == Some(self.turn_id) => true,
            Some(outcome) => self.background && outcome.status != ChildStatus::Canceled,
        }
    }
}
