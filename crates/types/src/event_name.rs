//! The names of events, as they stand on every wire and in every log.

use std::fmt;
use std::str::FromStr;

use crate::Event;

/// Makes the enum, and the one list that all of its conversions come from. An event that is not in it does not compile.
macro_rules! event_names {
    ($($variant:ident = $name:literal,)*) => {
        /// Which event it is.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each is described with its event")]
        pub enum EventName {
            $($variant,)*
        }

        impl EventName {
            /// All of them.
            pub const ALL: &[EventName] = &[$(EventName::$variant,)*];

            /// The name on every wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(EventName::$variant => $name,)*
                }
            }
        }

        impl FromStr for EventName {
            type Err = UnknownEvent;

            fn from_str(name: &str) -> Result<EventName, UnknownEvent> {
                match name {
                    $($name => Ok(EventName::$variant),)*
                    _ => Err(UnknownEvent),
                }
            }
        }

        impl Event {
            /// Which event it is.
            pub fn name(&self) -> EventName {
                match self {
                    $(Event::$variant { .. } => EventName::$variant,)*
                }
            }
        }
    };
}

event_names! {
    SessionCreated = "session_created",
    SessionUpdated = "session_updated",
    SessionCompleted = "session_completed",
    SessionFailed = "session_failed",
    SessionCanceled = "session_canceled",
    MessageAdded = "message_added",
    MessageQueued = "message_queued",
    MessageWithdrawn = "message_withdrawn",
    TurnStarted = "turn_started",
    TurnRetried = "turn_retried",
    TurnCompleted = "turn_completed",
    TurnFailed = "turn_failed",
    TurnCanceled = "turn_canceled",
    ModelResolved = "model_resolved",
    ModelWaiting = "model_waiting",
    UsageRecorded = "usage_recorded",
    ReasoningCompleted = "reasoning_completed",
    ModelOutputCompleted = "model_output_completed",
    ToolBatchStarted = "tool_batch_started",
    ToolBatchHalted = "tool_batch_halted",
    ToolBatchCompleted = "tool_batch_completed",
    ToolCallStarted = "tool_call_started",
    ToolCallCompleted = "tool_call_completed",
    ApprovalRequested = "approval_requested",
    ApprovalGranted = "approval_granted",
    ApprovalDenied = "approval_denied",
    CheckpointCreated = "checkpoint_created",
    CheckpointFailed = "checkpoint_failed",
    PatchReviewRequested = "patch_review_requested",
    VerificationStarted = "verification_started",
    VerificationCompleted = "verification_completed",
    ContextCompacted = "context_compacted",
    AgentUpdated = "agent_updated",
    SubagentStarted = "subagent_started",
    SubagentCompleted = "subagent_completed",
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
