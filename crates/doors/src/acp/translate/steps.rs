//! What happens within a turn: what the model says, the calls that it asks for, the checks at the end, and what
//! all of it took.

use agent_client_protocol::v1::schema::{
    Cost as EditorCost, SessionUpdate, ToolCall as EditorCall, ToolCallContent, ToolCallStatus,
    ToolCallUpdate, ToolCallUpdateFields, ToolKind as EditorKind, UsageUpdate,
};
use ostler_acp::to_call_update;
use ostler_types::{
    CallName, CommandResult, Message, Part, ToolCall, ToolCallId, ToolKind, ToolResult, TurnId, Usage,
};
use serde_json::Value;

use super::super::calls::{to_editor_call, wire_id};
use super::{AnnouncedCall, EditorCallOutput, EditorTranslator};

impl EditorTranslator {
    /// The model finished a message: what has not been told of it, and its calls.
    pub(super) fn model_output_completed(
        &mut self,
        turn_id: Option<TurnId>,
        message: &Message,
        out: &mut Vec<u8>,
    ) {
        for (number, part) in (0..).zip(&message.parts) {
            let (text, thinking) = match part {
                Part::Text { text } => (text, false),
                Part::Reasoning { text, .. } => (text, true),
                Part::ToolCall { call } => {
                    let kind = self.tool_kind(&call.name);
                    self.announce(turn_id, call, kind, out);
                    continue;
                }
                Part::Image { .. } | Part::Audio { .. } | Part::File { .. } | Part::ToolResult { .. } => {
                    continue;
                }
            };
            let fresh = self.text_cursor.advance(message.id, number, 0, text).to_owned();
            self.send_model_text(message.id, &fresh, thinking, out);
        }
        self.text_cursor.forget(message.id);
    }

    /// Tells of a call, unless the editor knows it.
    pub(super) fn announce(
        &mut self,
        turn_id: Option<TurnId>,
        call: &ToolCall,
        kind: ToolKind,
        out: &mut Vec<u8>,
    ) {
        if self.calls.iter().any(|known| known.id == call.id) {
            return;
        }
        let told = to_editor_call(turn_id, call, kind, &self.workspace);
        self.send_update(SessionUpdate::ToolCall(told), out);
        self.calls.push(AnnouncedCall { id: call.id.clone(), turn_id, output: EditorCallOutput::default() });
    }

    pub(super) fn call_started(
        &mut self,
        turn_id: Option<TurnId>,
        call: &ToolCall,
        kind: ToolKind,
        out: &mut Vec<u8>,
    ) {
        self.announce(turn_id, call, kind, out);
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
        let update = ToolCallUpdate::new(wire_id(turn_id, &call.id), fields);
        self.send_update(SessionUpdate::ToolCallUpdate(update), out);
    }

    /// The output of a running call, as far as it is shown.
    pub(super) fn send_output(
        &self,
        turn_id: Option<TurnId>,
        id: &ToolCallId,
        text: String,
        out: &mut Vec<u8>,
    ) {
        let fields = ToolCallUpdateFields::new().content(vec![ToolCallContent::from(text)]);
        let update = ToolCallUpdate::new(wire_id(turn_id, id), fields);
        self.send_update(SessionUpdate::ToolCallUpdate(update), out);
    }

    /// A call has its result. One that the editor does not know is told first.
    pub(super) fn call_completed(
        &mut self,
        turn_id: Option<TurnId>,
        CallName { id, name }: CallName,
        result: &ToolResult,
        out: &mut Vec<u8>,
    ) {
        let kind = self.tool_kind(&name);
        self.announce(turn_id, &ToolCall { id: id.clone(), name, input: Value::Null }, kind, out);
        self.calls
            .iter_mut()
            .filter(|call| call.id == id)
            .for_each(|call| call.output = EditorCallOutput::default());
        let mut update = to_call_update(result, &self.workspace);
        update.tool_call_id = wire_id(turn_id, &id).into();
        self.send_update(SessionUpdate::ToolCallUpdate(update), out);
    }

    /// The workspace is being checked, which is shown like a call.
    pub(super) fn checks_started(
        &self,
        turn_id: Option<TurnId>,
        round: u32,
        commands: &[String],
        out: &mut Vec<u8>,
    ) {
        let title = format!("check: {}", ostler_acp::to_plain_line(&commands.join(" && "), 200));
        let call = EditorCall::new(check_id(turn_id, round), title)
            .kind(EditorKind::Execute)
            .status(ToolCallStatus::InProgress);
        self.send_update(SessionUpdate::ToolCall(call), out);
    }

    pub(super) fn checks_finished(
        &self,
        turn_id: Option<TurnId>,
        round: u32,
        ok: bool,
        results: &[CommandResult],
        out: &mut Vec<u8>,
    ) {
        let status = if ok { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
        let result = |result: &CommandResult| {
            let code = result.exit_code.map_or("no exit code".to_owned(), |code| format!("exit code {code}"));
            ToolCallContent::from(format!("$ {}\n{}\n({code})", result.command, result.output))
        };
        let content: Vec<ToolCallContent> = results.iter().map(result).collect();
        let fields = ToolCallUpdateFields::new().status(status).content(content);
        let update = ToolCallUpdate::new(check_id(turn_id, round), fields);
        self.send_update(SessionUpdate::ToolCallUpdate(update), out);
    }

    /// A model was used: how full its window is, where that is known, and what the session has cost.
    pub(super) fn model_used(&mut self, model: &str, spoke: bool, usage: &Usage, out: &mut Vec<u8>) {
        self.cost = match (self.cost, usage.cost_usd) {
            (Some(before), Some(more)) => Some(before.plus(more)),
            (before, more) => before.or(more),
        };
        let Some(size) = self.settings.models.info(model).context_window.filter(|_| spoke) else { return };
        let used = usage.input_tokens.saturating_add(usage.output_tokens);
        let cost = self.cost.map(|cost| EditorCost::new(cost.usd(), "USD"));
        self.send_update(SessionUpdate::UsageUpdate(UsageUpdate::new(used, size).cost(cost)), out);
    }

    /// What a tool touches. One that is not known here could do anything.
    fn tool_kind(&self, name: &str) -> ToolKind {
        let known = self.settings.tools.iter().find(|(spec, _)| spec.name == name);
        known.map_or(ToolKind::Exec, |(_, kind)| *kind)
    }
}

fn check_id(turn_id: Option<TurnId>, round: u32) -> String {
    wire_id(turn_id, &ToolCallId(format!("check_{round}")))
}
