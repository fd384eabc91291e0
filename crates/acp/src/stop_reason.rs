//! Why a turn stopped.

use agent_client_protocol::v1::schema::StopReason;

/// The agent's reason in our words; none when it was stopped from outside.
pub fn from_stop_reason(reason: StopReason) -> Option<&'static str> {
    match reason {
        StopReason::EndTurn => Some("end_turn"),
        StopReason::MaxTokens => Some("max_tokens"),
        StopReason::MaxTurnRequests => Some("max_steps"),
        StopReason::Refusal => Some("refusal"),
        StopReason::Cancelled => None,
        // The protocol may name more reasons; whatever they are, the agent has stopped by itself.
        _ => Some("end_turn"),
    }
}

/// The reason of a turn that completed, for an editor. Reasons that it does not know are an ordinary end.
pub fn to_stop_reason(reason: &str) -> StopReason {
    match reason {
        "max_tokens" | "length" => StopReason::MaxTokens,
        "max_steps" => StopReason::MaxTurnRequests,
        "refusal" | "content_filter" => StopReason::Refusal,
        _ => StopReason::EndTurn,
    }
}
