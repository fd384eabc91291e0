//! What a person is asked: whether the agent may do what it wants to, and whether we may do what it wants us to.

use std::path::Path;

use agent_client_protocol::v1::schema::{Error, RequestId, RequestPermissionRequest};
use futures_util::FutureExt;
use ostler_acp::{call_kind, from_call, from_options, summary, to_permission_answer};
use ostler_agent::{Failed, ReportError};
use ostler_types::{Accepted, ApprovalOption, ProposedCall, ReadProof, Report, ToolResult};
use serde_json::Value;

use crate::calls::{CallKey, Standing};
use crate::serve::Effect;
use crate::turn::Turn;

/// A question that was answered, or cannot be any more.
pub(crate) struct Answered {
    key: CallKey,
    question: Question,
    answer: Result<Accepted, ReportError>,
}

/// Who waits for the answer.
#[derive(Clone)]
pub(crate) enum Question {
    /// The agent, which has offered these answers.
    Agents { request: RequestId, options: Vec<ApprovalOption> },
    /// We do, to do this for the agent.
    Own { request: RequestId, effect: Effect },
}

/// A question that has to wait, because another one is open and its call cannot be recorded beside it.
pub(crate) struct Postponed {
    key: CallKey,
    question: Question,
}

impl Turn<'_> {
    /// The agent asks whether it may make a call.
    pub(crate) async fn permission(&mut self, request: RequestId, params: Value) -> Result<(), Failed> {
        let asked: RequestPermissionRequest = match serde_json::from_value(params) {
            Ok(asked) => asked,
            Err(error) => {
                let error = Error::invalid_params().data(Value::String(error.to_string()));
                self.answer(&request, Err(error)).await;
                return Ok(());
            }
        };
        let options = from_options(&asked.options);
        let known = self.calls.newest(&asked.tool_call.tool_call_id.0);
        let standing = known.as_ref().and_then(|key| self.calls.get(key)).map(|known| known.standing);
        // A call that has begun, or that was asked about, is asked about as another one.
        let is_again = matches!(
            standing,
            Some(
                Standing::Asking
                    | Standing::Started
                    | Standing::Detached
                    | Standing::Denied
                    | Standing::Ended
            )
        );
        let key = if is_again {
            self.call_again(asked.tool_call).await?
        } else {
            self.hear_call(asked.tool_call).await?
        };
        self.ask(key, Question::Agents { request, options }).await
    }

    /// Another record of a call that has one.
    async fn call_again(
        &mut self,
        update: agent_client_protocol::v1::schema::ToolCallUpdate,
    ) -> Result<CallKey, Failed> {
        let mut told = crate::calls::call_of(update.clone());
        let known =
            self.calls.newest(&update.tool_call_id.0).and_then(|key| self.calls.get(&key)?.told.clone());
        if let Some(known) = known {
            told = *known;
            told.update(update.fields);
        }
        told.status = agent_client_protocol::v1::schema::ToolCallStatus::Pending;
        let clock = &self.context.clock;
        let key = self.calls.add(told, || format!("call_{}", clock.uuid().simple()));
        self.draft.call(key.clone());
        Ok(key)
    }

    /// Puts a question, once its call stands in the log.
    pub(crate) async fn ask(&mut self, key: CallKey, question: Question) -> Result<(), Failed> {
        let is_drafted = self.calls.get(&key).is_some_and(|known| known.standing == Standing::Drafted);
        if is_drafted && self.calls.is_asking() {
            self.postponed.push(Postponed { key, question });
            return Ok(());
        }
        if is_drafted {
            self.record_all().await?;
        }
        match question {
            Question::Agents { request, options } => self.ask_for_agent(key, request, options).await,
            Question::Own { request, effect } => {
                self.ask_for_us(key, request, effect);
                Ok(())
            }
        }
    }

    /// Puts the questions that had to wait, one after the other.
    pub(crate) async fn ask_postponed(&mut self) -> Result<(), Failed> {
        if self.calls.is_asking() || self.postponed.is_empty() {
            return Ok(());
        }
        let Postponed { key, question } = self.postponed.remove(0);
        self.ask(key, question).await
    }

    async fn ask_for_agent(
        &mut self,
        key: CallKey,
        request: RequestId,
        options: Vec<ApprovalOption>,
    ) -> Result<(), Failed> {
        let known = self.calls.get_mut(&key).filter(|known| known.standing == Standing::Open);
        let (Some(known), false) = (known, options.is_empty()) else {
            // Nobody can be asked a question that has no answers, or about a call that is over.
            self.respond(&request, None).await;
            return Ok(());
        };
        let Some(told) = &known.told else { return Ok(()) };
        known.call = from_call(&self.agent.program.name, known.call.id.clone(), told);
        known.kind = call_kind(told);
        known.standing = Standing::Asking;
        let report = Report::CallProposed(ProposedCall {
            tool_call: known.call.clone(),
            kind: known.kind,
            summary: summary(told),
            risk: None,
            trusted: self.context.trusted,
            proof: ReadProof::Missing,
            options: options.clone(),
        });
        let (context, question) = (self.context.clone(), Question::Agents { request, options });
        let asking = async move { Answered { key, question, answer: context.report(report).await } };
        self.questions.push(asking.boxed());
        Ok(())
    }

    fn ask_for_us(&mut self, key: CallKey, request: RequestId, effect: Effect) {
        let Some(known) = self.calls.get_mut(&key) else { return };
        known.standing = Standing::Asking;
        let (tool_call, kind) = (known.call.clone(), known.kind);
        let tool = self.agent.tools.get(&tool_call.name).cloned();
        let agent = self.agent.program.name.clone();
        let (context, question) = (self.context.clone(), Question::Own { request, effect });
        let asking = async move {
            let summary = tool.as_ref().map(|tool| tool.summary(&tool_call.input)).unwrap_or_default();
            let workspace = Path::new(&context.session.workspace_path);
            let proof = match &tool {
                Some(tool) => tool.read_proof(&tool_call.input, workspace).await,
                None => ReadProof::Missing,
            };
            let report = Report::CallProposed(ProposedCall {
                kind,
                summary: format!("{summary}\nThe agent {agent} wants this done."),
                risk: tool.as_ref().and_then(|tool| tool.warning(&tool_call.input)),
                trusted: context.trusted,
                proof,
                options: Vec::new(),
                tool_call,
            });
            Answered { key, question, answer: context.report(report).await }
        };
        self.questions.push(asking.boxed());
    }

    /// Takes an answer: the agent hears it, or we do what we were asked about.
    pub(crate) async fn answered(&mut self, answered: Answered) -> Result<(), Failed> {
        let Answered { key, question, answer } = answered;
        let (is_yes, chosen, reason) = match answer? {
            Accepted::Chosen { option, allowed } => (allowed, Some(option), None),
            Accepted::Denied { reason } => (false, None, reason),
            _ => (true, None, None),
        };
        match question {
            Question::Agents { request, options } => {
                // A plain answer that has no counterpart cannot be given; the agent hears that there is none.
                let chosen = chosen.filter(|chosen| options.iter().any(|option| option.id == *chosen));
                let is_yes = is_yes && chosen.is_some();
                self.settle(&key, is_yes, reason).await?;
                self.respond(&request, chosen.as_deref()).await;
            }
            Question::Own { request, effect } => {
                self.settle(&key, is_yes, reason.clone()).await?;
                if is_yes {
                    self.carry_out(Some(key), request, effect);
                } else {
                    let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
                    let error = Error::new(-32603, format!("The user denied this{why}"));
                    self.answer(&request, Err(error)).await;
                }
            }
        }
        self.go_on(false).await
    }

    /// Records what follows for the call.
    async fn settle(&mut self, key: &CallKey, is_yes: bool, reason: Option<String>) -> Result<(), Failed> {
        let Some(known) = self.calls.get_mut(key) else { return Ok(()) };
        known.is_granted = is_yes;
        let id = known.call.id.clone();
        if is_yes {
            return self.start(key).await;
        }
        let why = reason.map_or_else(String::new, |reason| format!(": {reason}"));
        let result = ToolResult::failed(id, format!("The user denied this call{why}"));
        self.end_call(key, result, Standing::Denied).await
    }

    async fn respond(&mut self, request: &RequestId, chosen: Option<&str>) {
        let answer = serde_json::to_value(to_permission_answer(chosen)).map_err(|_| Error::internal_error());
        self.answer(request, answer).await;
    }
}
