//! What a client asks of the mock, in either of OpenAI's two protocols: the [`AnswerPlan`] in the last message of the user. One
//! behind the result of a tool may be another: there an agent tells of the workspace.

use serde::Deserialize;

use crate::answer::AnswerPlan;

/// The protocol of a request, and of its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MockProtocol {
    Chat,
    Responses,
}

/// A request that can be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MockRequest {
    pub(super) wire: MockProtocol,
    pub(super) plan: AnswerPlan,
    /// Whether the answer is a call of a tool, whose result then comes with another request.
    pub(super) calls_tool: bool,
}

impl MockProtocol {
    /// The protocol that is spoken at the path of this request line.
    pub(super) fn from_request_line(request_line: &str) -> Option<MockProtocol> {
        let path = request_line.strip_prefix("POST ")?.split(' ').next()?;
        match path {
            "/v1/chat/completions" => Some(MockProtocol::Chat),
            "/v1/responses" => Some(MockProtocol::Responses),
            _ => None,
        }
    }

    /// What is asked for, if it is a plan.
    pub(super) fn parse_request(self, body: &[u8]) -> Option<MockRequest> {
        let request: MockRequestBody = serde_json::from_slice(body).ok()?;
        let messages = &request.messages;
        let plan_at = |at: usize| messages[at].content.as_ref()?.plan();
        let is_behind_result = |at: usize| at > 0 && messages[at - 1].role == "tool";
        let mut of_user = (0..messages.len()).rev().filter(|at| messages[*at].role == "user");
        let asking = of_user.find(|at| plan_at(*at).is_some() || !is_behind_result(*at))?;
        let plan = plan_at(asking)?;
        let has_result = messages[asking..].iter().any(|message| message.role == "tool");
        Some(MockRequest { wire: self, plan, calls_tool: plan.tool && !has_result })
    }
}

#[derive(Deserialize)]
struct MockRequestBody {
    #[serde(alias = "input")]
    messages: Vec<Message>,
}

#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    role: String,
    content: Option<Content>,
}

/// Text, or parts of which some are text.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

impl Content {
    fn plan(&self) -> Option<AnswerPlan> {
        match self {
            Content::Text(text) => AnswerPlan::parse(text),
            Content::Parts(parts) => parts.iter().find_map(|part| AnswerPlan::parse(&part.text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{MockProtocol, MockRequest};
    use crate::answer::AnswerPlan;

    #[test]
    fn both_protocols_say_what_is_asked_for() {
        assert_eq!(
            MockProtocol::from_request_line("POST /v1/responses HTTP/1.1"),
            Some(MockProtocol::Responses)
        );
        assert_eq!(MockProtocol::from_request_line("GET /v1/responses HTTP/1.1"), None);
        assert_eq!(MockProtocol::from_request_line("POST /v1/models HTTP/1.1"), None);
        let plan = AnswerPlan::new(2, 1);
        let user = json!({"type": "message", "role": "user", "content": [
            {"type": "input_image", "image_url": "x"}, {"type": "input_text", "text": "bench:2x1"}]});
        let body = json!({"input": [user, {"type": "function_call_output", "output": "x"}]}).to_string();
        let asked = MockProtocol::Responses.parse_request(body.as_bytes());
        assert_eq!(asked, Some(MockRequest { wire: MockProtocol::Responses, plan, calls_tool: false }));
        assert_eq!(MockProtocol::Chat.parse_request(b"{}"), None);
    }

    #[test]
    fn a_tool_is_called_once_for_each_message() {
        let user = json!({"role": "user", "content": "tool:2x1"});
        let result = json!({"role": "tool", "content": "", "tool_call_id": "1"});
        let calls = |messages: &[&serde_json::Value]| {
            let body = json!({"messages": messages}).to_string();
            MockProtocol::Chat.parse_request(body.as_bytes()).unwrap().calls_tool
        };
        assert!(calls(&[&user]));
        assert!(!calls(&[&user, &result]));
        assert!(calls(&[&user, &result, &user]));
    }
}
