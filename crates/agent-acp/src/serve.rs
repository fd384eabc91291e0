//! What an agent has us do: read and write files of the workspace, and run commands in the sandbox. Each goes by
//! the session's policy, and by the policy alone: that the agent says it is harmless counts for nothing.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_client_protocol::v1::schema::{
    CLIENT_METHOD_NAMES, CreateTerminalRequest, Error, ReadTextFileRequest, RequestId, TerminalExitStatus,
    TerminalOutputResponse, WriteTextFileRequest,
};
use futures_util::FutureExt;
use ostler_acp::subjects;
use ostler_agent::Failed;
use ostler_tools::{ToolContext, ToolOutcome};
use ostler_types::{Delta, DeltaKind, ToolCall, ToolCallId, ToolKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::calls::{CallKey, Standing};
use crate::files;
use crate::question::Question;
use crate::terminals::{Exit, Shown, command_line, without_session_variable};
use crate::turn::Turn;

/// How many requests of an agent may be open at once.
const MAX_REQUESTS: usize = 256;

/// Something that is done for the agent.
#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Read { path: String, line: Option<u32>, limit: Option<u32> },
    Write { path: String, content: String },
    Run { line: String, limit: Option<u64> },
}

/// Something that was done for the agent.
pub(crate) struct Worked {
    /// The call that it was, if it was one of its own.
    key: Option<CallKey>,
    outcome: Option<ToolOutcome>,
    /// Who is to be told what.
    answer: Option<(RequestId, Result<Value, Error>)>,
}

