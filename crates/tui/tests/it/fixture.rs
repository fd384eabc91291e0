//! A model that is driven: sessions of a few words, records and deltas as the daemon would send them, keys.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ostler_api_types::{ListedSession, SessionWithContext};
use ostler_tui::input::{DaemonNews, TuiEffect, TuiInput};
use ostler_tui::stream_line::StreamLine;
use ostler_tui::theme::{ColorDepth, Theme};
use ostler_tui::transcript::EntryKind;
use ostler_tui::{TuiModel, update, view};
use ostler_types::{Record, SessionId};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

pub(crate) const TURN: &str = "turn_00000000000000000000000000000001";
pub(crate) const MESSAGE: &str = "msg_00000000000000000000000000000001";

/// A session's id by its number.
pub(crate) fn session_id(number: u32) -> SessionId {
    format!("sess_{number:032x}").parse().unwrap()
}

/// A model, and what it asked for.
pub(crate) struct TuiFixture {
    pub(crate) model: TuiModel,
    pub(crate) effects_so_far: Vec<TuiEffect>,
    now: u64,
}

impl TuiFixture {
    /// With sessions 1 and 2 in the list, 1 and 2 open, and 1 looked at.
    pub(crate) fn new() -> TuiFixture {
        let mut world = TuiFixture::empty();
        world.news(DaemonNews::Connected { note: None });
        let sessions = [1, 2].map(|number| listed(session(number))).into();
        world.news(DaemonNews::Listed { sessions, approvals: Vec::new() });
        world.news(DaemonNews::Loaded(Box::new(shown(2, 0, json!({})))));
        world.news(DaemonNews::Loaded(Box::new(shown(1, 0, json!({})))));
        world.model.focus = Some(session_id(1));
        world.effects_so_far.clear();
        world
    }

    /// Without a connection, and without anything else.
    pub(crate) fn empty() -> TuiFixture {
        let model = TuiModel::new("/home/me/shop", Theme::new("night", ColorDepth::None), 7);
        let mut world = TuiFixture { model, effects_so_far: Vec::new(), now: 0 };
        world.model.home = Some("/home/me".to_owned());
        world.wait(10_000);
        world
    }

    pub(crate) fn input(&mut self, input: TuiInput) {
        self.effects_so_far.extend(update(&mut self.model, input));
    }

    pub(crate) fn news(&mut self, news: DaemonNews) {
        self.input(TuiInput::News(news));
    }

    pub(crate) fn wait(&mut self, milliseconds: u64) {
        self.now += milliseconds;
        self.input(TuiInput::Tick { now: self.now, unix: 1_772_442_910 });
    }

    pub(crate) fn press(&mut self, code: KeyCode) {
        self.input(TuiInput::Key(KeyEvent::new(code, KeyModifiers::NONE)));
    }

