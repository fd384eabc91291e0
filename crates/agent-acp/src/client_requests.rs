//! The agent's requests to the daemon: permissions, files of the workspace, and commands in the sandbox. Each effect
//! goes by the session's policy, and by the policy alone: that the agent says it is harmless counts for nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    CLIENT_METHOD_NAMES, CreateTerminalRequest, Error, ReadTextFileRequest, RequestId, TerminalExitStatus,
    TerminalOutputResponse, WriteTextFileRequest,
};
use futures_util::{FutureExt, StreamExt};
use ostler_agent::FailedTurn;
use ostler_runner::{OutputSink, ReadText, RunCommand, ToolContext, ToolOutcome};
use ostler_types::{Delta, DeltaKind, JudgedCall, ToolCall, ToolCallId};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::effect::AgentEffect;
use crate::prompt_loop::PromptLoop;
use crate::recorder::action::{EffectPolicy, RecorderInput};
use crate::terminals::{LONGEST_COMMAND, TerminalBuffer, TerminalExit, command_line};

/// How many requests of an agent may be open at once.
const MAX_REQUESTS: usize = 256;

/// Work for the agent that is finished, or has got as far as a response.
pub(crate) struct FinishedWork {
    /// The call of the daemon's own that has ended, and how.
    ended: Option<(ToolCallId, ToolOutcome)>,
    response: Option<(RequestId, Result<Value, Error>)>,
}

