//! Puts what an agent tells into the order of the log: a message, its calls, their results, the next message.
//!
//! Agents tell in another order: calls side by side, text beside calls, calls inside calls. So calls gather in
//! the draft until one of them begins, and what comes while calls are open waits in the next draft. Where that
//! would wait for ever, because a call asks for something while another is open, the open ones get a result that
//! says that they go on ([`Turn::detach_open`]), and what comes of them is recorded as a call of its own.

use agent_client_protocol::v1::schema::ToolCallUpdate;
use ostler_acp::{Outcome, Piece, call_kind, from_call, from_outcome, has_ended, plain};
use ostler_agent::{Failed, ReportError, TurnContext};
use ostler_tools::ToolOutcome;
use ostler_types::{Limits, Message, Part, RefusalCode, Report, Role, ToolCallId, ToolResult, Usage};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::calls::{CallKey, QUESTION_TIME, Standing, call_of, has_begun, has_input};
use crate::draft::{Draft, Voice};
use crate::turn::Turn;

/// The longest piece of text that is taken at once.
const PIECE_BYTES: usize = 128 * 1024;
/// How much of a result's text stands in the log, the rest beside it.
pub(crate) const TEXT_BYTES: usize = 32 * 1024;

impl Turn<'_> {
    /// A piece of the agent's answer or thinking. Text after calls begins the next message.
    pub(crate) async fn say(
        &mut self,
        voice: Voice,
        text: String,
        message: Option<String>,
    ) -> Result<(), Failed> {
        if text.is_empty() {
            return Ok(());
        }
        self.count(text.len())?;
        let is_next = self.draft.calls().next().is_some()
            || (!self.draft.is_empty() && message.is_some() && self.draft.message != message);
        if is_next && self.calls.open.is_empty() {
            self.record_all().await?;
        }
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
            rest = after;
            self.make_room(piece.len()).await?;
            self.draft.message.clone_from(&message);
            let delta = self.draft.say(voice, piece.to_owned(), || self.context.message_id());
            self.context.delta(delta);
        }
        Ok(())
    }

    /// Something in the agent's answer that is no text.
    pub(crate) async fn say_piece(&mut self, piece: Piece) -> Result<(), Failed> {
        let (kind, mime_type, bytes) = match piece {
            Piece::Image { mime_type, bytes } => ("image", mime_type, bytes),
            Piece::Audio { mime_type, bytes } => ("audio", mime_type, bytes),
            Piece::File { mime_type, bytes, .. } => ("file", mime_type, bytes),
            Piece::Link { name, uri } => {
                let link = format!("[{}]({})", plain(&name, 500), plain(&uri, 2_000));
                return self.say(Voice::Answer, link, None).await;
            }
            Piece::Text(text) => return self.say(Voice::Answer, text, None).await,
        };
        self.count(bytes.len())?;
        let name = format!("{kind}_{}", self.context.clock.uuid().simple());
        let reference = self.context.put_artifact(name, bytes).await?;
        let mime_type = plain(&mime_type, 100);
        self.draft.add(match kind {
            "image" => Part::Image { reference, mime_type },
            "audio" => Part::Audio { reference, mime_type },
            _ => Part::File { reference, mime_type },
        });
        Ok(())
    }

    /// What the agent tells of a call, known or new. Returns which one it is.
    pub(crate) async fn hear_call(&mut self, update: ToolCallUpdate) -> Result<CallKey, Failed> {
        self.count(64)?;
        let id = update.tool_call_id.0.to_string();
        let Some(key) = self.calls.newest(&id) else { return self.new_call(update).await };
        let standing = self.calls.get(&key).map(|known| known.standing);
        match standing {
            Some(Standing::Ended) | None => {}
            Some(Standing::Denied) => self.note_if_done(&key, update),
            Some(Standing::Detached) => {
                let told = self.calls.get_mut(&key).and_then(|known| known.told.as_mut());
                if let Some(told) = told {
                    told.update(update.fields);
                    if has_ended(told).is_some() {
                        let told = (**told).clone();
                        self.calls.end(&key, Standing::Ended);
                        return self.draft_call(told).await;
                    }
                }
            }
            Some(Standing::Drafted | Standing::Open | Standing::Asking | Standing::Started) => {
                if let Some(known) = self.calls.get_mut(&key)
                    && let Some(told) = &mut known.told
                {
                    told.update(update.fields);
                    if known.at_work.is_none() && has_begun(told) {
                        known.at_work = Some(Instant::now());
                    }
                }
                self.go_on(false).await?;
            }
        }
        Ok(key)
    }

    async fn new_call(&mut self, update: ToolCallUpdate) -> Result<CallKey, Failed> {
        let key = self.draft_call(call_of(update)).await?;
        self.go_on(false).await?;
        Ok(key)
    }

    async fn draft_call(
        &mut self,
        told: agent_client_protocol::v1::schema::ToolCall,
    ) -> Result<CallKey, Failed> {
        if self.draft.calls().count() >= Limits::CALLS {
            self.record_all().await?;
        }
        let clock = &self.context.clock;
        let key = self.calls.add(told, || format!("call_{}", clock.uuid().simple()));
        self.draft.call(key.clone());
        Ok(key)
    }

    /// An agent that did what it was told not to do is found out, if it says so.
    fn note_if_done(&mut self, key: &CallKey, update: ToolCallUpdate) {
        if has_ended(&call_of(update)) == Some(true)
            && let Some(known) = self.calls.get_mut(key)
        {
            known.standing = Standing::Ended;
            let id = &known.call.id;
            self.notices.push(format!("The agent says that it carried out the call {id}, which was denied."));
        }
    }

    /// Records what can be recorded: results, the end of the batch, and the next message if one of its calls has
    /// begun or nothing more is known at the moment.
    pub(crate) async fn go_on(&mut self, is_quiet: bool) -> Result<(), Failed> {
        loop {
            for key in self.calls.open.clone() {
                self.advance(&key).await?;
            }
            if !self.calls.open.is_empty() {
                return Ok(());
            }
            self.complete_batch().await?;
            let is_due = |key: &CallKey| {
                let told = self.calls.get(key).and_then(|known| known.told.as_ref());
                told.is_none_or(|told| has_begun(told) || (is_quiet && has_input(told)))
            };
            if !self.draft.calls().any(is_due) {
                break;
            }
            self.record_draft("tool_use").await?;
        }
        self.ask_postponed().await
    }

    /// Makes sure that nothing is open and nothing is in the draft that has calls.
    pub(crate) async fn record_all(&mut self) -> Result<(), Failed> {
        self.detach_open().await?;
        if !self.draft.is_empty() && self.calls.open.is_empty() {
            let reason = if self.draft.calls().next().is_some() { "tool_use" } else { "end_turn" };
            self.record_draft(reason).await?;
            for key in self.calls.open.clone() {
                self.advance(&key).await?;
            }
            if self.calls.open.is_empty() {
                self.complete_batch().await?;
            }
        }
        Ok(())
    }

    /// Makes the next message begin where this one would become too long.
    async fn make_room(&mut self, bytes: usize) -> Result<(), Failed> {
        if self.draft.has_room(bytes) {
            return Ok(());
        }
        if self.calls.is_asking() {
            // What comes beside a question waits for its answer, but not without end.
            return self.draft.refuse_endless();
        }
        self.record_all().await
    }

    /// Ends the message that is being written, and begins its calls.
    pub(crate) async fn record_draft(&mut self, stop_reason: &str) -> Result<(), Failed> {
        let draft = std::mem::take(&mut self.draft);
        let agent = &self.agent.program.name;
        let calls = &mut self.calls;
        let part = |key: &CallKey| {
            let known = calls.get_mut(key).expect("a call in the draft is known");
            if let Some(told) = &known.told {
                known.call = from_call(agent, known.call.id.clone(), told);
                known.kind = call_kind(told);
            }
            known.standing = Standing::Open;
            Part::ToolCall { call: known.call.clone() }
        };
        let (id, parts, open) = Draft::finish(draft, || self.context.message_id(), part);
        let created_at = self.context.clock.now();
        let message = Message { id, role: Role::Assistant, parts, created_at };
        let (model, stop_reason) = (self.context.session.model.clone(), stop_reason.to_owned());
        let usage = Usage::default();
        self.context.report(Report::StepFinished { model, message, stop_reason, usage }).await?;
        if !open.is_empty() {
            self.calls.open = open;
            self.has_batch = true;
            let parallel = self.calls.open.len() > 1;
            self.context.report(Report::BatchStarted { parallel }).await?;
        }
        Ok(())
    }

    async fn complete_batch(&mut self) -> Result<(), Failed> {
        if self.has_batch {
            self.has_batch = false;
            self.context.report(Report::BatchCompleted).await?;
        }
        Ok(())
    }

    /// Records what is new of an open call.
    async fn advance(&mut self, key: &CallKey) -> Result<(), Failed> {
        let Some(known) = self.calls.get(key) else { return Ok(()) };
        let Some(told) = &known.told else { return Ok(()) };
        let (standing, ended) = (known.standing, has_ended(told));
        let is_sure = ended.is_some() || known.at_work.is_some_and(|since| since.elapsed() >= QUESTION_TIME);
        if standing == Standing::Open && is_sure {
            self.start(key).await?;
        }
        match (standing, ended) {
            (Standing::Open | Standing::Started, Some(ok)) => self.finish(key, ok).await,
            _ => Ok(()),
        }
    }

    /// Takes the agent at its word about the calls that it says are at work.
    pub(crate) async fn start_at_work(&mut self) -> Result<(), Failed> {
        for key in self.calls.at_work() {
            self.start(&key).await?;
        }
        Ok(())
    }

    /// Records that a call is at work. One that nobody was asked about runs in the agent all the same; where the
    /// policy would have had somebody asked, the log does not say that it was allowed to start.
    pub(crate) async fn start(&mut self, key: &CallKey) -> Result<(), Failed> {
        let Some(known) = self.calls.get_mut(key) else { return Ok(()) };
        known.standing = Standing::Started;
        if let Some(told) = known.told.as_ref().filter(|_| !known.is_granted) {
            // Agents tell a call's arguments when they are whole, which may be after the call itself.
            known.call = from_call(&self.agent.program.name, known.call.id.clone(), told);
            known.kind = call_kind(told);
        }
        let report = Report::CallStarted { tool_call: known.call.clone(), kind: known.kind };
        match self.context.report(report).await {
            Err(ReportError::Refused(refusal)) if refusal.code == RefusalCode::CallNotApproved => Ok(()),
            started => Ok(started.map(drop)?),
        }
    }

    /// Records what the agent says came of a call.
    async fn finish(&mut self, key: &CallKey, ok: bool) -> Result<(), Failed> {
        let Some(known) = self.calls.get(key) else { return Ok(()) };
        let Some(told) = known.told.as_deref() else { return Ok(()) };
        let workspace = std::path::Path::new(&self.context.session.workspace_path);
        let mut outcome = from_outcome(told, workspace);
        let printed: Vec<String> =
            outcome.terminals.iter().filter_map(|id| self.terminals.printed(id)).collect();
        outcome.text = printed
            .into_iter()
            .chain([outcome.text])
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n");
        let id = known.call.id.clone();
        let result = result(self.context, id, ok, outcome).await?;
        self.end_call(key, result, Standing::Ended).await
    }

    /// Records a call's result.
    pub(crate) async fn end_call(
        &mut self,
        key: &CallKey,
        result: ToolResult,
        standing: Standing,
    ) -> Result<(), Failed> {
        let began = self.calls.get(key).map(|known| known.began.elapsed()).unwrap_or_default();
        let duration_ms = u64::try_from(began.as_millis()).unwrap_or(u64::MAX);
        let message_id = self.context.message_id();
        self.calls.end(key, standing);
        self.context.report(Report::CallFinished { result, duration_ms, message_id }).await?;
        Ok(())
    }

    /// Gives the open calls a result that says that they go on, so that the log can.
    pub(crate) async fn detach_open(&mut self) -> Result<(), Failed> {
        self.start_at_work().await?;
        for key in self.calls.open.clone() {
            let Some(known) = self.calls.get(&key).filter(|known| known.standing != Standing::Asking) else {
                continue;
            };
            let id = known.call.id.clone();
            let text = "This call goes on while the agent does something else; what comes of it follows.";
            let details = Some(json!({"goes_on": true}));
            let parts = vec![Part::text(text)];
            let result = ToolResult { id, ok: true, parts, error: None, artifacts: Vec::new(), details };
            self.end_call(&key, result, Standing::Detached).await?;
        }
        if self.calls.open.is_empty() { self.complete_batch().await } else { Ok(()) }
    }

    /// Gives every call an end whose agent has stopped without one.
    pub(crate) async fn end_open_calls(&mut self) -> Result<(), Failed> {
        self.go_on(true).await?;
        self.start_at_work().await?;
        loop {
            for key in self.calls.open.clone() {
                let id =
                    self.calls.get(&key).map(|known| known.call.id.clone()).expect("an open call is known");
                let text = "The agent stopped without saying what came of this call.";
                self.end_call(&key, ToolResult::failed(id, text), Standing::Ended).await?;
            }
            self.complete_batch().await?;
            if self.draft.is_empty() {
                return Ok(());
            }
            self.record_all().await?;
        }
    }

    /// Records what came of a call that we made.
    pub(crate) async fn end_own_call(&mut self, key: &CallKey, outcome: ToolOutcome) -> Result<(), Failed> {
        let Some(id) = self.calls.get(key).map(|known| known.call.id.clone()) else { return Ok(()) };
        let ToolOutcome { ok, text, details, .. } = outcome;
        let details = details.unwrap_or(Value::Null);
        let outcome = Outcome { text, images: Vec::new(), terminals: Vec::new(), details };
        let result = result(self.context, id, ok, outcome).await?;
        self.end_call(key, result, Standing::Ended).await
    }
}