impl Turn<'_> {
    /// Takes a request of the agent.
    pub(crate) async fn serve(&mut self, id: RequestId, method: &str, params: Value) -> Result<(), Failed> {
        let names = &CLIENT_METHOD_NAMES;
        if self.awaiting.len() >= MAX_REQUESTS {
            let error = Error::internal_error().data(Value::from("too many requests are open"));
            self.lease.handle.connection.respond(&id, Err(error)).await;
            return Ok(());
        }
        self.awaiting.push((id.clone(), method.to_owned()));
        if method == names.session_request_permission {
            return self.permission(id, params).await;
        }
        if !self.agent.settings.serves {
            self.answer(&id, Err(Error::method_not_found())).await;
            return Ok(());
        }
        let effect = if method == names.fs_read_text_file {
            parsed(params).map(|ReadTextFileRequest { path, line, limit, .. }| Effect::Read {
                path: path.to_string_lossy().into_owned(),
                line,
                limit,
            })
        } else if method == names.fs_write_text_file {
            parsed(params).map(|WriteTextFileRequest { path, content, .. }| Effect::Write {
                path: path.to_string_lossy().into_owned(),
                content,
            })
        } else if method == names.terminal_create {
            parsed(params).and_then(|request| self.run_effect(&request))
        } else {
            self.terminal(&id, method, &params).await;
            return Ok(());
        };
        match effect {
            Ok(effect) => {
                // It belongs to a call that does not wait for anybody.
                self.start_at_work().await?;
                self.request_effect(id, effect).await
            }
            Err(error) => {
                self.answer(&id, Err(error)).await;
                Ok(())
            }
        }
    }

    fn run_effect(&self, request: &CreateTerminalRequest) -> Result<Effect, Error> {
        let workspace = Path::new(&self.context.session.workspace_path);
        let line =
            command_line(request, workspace).map_err(|why| Error::invalid_params().data(Value::from(why)))?;
        Ok(Effect::Run { line, limit: request.output_byte_limit })
    }

    /// Does what the agent wants if the policy allows it or a person has said yes to it; asks otherwise.
    async fn request_effect(&mut self, id: RequestId, effect: Effect) -> Result<(), Failed> {
        let (name, input, kind) = effect.call();
        let Some(tool) = self.agent.tools.get(name) else {
            self.answer(&id, Err(Error::method_not_found())).await;
            return Ok(());
        };
        let is_risky = tool.warning(&input).is_some();
        let call = ToolCall { id: ToolCallId(String::new()), name: name.to_owned(), input };
        let workspace = Path::new(&self.context.session.workspace_path);
        let proof = tool.read_proof(&call.input, workspace).await;
        let asks = self.context.session.policy.approval.asks(&call, kind, self.context.trusted, &proof);
        let covering = if is_risky { None } else { self.covering(&effect, asks) };
        if covering.is_some() || (kind == ToolKind::Read && !asks) {
            self.carry_out(covering, id, effect);
            return Ok(());
        }
        let clock = &self.context.clock;
        let fresh = || format!("call_{}", clock.uuid().simple());
        let key = self.calls.add_own(name, call.input, kind, fresh);
        self.draft.call(key.clone());
        self.ask(key, Question::Own { request: id, effect }).await
    }

    /// The open call that this is a part of: any, where the policy does not ask; else one that a person has said
    /// yes to and that names the very file or command.
    fn covering(&self, effect: &Effect, asks: bool) -> Option<CallKey> {
        let workspace = Path::new(&self.context.session.workspace_path);
        let names = |told: &agent_client_protocol::v1::schema::ToolCall| match effect {
            Effect::Read { path, .. } | Effect::Write { path, .. } => {
                let absolute = |path: &Path| workspace.join(path);
                subjects(told).paths.iter().any(|named| absolute(named) == absolute(Path::new(path)))
            }
            Effect::Run { line, .. } => {
                let line = without_session_variable(line);
                subjects(told).commands.iter().any(|named| named == line)
            }
        };
        let is_covering = |key: &&CallKey| {
            let Some(known) = self.calls.get(key) else { return false };
            let is_named = || known.is_granted && known.told.as_deref().is_some_and(names);
            known.standing == Standing::Started && (!asks || is_named())
        };
        self.calls.open.iter().find(is_covering).cloned()
    }

    /// Begins to do it.
    pub(crate) fn carry_out(&mut self, key: Option<CallKey>, request: RequestId, effect: Effect) {
        let call = key.as_ref().and_then(|key| self.calls.get(key)).map(|known| known.call.id.clone());
        // A call that covers this one has its own end.
        let key = key.filter(|key| matches!(key, CallKey::Own(_)));
        let context = self.tool_context(call);
        let tools = Arc::clone(&self.agent.tools);
        let work = match effect {
            Effect::Read { path, line, limit } => async move {
                let read = files::read(&tools, context, &path, line, limit).await;
                let outcome = match &read {
                    Ok(text) => {
                        ToolOutcome::done(format!("Read {} bytes of {path}.", text.len()), Value::Null)
                    }
                    Err(why) => ToolOutcome::failed(why.clone()),
                };
                let answer = read.map(|content| json!({"content": content})).map_err(refused);
                Worked { key, outcome: Some(outcome), answer: Some((request, answer)) }
            }
            .boxed(),
            Effect::Write { path, content } => async move {
                let outcome = match tools.get("write_file") {
                    Some(tool) => tool.run(json!({"path": path, "content": content}), context).await,
                    None => ToolOutcome::failed("files cannot be written here"),
                };
                let answer = if outcome.ok { Ok(json!({})) } else { Err(refused(outcome.text.clone())) };
                Worked { key, outcome: Some(outcome), answer: Some((request, answer)) }
            }
            .boxed(),
            Effect::Run { line, limit } => {
                let started = self.terminals.start(tools, context, line, limit);
                let (answer, exit) = match started {
                    Ok((id, exit)) => (Ok(json!({"terminalId": id})), Some(exit)),
                    Err(why) => (Err(refused(why)), None),
                };
                let answer = Some((request, answer));
                match exit {
                    None => {
                        let outcome = Some(ToolOutcome::failed("it was not started"));
                        async move { Worked { key, outcome, answer } }.boxed()
                    }
                    Some(exit) => {
                        self.works.push(async move { Worked { key: None, outcome: None, answer } }.boxed());
                        async move { Worked { key, outcome: Some(exit.outcome().await), answer: None } }
                            .boxed()
                    }
                }
            }
        };
        self.works.push(work);
    }

    /// Takes what was done: the agent is told, and a call of its own gets its result.
    pub(crate) async fn worked(&mut self, worked: Worked) -> Result<(), Failed> {
        let Worked { key, outcome, answer } = worked;
        if let (Some(key), Some(outcome)) = (key, outcome) {
            self.end_own(&key, outcome).await?;
        }
        if let Some((request, answer)) = answer {
            self.answer(&request, answer).await;
        }
        self.go_on(false).await
    }

    async fn end_own(&mut self, key: &CallKey, outcome: ToolOutcome) -> Result<(), Failed> {
        let Some(known) = self.calls.get(key) else { return Ok(()) };
        let id = known.call.id.clone();
        match known.standing {
            Standing::Detached => {
                let last = outcome.text.lines().last().unwrap_or_default().to_owned();
                self.notices.push(format!("The call {id} has ended: {last}"));
                self.calls.end(key, Standing::Ended);
                Ok(())
            }
            Standing::Started => self.end_own_call(key, outcome).await,
            Standing::Drafted | Standing::Open | Standing::Asking | Standing::Denied | Standing::Ended => {
                Ok(())
            }
        }
    }

    /// Ends what is still being done when the agent has stopped: nobody waits for it.
    pub(crate) async fn end_works(&mut self) -> Result<(), Failed> {
        self.terminals.end_all();
        while let Some(worked) = futures_util::StreamExt::next(&mut self.works).await {
            self.worked(worked).await?;
        }
        Ok(())
    }

    /// Requests about a terminal that there is.
    async fn terminal(&mut self, id: &RequestId, method: &str, params: &Value) {
        let names = &CLIENT_METHOD_NAMES;
        let terminal = params.get("terminalId").and_then(Value::as_str).unwrap_or_default().to_owned();
        let known = [
            names.terminal_output,
            names.terminal_wait_for_exit,
            names.terminal_kill,
            names.terminal_release,
        ];
        if !known.contains(&method) {
            return self.answer(id, Err(Error::method_not_found())).await;
        }
        let Some((shown, exit)) = self.terminals.get(&terminal) else {
            let error = Error::resource_not_found(Some(terminal));
            return self.answer(id, Err(error)).await;
        };
        if method == names.terminal_wait_for_exit {
            let request = id.clone();
            let waiting = async move {
                let status = serde_json::to_value(status(&exit.wait().await)).unwrap_or_default();
                Worked { key: None, outcome: None, answer: Some((request, Ok(status))) }
            };
            return self.works.push(waiting.boxed());
        }
        let answer = if method == names.terminal_output {
            output(&shown, exit.now().as_ref())
        } else {
            self.terminals.end(&terminal, method == names.terminal_release);
            json!({})
        };
        self.answer(id, Ok(answer)).await;
    }

    /// Answers a request of the agent, once.
    pub(crate) async fn answer(&mut self, id: &RequestId, outcome: Result<Value, Error>) {
        if let Some(at) = self.awaiting.iter().position(|(open, _)| open == id) {
            self.awaiting.swap_remove(at);
            self.lease.handle.connection.respond(id, outcome).await;
        }
    }

    /// Where our tools run, and where their output is shown.
    fn tool_context(&self, call: Option<ToolCallId>) -> ToolContext {
        let context = self.context.clone();
        let offset = std::sync::atomic::AtomicU64::new(0);
        let shown = move |stream: &'static str, text: &str| {
            let Some(tool_call_id) = call.clone() else { return };
            // Both streams go to one terminal, in the order in which they come.
            let _ = stream;
            let offset = offset.fetch_add(text.len() as u64, std::sync::atomic::Ordering::Relaxed);
            let kind = DeltaKind::ToolOutput { tool_call_id, stream: "stdout".to_owned() };
            context.delta(Delta { kind, offset, text: text.to_owned() });
        };
        let workspace = PathBuf::from(&self.context.session.workspace_path);
        let mut made = ToolContext::new(workspace, self.context.session.id, Arc::new(shown));
        // Where nothing confines, a person was asked whatever the policy says, and has said yes.
        made.unconfined = true;
        made
    }
}

impl Effect {
    /// The same as a call of one of our tools.
    fn call(&self) -> (&'static str, Value, ToolKind) {
        match self {
            Effect::Read { path, .. } => ("read_file", json!({"path": path}), ToolKind::Read),
            Effect::Write { path, content } => {
                ("write_file", json!({"path": path, "content": content}), ToolKind::Write)
            }
            Effect::Run { line, .. } => ("shell", json!({"command": line}), ToolKind::Exec),
        }
    }
}

fn parsed<T: DeserializeOwned>(params: Value) -> Result<T, Error> {
    serde_json::from_value(params)
        .map_err(|error| Error::invalid_params().data(Value::from(error.to_string())))
}

fn refused(why: String) -> Error {
    Error::new(-32603, why)
}

fn status(exit: &Exit) -> TerminalExitStatus {
    TerminalExitStatus::new().exit_code(exit.code).signal(exit.signal.clone())
}

fn output(shown: &Shown, exit: Option<&Exit>) -> Value {
    let (text, is_cut) = shown.text();
    let answer = TerminalOutputResponse::new(text, is_cut).exit_status(exit.map(status));
    serde_json::to_value(answer).unwrap_or_default()
}
