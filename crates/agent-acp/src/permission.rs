//! Questions to people: the agent's requests for permission, and calls that the daemon makes for the agent.

use std::path::Path;

use agent_client_protocol::v1::schema::{Error, RequestId, RequestPermissionRequest};
use futures_util::FutureExt;
use ostler_acp::from_options;
use ostler_agent::{FailedTurn, ReportError};
use ostler_runner::LinkTarget;
use ostler_types::{Accepted, ProposedCall, Subject, ToolCall, ToolCallId, ToolKind, TurnReport};
use serde_json::Value;

use crate::prompt_loop::PromptLoop;
use crate::recorder::action::{Asker, RecorderInput};

/// A question that was answered, or cannot be any more.
pub(crate) struct AnsweredQuestion {
    call: ToolCallId,
    answer: Result<Accepted, ReportError>,
}

impl PromptLoop<'_> {
    /// Takes the agent's question whether it may make a call.
    pub(crate) async fn take_permission_request(
        &mut self,
        request: RequestId,
        params: Value,
    ) -> Result<(), FailedTurn> {
        match serde_json::from_value(params) {
            Ok(RequestPermissionRequest { tool_call, options, .. }) => {
                let (call, options) = (Box::new(tool_call), from_options(&options));
                self.record(RecorderInput::Permission { request, call, options }).await
            }
            Err(error) => {
                let error = Error::invalid_params().data(Value::String(error.to_string()));
                self.respond(&request, Err(error)).await;
                Ok(())
            }
        }
    }

    /// Begins to ask a person about a call. The question is put when the loop next waits, before it takes anything
    /// else.
    pub(crate) async fn ask(&mut self, tool_call: ToolCall, kind: ToolKind, asker: Asker) {
        let (context, call) = (self.context.clone(), tool_call.id.clone());
        let (summary, risk, subject, options) = match asker {
            Asker::Agent { summary, options } => (summary, None, Subject::Input, options),
            Asker::Daemon => {
                let tools = self.agent.runner.toolbox().built_in_tools();
                let tool = tools.get(&tool_call.name);
                let written = tool.map(|tool| tool.written_paths(&tool_call.input)).unwrap_or_default();
                let workspace = context.session.workspace_path.clone();
                let links = self.agent.runner.workspaces().link_targets(workspace, written).await;
                let links = links.iter().map(LinkTarget::to_string);
                let summary = tool.map(|tool| tool.summary(&tool_call.input)).into_iter();
                let summary = summary.chain(links).collect::<Vec<_>>().join("; ");
                let summary = format!("{summary}\nThe agent {} wants this done.", self.agent.program.name);
                let risk = tool.and_then(|tool| tool.warning(&tool_call.input));
                let workspace = Path::new(&context.session.workspace_path);
                let subject = match tool {
                    Some(tool) => tool.subject(&tool_call.input, workspace).await,
                    None => Subject::Input,
                };
                (summary, risk, subject, Vec::new())
            }
        };
        let trusted = context.trusted;
        let proposed = ProposedCall { tool_call, kind, summary, risk, trusted, subject, options };
        let asking = async move {
            AnsweredQuestion { call, answer: context.report(TurnReport::CallProposed(proposed)).await }
        };
        self.questions.push(asking.boxed());
    }

    /// Takes the answer to a question.
    pub(crate) async fn take_answer(
        &mut self,
        AnsweredQuestion { call, answer }: AnsweredQuestion,
    ) -> Result<(), FailedTurn> {
        self.record(RecorderInput::Answer { call, accepted: answer? }).await
    }
}
