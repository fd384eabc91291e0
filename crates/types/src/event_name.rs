//! The names of events, as they stand on every wire and in every log.

use std::fmt;
use std::str::FromStr;

use crate::{
    AgentEvent, ApprovalEvent, BatchEvent, CallEvent, ChildEvent, Event, MessageEvent, SessionEvent,
    StepEvent, TurnEvent, WorkspaceEvent,
};

/// Makes the enum, and the one list that all of its conversions come from. An event that is not in it does not compile.
macro_rules! event_names {
    ($($subject:ident($events:ident) { $($variant:ident: $name:ident = $text:literal,)* })*) => {
        /// Which event it is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is described with its event")]
        pub enum EventName {
            $($($name,)*)*
        }

        impl EventName {
            /// All of them.
            pub const ALL: &[EventName] = &[$($(EventName::$name,)*)*];

            /// The name on every wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $($(EventName::$name => $text,)*)*
                }
            }
        }

        impl FromStr for EventName {
            type Err = UnknownEvent;

            fn from_str(name: &str) -> Result<EventName, UnknownEvent> {
                match name {
                    $($($text => Ok(EventName::$name),)*)*
                    _ => Err(UnknownEvent),
                }
            }
        }

        impl Event {
            /// Which event it is.
            pub fn name(&self) -> EventName {
                match self {
                    $($(Event::$subject($events::$variant { .. }) => EventName::$name,)*)*
                }
            }

            /// Reads the event of this name from the text of an object with `type` and `data`.
            pub(crate) fn from_text(name: EventName, text: &str) -> Result<Event, serde_json::Error> {
                match name {
                    $($(EventName::$name)|* => serde_json::from_str::<$events>(text).map(Event::$subject),)*
                }
            }
        }
    };
}

event_names! {
    Session(SessionEvent) {
        Created: SessionCreated = "session_created",
        Updated: SessionUpdated = "session_updated",
        Completed: SessionCompleted = "session_completed",
        Failed: SessionFailed = "session_failed",
        Canceled: SessionCanceled = "session_canceled",
    }
    Message(MessageEvent) {
        Added: MessageAdded = "message_added",
        ModelOutputCompleted: ModelOutputCompleted = "model_output_completed",
        Queued: MessageQueued = "message_queued",
        Withdrawn: MessageWithdrawn = "message_withdrawn",
    }
    Turn(TurnEvent) {
        Started: TurnStarted = "turn_started",
        Retried: TurnRetried = "turn_retried",
        Completed: TurnCompleted = "turn_completed",
        Failed: TurnFailed = "turn_failed",
        Canceled: TurnCanceled = "turn_canceled",
    }
    Step(StepEvent) {
        ModelResolved: ModelResolved = "model_resolved",
        ModelWaiting: ModelWaiting = "model_waiting",
        UsageRecorded: UsageRecorded = "usage_recorded",
        ReasoningCompleted: ReasoningCompleted = "reasoning_completed",
    }
    Batch(BatchEvent) {
        Started: ToolBatchStarted = "tool_batch_started",
        Halted: ToolBatchHalted = "tool_batch_halted",
        Completed: ToolBatchCompleted = "tool_batch_completed",
    }
    Call(CallEvent) {
        Started: ToolCallStarted = "tool_call_started",
        Completed: ToolCallCompleted = "tool_call_completed",
    }
    Approval(ApprovalEvent) {
        Requested: ApprovalRequested = "approval_requested",
        Granted: ApprovalGranted = "approval_granted",
        Denied: ApprovalDenied = "approval_denied",
    }
    Workspace(WorkspaceEvent) {
        CheckpointCreated: CheckpointCreated = "checkpoint_created",
        CheckpointFailed: CheckpointFailed = "checkpoint_failed",
        PatchReviewRequested: PatchReviewRequested = "patch_review_requested",
        VerificationStarted: VerificationStarted = "verification_started",
        VerificationCompleted: VerificationCompleted = "verification_completed",
    }
    Agent(AgentEvent) {
        Updated: AgentUpdated = "agent_updated",
        ContextCompacted: ContextCompacted = "context_compacted",
    }
    Child(ChildEvent) {
        Started: SubagentStarted = "subagent_started",
        Completed: SubagentCompleted = "subagent_completed",
    }
}

/// A name that no event has, as of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnknownEvent;

impl EventName {
    /// Whether a turn has ended with it.
    pub fn ends_turn(self) -> bool {
        matches!(self, EventName::TurnCompleted | EventName::TurnFailed | EventName::TurnCanceled)
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.as_str())
    }
}

impl fmt::Display for UnknownEvent {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("no event has this name")
    }
}

impl std::error::Error for UnknownEvent {}

#[cfg(test)]
mod tests {
    use super::EventName;

    #[test]
    fn a_name_is_what_it_is_written_as() {
        for name in EventName::ALL {
            assert_eq!(name.as_str().parse(), Ok(*name));
        }
        assert!("turn_ended".parse::<EventName>().is_err());
    }
}
