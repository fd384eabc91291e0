//! How a turn parts from its agent: after its end, after a failure, when it is canceled, or when it is dropped.

use agent_client_protocol::v1::schema::{AGENT_METHOD_NAMES, CancelNotification};
use ostler_acp::apply_update;
use ostler_agent::FailedTurn;

use crate::connection::no_turn_response;
use crate::failure::crashed;
use crate::inbox::InboxItem;
use crate::prompt_loop::{PromptLoop, PromptState};
use crate::recorder::action::RecorderInput;

impl PromptLoop<'_> {
    /// The agent has ended under the turn.
    pub(crate) async fn crashed(&mut self) -> FailedTurn {
        self.state = PromptState::Gone;
        crashed(&self.agent.program, &self.lease.handle.ended().await)
    }

    /// Ends a turn that failed: what is half written is recorded as far as it can be, and the agent is stopped if it
    /// still works.
    pub(crate) async fn fail(&mut self, error: FailedTurn) -> FailedTurn {
        if let Err(error) = self.record(RecorderInput::PromptFailed).await {
            tracing::debug!(reason = error.reason, "the calls of a turn that failed are not recorded");
        }
        match self.state {
            PromptState::Idle => self.keep_session(),
            PromptState::Sending | PromptState::Running(_) => self.stop().await,
            PromptState::Gone => {}
        }
        error
    }

    /// Has the agent stop, and waits a moment until it has. What it sends meanwhile is dropped. One that does not stop
    /// is replaced: nobody could tell later what belongs to which turn.
    pub(crate) async fn stop(&mut self) {
        self.terminals.end_all();
        let ticket = match self.state {
            PromptState::Running(ticket) => ticket,
            // The agent has stopped by itself, and its work was being looked at.
            PromptState::Idle => return self.keep_session(),
            // A turn that was canceled before its prompt was on its way leaves that to its drop.
            PromptState::Sending | PromptState::Gone => return,
        };
        let connection = self.lease.handle.connection.clone();
        self.send_cancel();
        let stopped = async {
            for (id, method) in std::mem::take(&mut self.open_requests) {
                connection.respond(&id, no_turn_response(&method)).await;
            }
            loop {
                match self.route.inbox.pop().await {
                    InboxItem::Request { id, method, .. } => {
                        connection.respond(&id, no_turn_response(&method)).await
                    }
                    InboxItem::Answer { ticket: answered, .. } if answered == ticket => {
                        return PromptState::Idle;
                    }
                    InboxItem::Answer { .. } => {}
                    InboxItem::Closed => return PromptState::Gone,
                    InboxItem::Update(update) => {
                        _ = apply_update(
                            &mut self.agent_session.state,
                            &mut self.agent_session.offered,
                            &update,
                        );
                    }
                }
            }
        };
        if let Ok(state) = tokio::time::timeout(self.agent.settings.cancel, stopped).await {
            self.state = state;
        }
        if self.state == PromptState::Idle {
            self.keep_session();
        }
    }

    /// The session stays open for the next turn.
    pub(crate) fn keep_session(&self) {
        self.lease.handle.return_session(self.context.session.id, self.agent_session.clone());
    }

    fn send_cancel(&self) {
        let cancel = CancelNotification::new(self.agent_session.id.clone());
        self.lease.handle.connection.notify_now(AGENT_METHOD_NAMES.session_cancel, &cancel);
    }
}

impl Drop for PromptLoop<'_> {
    /// An agent that is still at work when its turn is over is replaced; nobody hears it any more.
    fn drop(&mut self) {
        match self.state {
            PromptState::Idle | PromptState::Gone => {}
            PromptState::Sending | PromptState::Running(_) => {
                tracing::warn!(agent = self.agent.program.name, "the agent did not stop, and is replaced");
                self.send_cancel();
                self.lease.retire();
            }
        }
    }
}
