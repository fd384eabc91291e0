//! The same few answers as each of the protocols puts them.

use ostler_models::ProviderKind;

/// How one protocol says things.
pub(super) struct ProtocolSamples {
    pub(super) kind: ProviderKind,
    /// The beginning of an answer, up to the text `a`.
    pub(super) text: &'static str,
    /// Says nothing, and keeps the connection alive.
    pub(super) idle: &'static str,
    /// The last word of an answer, with its usage: 3 tokens in, 1 out.
    pub(super) last: &'static str,
    /// What may follow the last word.
    pub(super) end: &'static str,
    /// A whole answer with a call of `shell`, whose input is `{"command"`.
    pub(super) broken_call: &'static str,
    /// An error inside a stream: the server is overloaded.
    pub(super) overloaded: &'static str,
    /// The body of an answer that refuses a request, with a kind and a message.
    error: fn(&str, &str) -> String,
    /// The kind and the message of a request that is too long.
    pub(super) overflow: (&'static str, &'static str),
}

impl ProtocolSamples {
    pub(super) fn error(&self, kind: &str, message: &str) -> String {
        (self.error)(kind, message)
    }
}

pub(super) const WIRES: [ProtocolSamples; 3] = [CHAT, RESPONSES, ANTHROPIC];

const CHAT: ProtocolSamples = ProtocolSamples {
    kind: ProviderKind::OpenAiChat,
    text: "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n",
    idle: ": wait\n\n",
    last: "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}}\n\n",
    end: "data: [DONE]\n\n",
    broken_call: r#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"shell","arguments":"{\"command\""}}]}}]}

data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}

data: [DONE]

"#,
    overloaded: "data: {\"error\":{\"message\":\"Busy\",\"type\":\"overloaded_error\"}}\n\n",
    error: openai_error,
    overflow: ("context_length_exceeded", "Too long."),
};

const RESPONSES: ProtocolSamples = ProtocolSamples {
    kind: ProviderKind::OpenAiResponses,
    text: "event: response.output_text.delta\n\
           data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"a\"}\n\n",
    idle: "event: response.in_progress\ndata: {\"type\":\"response.in_progress\",\"response\":{}}\n\n",
    last: "event: response.completed\n\
           data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":3,\"output_tokens\":1}}}\n\n",
    end: "",
    broken_call: r#"event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c1","name":"shell","arguments":""}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"command\""}

event: response.completed
data: {"type":"response.completed","response":{}}

"#,
    overloaded: "event: error\ndata: {\"type\":\"error\",\"code\":\"server_is_overloaded\",\"message\":\"Busy\"}\n\n",
    error: openai_error,
    overflow: ("context_length_exceeded", "Too long."),
};

const ANTHROPIC: ProtocolSamples = ProtocolSamples {
    kind: ProviderKind::Anthropic,
    text: r#"event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":3,"output_tokens":0}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

"#,
    idle: "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    last: r#"event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}

"#,
    end: "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
    broken_call: r#"event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"c1","name":"shell","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"command\""}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}

event: message_stop
data: {"type":"message_stop"}

"#,
    overloaded: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Busy\"}}\n\n",
    error: anthropic_error,
    overflow: ("invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum"),
};

fn openai_error(kind: &str, message: &str) -> String {
    format!(
        r#"{{"error":{{"message":"{message}","type":"invalid_request_error","param":null,"code":"{kind}"}}}}"#
    )
}

fn anthropic_error(kind: &str, message: &str) -> String {
    format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#)
}
