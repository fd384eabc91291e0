//! Measures what the native agent's model is shown of a session, for the doors to tell.

use std::sync::Arc;

use ostler_context::{SystemPrompt, TokenEstimate, is_summary, section_sizes, system_prompt, text_tokens};
use ostler_door_kit::ContextMeter;
use ostler_runner::Runner;
use ostler_types::{ContextKind, ContextSection, Message, Role, Session, ToolSpec};

/// The tool that reads skills.
const SKILL_TOOL: &str = "skill";

/// Measures by estimates: no provider is asked.
pub(crate) struct NativeContextMeter {
    tools: Vec<ToolSpec>,
    server_tools: Box<OfferedServerTools>,
}

/// The tools of servers that sessions of a workspace were offered last.
type OfferedServerTools = dyn Fn(&str) -> Arc<[ToolSpec]> + Send + Sync;

impl NativeContextMeter {
    /// A gauge for sessions that have these tools, and those of the servers of their workspace: as many of them as
    /// the last turn there was offered, since nothing is started in order to be counted.
    pub(crate) fn new(tools: Vec<ToolSpec>, runner: Arc<dyn Runner>) -> NativeContextMeter {
        let offered = move |workspace: &str| runner.toolbox().last_offered(workspace);
        NativeContextMeter { tools, server_tools: Box::new(offered) }
    }
}

impl ContextMeter for NativeContextMeter {
    fn measure(&self, session: &Session, messages: &[Arc<Message>]) -> Vec<ContextSection> {
        let prompt = SystemPrompt {
            workspace: &session.workspace_path,
            session_prompt: session.system_prompt.as_deref(),
            skill_tool: self.tools.iter().any(|tool| tool.name == SKILL_TOOL).then_some(SKILL_TOOL),
            ..SystemPrompt::default()
        };
        let mut sections = Sections::default();
        sections.add(ContextKind::SystemPrompt, "system prompt", 0, text_tokens(&system_prompt(&prompt)));
        let tools = TokenEstimate::of_request(None, &[], &self.tools).tokens();
        sections.add(ContextKind::Tools, "tools", 0, tools);
        let offered = (self.server_tools)(&session.workspace_path);
        let offered = TokenEstimate::of_request(None, &[], &offered).tokens();
        sections.add(ContextKind::Tools, "tools of MCP servers", 0, offered);
        for message in messages {
            match section_sizes(message) {
                Some(gathered) => {
                    for (name, tokens) in gathered {
                        sections.add(ContextKind::Workspace, &name, 1, tokens);
                    }
                }
                None => {
                    let (kind, name) = kind(message);
                    sections.add(kind, name, 1, TokenEstimate::of_message(message).tokens());
                }
            }
        }
        sections.0
    }
}

fn kind(message: &Message) -> (ContextKind, &'static str) {
    match message.role {
        _ if is_summary(message) => (ContextKind::Summary, "summary of what is no longer shown"),
        Role::System => (ContextKind::System, "notes"),
        Role::User => (ContextKind::User, "what was asked"),
        Role::Assistant => (ContextKind::Assistant, "what the model said"),
        Role::Tool => (ContextKind::ToolResults, "what tools answered"),
    }
}

/// Pieces, of which those of one name are one.
#[derive(Default)]
struct Sections(Vec<ContextSection>);

impl Sections {
    fn add(&mut self, kind: ContextKind, name: &str, messages: u64, tokens: u64) {
        if tokens == 0 {
            return;
        }
        match self.0.iter_mut().find(|section| section.kind == kind && section.name == name) {
            Some(section) => {
                section.messages += messages;
                section.tokens += tokens;
            }
            None => self.0.push(ContextSection { kind, name: name.to_owned(), messages, tokens }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ostler_door_kit::ContextMeter;

    use ostler_engine::SystemClock;
    use ostler_types::ContextKind;
    use ostler_types::{
        Clock, Event, Message, MessageId, NewSession, Part, Role, SessionEvent, SessionId, ToolSpec, create,
    };
    use serde_json::json;

    use super::NativeContextMeter;

    #[test]
    fn each_piece_is_counted_once() {
        let id = SessionId::new(SystemClock.uuid());
        let new = NewSession::new(id, jiff::Timestamp::UNIX_EPOCH, "/w", "demo:demo");
        let Some(Event::Session(SessionEvent::Created { session })) = create(new).unwrap().into_iter().next()
        else {
            panic!("a session is created first")
        };
        let message = |role, text: &str| {
            let parts = vec![Part::text(text)];
            Arc::new(Message {
                id: MessageId::new(SystemClock.uuid()),
                role,
                parts,
                created_at: session.created_at,
            })
        };
        let tool = |name: &str| ToolSpec {
            name: name.to_owned(),
            description: "Reads a file.".to_owned(),
            input_schema: json!({"type": "object"}),
        };
        let of_servers: Arc<[ToolSpec]> = vec![tool("mcp__files__read"), tool("mcp__files__list")].into();
        let offered = move |workspace: &str| {
            assert_eq!(workspace, "/w");
            Arc::clone(&of_servers)
        };
        let gauge = NativeContextMeter { tools: vec![tool("read_file")], server_tools: Box::new(offered) };
        let messages = [
            message(Role::User, "one"),
            message(Role::Assistant, "two"),
            message(Role::User, &"x".repeat(700)),
        ];
        let sections = gauge.measure(&session, &messages);
        let kinds: Vec<ContextKind> = sections.iter().map(|section| section.kind).collect();
        let expected = [
            ContextKind::SystemPrompt,
            ContextKind::Tools,
            ContextKind::Tools,
            ContextKind::User,
            ContextKind::Assistant,
        ];
        assert_eq!(kinds, expected);
        assert!(sections[2].tokens > sections[1].tokens, "{sections:?}");
        assert_eq!(sections[3].messages, 2);
        assert!(sections[3].tokens > 200 && sections[4].tokens < 20, "{sections:?}");
    }
}