    pub(crate) fn control(&mut self, letter: char) {
        self.input(TuiInput::Key(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)));
    }

    pub(crate) fn write(&mut self, text: &str) {
        for letter in text.chars() {
            self.press(KeyCode::Char(letter));
        }
    }

    /// Lines of a session's own stream.
    pub(crate) fn stream(&mut self, number: u32, lines: Vec<StreamLine>) {
        self.news(DaemonNews::Lines { id: session_id(number), lines });
    }

    /// A record, as it comes on the session's own stream and on that of all sessions.
    pub(crate) fn record_happens(&mut self, number: u32, seq: u64, kind: &str, data: Value) {
        let line = record(number, seq, kind, data);
        if let StreamLine::Record(record) = &line {
            self.news(DaemonNews::Feed(record.clone()));
        }
        self.stream(number, vec![line]);
    }

    /// What is asked for since this was last called.
    pub(crate) fn effects(&mut self) -> Vec<TuiEffect> {
        std::mem::take(&mut self.effects_so_far)
    }

    /// The texts of a session's transcript.
    pub(crate) fn texts(&self, number: u32) -> Vec<String> {
        let session = self.model.session(session_id(number)).unwrap();
        session.transcript.entries().iter().map(|entry| entry.text()).collect()
    }

    /// The kinds of entries of a session's transcript.
    pub(crate) fn kinds(&self, number: u32) -> Vec<EntryKind> {
        let session = self.model.session(session_id(number)).unwrap();
        session.transcript.entries().iter().map(|entry| entry.kind.clone()).collect()
    }

    /// The screen, as text.
    pub(crate) fn screen(&mut self, columns: u16, rows: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
        for _ in 0..2 {
            let model = &mut self.model;
            terminal.draw(|frame| view(model, frame)).unwrap();
            self.input(TuiInput::ScreenDrawn);
        }
        let buffer = terminal.backend().buffer();
        let mut text = String::new();
        for row in 0..rows {
            let mut line = String::new();
            let mut column = 0;
            while column < columns {
                let symbol = buffer[(column, row)].symbol();
                line.push_str(symbol);
                column += u16::try_from(symbol.width().max(1)).unwrap();
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

pub(crate) fn session(number: u32) -> Value {
    json!({
        "id": session_id(number), "created_at": "2026-03-02T09:15:04Z", "updated_at": "2026-03-02T09:15:04Z",
        "status": "active", "workspace_path": "/home/me/shop", "system_prompt": null, "last_turn_id": null,
        "agent": "native", "model": "demo:demo", "title": format!("Session {number}"), "archived": false,
        "parent_session_id": null, "mode": "serve", "auto_run": true, "policy": {}, "usage": {},
    })
}

fn listed(mut session: Value) -> ListedSession {
    if session["last_seq"].is_null() {
        session["last_seq"] = json!(0);
    }
    serde_json::from_value(session).unwrap()
}

/// A session as the daemon shows it, with some members in another way.
pub(crate) fn shown(number: u32, last_seq: u64, others: Value) -> SessionWithContext {
    let mut value = session(number);
    let members = value.as_object_mut().unwrap();
    members.extend(
        json!({
            "running_turn_id": null, "turns": [], "pending_approvals": [], "queue": [], "last_seq": last_seq,
            "context": {"tokens": 12_000, "window": 100_000}, "log_dir": "", "trusted": true,
        })
        .as_object()
        .unwrap()
        .clone(),
    );
    members.extend(others.as_object().unwrap().clone());
    serde_json::from_value(value).unwrap()
}

pub(crate) fn record(number: u32, seq: u64, kind: &str, data: Value) -> StreamLine {
    let raw = json!({
        "seq": seq, "ts": "2026-03-02T09:15:06Z", "session_id": session_id(number), "turn_id": TURN, "type": kind,
        "data": data, "chain": "0000000000000000",
    });
    StreamLine::read(Some(seq), kind, &raw.to_string()).unwrap()
}

pub(crate) fn plain_record(number: u32, seq: u64, kind: &str, data: Value) -> Record {
    match record(number, seq, kind, data) {
        StreamLine::Record(record) => *record,
        other => panic!("{kind} is no record: {other:?}"),
    }
}

pub(crate) fn delta(number: u32, kind: &str, data: Value) -> StreamLine {
    let raw = json!({"ts": "2026-03-02T09:15:06Z", "session_id": session_id(number), "turn_id": TURN, "type": kind, "data": data});
    StreamLine::read(None, kind, &raw.to_string()).unwrap()
}

pub(crate) fn said(offset: u64, text: &str) -> Value {
    json!({"message_id": MESSAGE, "part": 0, "offset": offset, "text": text})
}

pub(crate) fn user(text: &str, key: Option<&str>) -> Value {
    let id = format!("msg_{:032x}", 1000 + text.len());
    let mut data = json!({"message": {"id": id, "role": "user", "parts": [{"type": "text", "text": text}], "created_at": "2026-03-02T09:15:06Z"}});
    if let Some(key) = key {
        data["idempotency_key"] = key.into();
    }
    data
}

pub(crate) fn answer(text: &str) -> Value {
    json!({"message": {"id": MESSAGE, "role": "assistant", "parts": [{"type": "text", "text": text}], "created_at": "2026-03-02T09:15:09Z"}, "stop_reason": "stop", "usage": {}})
}

pub(crate) fn started(model: &str) -> Value {
    json!({"message_ids": [], "model": model})
}

pub(crate) fn call(id: &str, command: &str) -> Value {
    json!({"tool_call": {"id": id, "name": "shell", "input": {"command": command}}, "kind": "exec"})
}

pub(crate) fn called(id: &str, ok: bool, text: &str) -> Value {
    json!({"tool_call": {"id": id, "name": "shell"}, "tool_result": {"id": id, "ok": ok, "parts": [{"type": "text", "text": text}]}, "duration_ms": 1200, "message_id": format!("msg_{:032x}", 77)})
}

pub(crate) fn approval(id: &str, command: &str) -> Value {
    json!({
        "tool_call": {"id": id, "name": "shell", "input": {"command": command}}, "kind": "exec",
        "summary": format!("run {command}"), "rule": {"tool": "shell", "subject": command, "commands": [{"argv": command.split(' ').collect::<Vec<_>>()}]},
    })
}