/// A result as it is recorded; what is too long for the log goes beside it.
async fn result(
    context: &TurnContext,
    id: ToolCallId,
    ok: bool,
    outcome: Outcome,
) -> Result<ToolResult, Failed> {
    let Outcome { mut text, images, details, .. } = outcome;
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let name: String = id.0.chars().map(safe).take(80).collect();
    let mut artifacts = Vec::new();
    if text.len() > TEXT_BYTES {
        artifacts.push(context.put_artifact(format!("{name}.txt"), text.clone().into_bytes()).await?);
        text = head_and_tail(&text);
    }
    let error = (!ok).then(|| if text.is_empty() { "the call failed".to_owned() } else { text.clone() });
    let mut parts = vec![Part::text(text)];
    for (number, (mime_type, content)) in images.into_iter().enumerate() {
        let reference = context.put_artifact(format!("{name}-{number}.image"), content).await?;
        artifacts.push(reference.clone());
        parts.push(Part::Image { reference, mime_type: plain(&mime_type, 100) });
    }
    let details = Some(details).filter(|details| !details.is_null());
    Ok(ToolResult { id, ok, parts, error, artifacts, details })
}

/// The beginning and the end of a text that is too long.
pub(crate) fn head_and_tail(text: &str) -> String {
    let head = text.floor_char_boundary(TEXT_BYTES / 2);
    let tail = text.ceil_char_boundary(text.len() - TEXT_BYTES / 2);
    format!("{}\n[{} bytes are left out]\n{}", &text[..head], tail - head, &text[tail..])
}
