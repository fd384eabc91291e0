//! How a turn lets go of its agent: in peace, after a failure, by somebody's word, or because it is dropped.

use agent_client_protocol::v1::schema::{AGENT_METHOD_NAMES, CancelNotification};
use ostler_acp::hear;
use ostler_agent::Failed;

use crate::connection::nobody_there;
use crate::failure::crashed;
use crate::inbox::Item;
use crate::turn::{Prompted, Turn};

impl Turn<'_> {
    /// The agent has ended under the turn.
    pub(crate) async fn crashed(&mut self) -> Failed {
        self.prompted = Prompted::Gone;
        crashed(&self.agent.program, &self.lease.handle.over().await)
    }

    /// The end of a turn that failed: what is half written is recorded as far as it can be, and the agent is
    /// stopped if it still works.
    pub(crate) async fn give_up(&mut self, error: Failed) -> Failed {
        if self.calls.open.is_empty()
            && self.draft.calls().next().is_some()
            && let Err(error) = self.record_draft("error").await
        {
            tracing::debug!(reason = error.reason, "the calls of a turn that failed are not recorded");
        }
        match self.prompted {
            Prompted::No => self.put_back(),
            Prompted::Sending | Prompted::Waiting(_) => self.stop_prompt().await,
            Prompted::Gone => {}
        }
        error
    }

    /// Has the agent stop, and waits a moment until it has. What it says meanwhile is heard by nobody. One that
    /// does not stop is replaced: nobody could tell later what belongs to which turn.
    pub(crate) async fn stop_prompt(&mut self) {
        self.terminals.end_all();
        let ticket = match self.prompted {
            Prompted::Waiting(ticket) => ticket,
            // The agent has stopped by itself, and its work was being looked at.
            Prompted::No => return self.put_back(),
            // A turn that was canceled before its prompt was on its way leaves that to its drop.
            Prompted::Sending | Prompted::Gone => return,
        };
        let connection = self.lease.handle.connection.clone();
        self.send_cancel();
        let stopped = async {
            for (id, method) in std::mem::take(&mut self.awaiting) {
                connection.respond(&id, nobody_there(&method)).await;
            }
            loop {
                match self.route.inbox.pop().await {
                    Item::Request { id, method, .. } => connection.respond(&id, nobody_there(&method)).await,
                    Item::Answer { ticket: answered, .. } if answered == ticket => return Prompted::No,
                    Item::Answer { .. } => {}
                    Item::Closed => return Prompted::Gone,
                    Item::Update(update) => {
                        _ = hear(&mut self.live.state, &mut self.live.offered, &update);
                    }
                }
            }
        };
        if let Ok(prompted) = tokio::time::timeout(self.agent.settings.cancel, stopped).await {
            self.prompted = prompted;
        }
        if self.prompted == Prompted::No {
            self.put_back();
        }
    }

    /// The session stays open for the next turn.
    pub(crate) fn put_back(&self) {
        self.lease.handle.put_back(self.context.session.id, self.live.clone());
    }

    fn send_cancel(&self) {
        let cancel = CancelNotification::new(self.live.id.clone());
        self.lease.handle.connection.notify_now(AGENT_METHOD_NAMES.session_cancel, &cancel);
    }
}

impl Drop for Turn<'_> {
    /// An agent that is still at work when its turn is over is replaced; nobody hears it any more.
    fn drop(&mut self) {
        match self.prompted {
            Prompted::No | Prompted::Gone => {}
            Prompted::Sending | Prompted::Waiting(_) => {
                tracing::warn!(agent = self.agent.program.name, "the agent did not stop, and is replaced");
                self.send_cancel();
                self.lease.retire();
            }
        }
    }
}