impl PromptLoop<'_> {
    /// Takes a request of the agent.
    pub(crate) async fn take_request(
        &mut self,
        id: RequestId,
        method: &str,
        params: Value,
    ) -> Result<(), FailedTurn> {
        let names = &CLIENT_METHOD_NAMES;
        if self.open_requests.len() >= MAX_REQUESTS {
            let error = Error::internal_error().data(Value::from("too many requests are open"));
            self.lease.handle.connection.respond(&id, Err(error)).await;
            return Ok(());
        }
        self.open_requests.push((id.clone(), method.to_owned()));
        if method == names.session_request_permission {
            return self.take_permission_request(id, params).await;
        }
        if !self.agent.settings.serves_requests {
            self.respond(&id, Err(Error::method_not_found())).await;
            return Ok(());
        }
        let effect = if method == names.fs_read_text_file {
            parse_params(params).map(|ReadTextFileRequest { path, line, limit, .. }| AgentEffect::Read {
                path: path.to_string_lossy().into_owned(),
                line,
                limit,
            })
        } else if method == names.fs_write_text_file {
            parse_params(params).map(|WriteTextFileRequest { path, content, .. }| AgentEffect::Write {
                path: path.to_string_lossy().into_owned(),
                content,
            })
        } else if method == names.terminal_create {
            parse_params(params).and_then(|request| self.run_effect(&request))
        } else {
            self.take_terminal_request(&id, method, &params).await;
            return Ok(());
        };
        match effect {
            Ok(effect) => self.request_effect(id, effect).await,
            Err(error) => {
                self.respond(&id, Err(error)).await;
                Ok(())
            }
        }
    }

    fn run_effect(&self, request: &CreateTerminalRequest) -> Result<AgentEffect, Error> {
        let workspace = Path::new(&self.context.session.workspace_path);
        let line =
            command_line(request, workspace).map_err(|why| Error::invalid_params().data(Value::from(why)))?;
        Ok(AgentEffect::Run { line, limit: request.output_byte_limit })
    }

    /// Looks up what the policy says of an effect, and has the recorder decide.
    async fn request_effect(&mut self, request: RequestId, effect: AgentEffect) -> Result<(), FailedTurn> {
        let (name, input, kind) = effect.tool_call();
        let tools = self.agent.runner.toolbox().built_in_tools();
        let Some(tool) = tools.get(name) else {
            self.respond(&request, Err(Error::method_not_found())).await;
            return Ok(());
        };
        let is_risky = tool.warning(&input).is_some();
        let call = ToolCall { id: ToolCallId(String::new()), name: name.to_owned(), input };
        let workspace = Path::new(&self.context.session.workspace_path);
        let subject = tool.subject(&call.input, workspace).await;
        let judged = JudgedCall { call: &call, kind, subject: &subject, trusted: self.context.trusted };
        let asks = self.context.session.policy.approval.asks(&judged);
        self.record(RecorderInput::Effect { request, effect, policy: EffectPolicy { asks, is_risky } }).await
    }

    /// Begins to carry out an effect, and shows its output with the call. Where the call is the daemon's own, it ends
    /// with the effect.
    pub(crate) fn carry_out_effect(
        &mut self,
        request: RequestId,
        effect: AgentEffect,
        call: Option<ToolCallId>,
        is_own: bool,
    ) {
        let output = self.output_of(call.clone());
        let own = call.filter(|_| is_own);
        let runner = Arc::clone(&self.agent.runner);
        let (session, workspace) = (self.context.session.id, self.context.session.workspace_path.clone());
        let command = |line: String| RunCommand {
            session,
            workspace: workspace.clone(),
            line,
            timeout: LONGEST_COMMAND,
            // Where nothing confines, a person was asked whatever the policy says, and has said yes.
            unconfined: true,
        };
        let work = match effect {
            AgentEffect::Read { path, line, limit } => async move {
                let read = ReadText { session, workspace, path: path.clone(), line, limit };
                let read = runner.toolbox().read_text(read).await;
                let outcome = match &read {
                    Ok(text) => {
                        ToolOutcome::done(format!("Read {} bytes of {path}.", text.len()), Value::Null)
                    }
                    Err(why) => ToolOutcome::failed(why.clone()),
                };
                let response = read.map(|content| json!({"content": content})).map_err(refused_error);
                FinishedWork { ended: own.map(|own| (own, outcome)), response: Some((request, response)) }
            }
            .boxed(),
            AgentEffect::Write { path, content } => async move {
                let mut context = ToolContext::new(PathBuf::from(workspace), session, output);
                // Where nothing confines, a person was asked whatever the policy says, and has said yes.
                context.unconfined = true;
                let outcome = match runner.toolbox().built_in_tools().get("write_file") {
                    Some(tool) => tool.run(json!({"path": path, "content": content}), context).await,
                    None => ToolOutcome::failed("files cannot be written here"),
                };
                let response =
                    if outcome.ok { Ok(json!({})) } else { Err(refused_error(outcome.text.clone())) };
                FinishedWork { ended: own.map(|own| (own, outcome)), response: Some((request, response)) }
            }
            .boxed(),
            AgentEffect::Run { line, limit } => {
                match self.terminals.start(runner, output, command(line), limit) {
                    Err(why) => {
                        let ended = own.map(|own| (own, ToolOutcome::failed("it was not started")));
                        let response = Some((request, Err(refused_error(why))));
                        async move { FinishedWork { ended, response } }.boxed()
                    }
                    Ok((id, exit)) => {
                        // The agent gets the terminal's name at once, and the call ends with the command.
                        let response = Some((request, Ok(json!({"terminalId": id}))));
                        self.work.push(async move { FinishedWork { ended: None, response } }.boxed());
                        async move {
                            let outcome = exit.outcome().await;
                            FinishedWork { ended: own.map(|own| (own, outcome)), response: None }
                        }
                        .boxed()
                    }
                }
            }
        };
        self.work.push(work);
    }

    /// Records the end of a call of the daemon's own, and responds to the agent.
    pub(crate) async fn take_finished_work(&mut self, finished: FinishedWork) -> Result<(), FailedTurn> {
        let FinishedWork { ended, response } = finished;
        if let Some((call, outcome)) = ended {
            self.record(RecorderInput::OwnCallEnded { call, outcome }).await?;
        }
        if let Some((request, response)) = response {
            self.respond(&request, response).await;
        }
        Ok(())
    }

    /// Ends the work that is still being done when the agent has stopped.
    pub(crate) async fn end_work(&mut self) -> Result<(), FailedTurn> {
        self.terminals.end_all();
        while let Some(finished) = self.work.next().await {
            self.take_finished_work(finished).await?;
        }
        Ok(())
    }

    /// Takes a request about a terminal.
    async fn take_terminal_request(&mut self, id: &RequestId, method: &str, params: &Value) {
        let names = &CLIENT_METHOD_NAMES;
        let terminal = params.get("terminalId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = [
            names.terminal_output,
            names.terminal_wait_for_exit,
            names.terminal_kill,
            names.terminal_release,
        ];
        if !known.contains(&method) {
            return self.respond(id, Err(Error::method_not_found())).await;
        }
        let Some((shown, exit)) = self.terminals.get(&terminal) else {
            let error = Error::resource_not_found(Some(terminal));
            return self.respond(id, Err(error)).await;
        };
        if method == names.terminal_wait_for_exit {
            let request = id.clone();
            let waiting = async move {
                let status = serde_json::to_value(to_exit_status(&exit.wait().await)).unwrap_or_default();
                FinishedWork { ended: None, response: Some((request, Ok(status))) }
            };
            return self.work.push(waiting.boxed());
        }
        let answer = if method == names.terminal_output {
            output_response(&shown, exit.now().as_ref())
        } else {
            self.terminals.end(&terminal, method == names.terminal_release);
            json!({})
        };
        self.respond(id, Ok(answer)).await;
    }

    /// Responds to a request of the agent, once.
    pub(crate) async fn respond(&mut self, id: &RequestId, response: Result<Value, Error>) {
        if let Some(at) = self.open_requests.iter().position(|(open, _)| open == id) {
            self.open_requests.swap_remove(at);
            self.lease.handle.connection.respond(id, response).await;
        }
    }

    /// Shows the output of what is done for the agent with a call.
    fn output_of(&self, call: Option<ToolCallId>) -> Arc<OutputSink> {
        let context = self.context.clone();
        let offset = std::sync::atomic::AtomicU64::new(0);
        Arc::new(move |_: &'static str, text: &str| {
            let Some(tool_call_id) = call.clone() else { return };
            // Both streams go to one terminal, in the order in which they come.
            let offset = offset.fetch_add(text.len() as u64, std::sync::atomic::Ordering::Relaxed);
            let kind = DeltaKind::ToolOutput { tool_call_id, stream: "stdout".to_owned() };
            context.delta(Delta { kind, offset, text: text.to_owned() });
        })
    }
}

fn parse_params<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params)
        .map_err(|error| Error::invalid_params().data(Value::from(error.to_string())))
}

fn refused_error(why: String) -> Error {
    Error::new(-32603, why)
}

fn to_exit_status(exit: &TerminalExit) -> TerminalExitStatus {
    TerminalExitStatus::new().exit_code(exit.code).signal(exit.signal.clone())
}

fn output_response(shown: &TerminalBuffer, exit: Option<&TerminalExit>) -> Value {
    let (text, is_cut) = shown.text();
    let answer = TerminalOutputResponse::new(text, is_cut).exit_status(exit.map(to_exit_status));
    serde_json::to_value(answer).unwrap_or_default()
}
