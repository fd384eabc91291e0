//! The exact shapes that clients and logs hold: one record of each event, the envelope, and what
//! is listed beside a session. Fields may be added to these; a renamed one breaks every client.

use ostler_types::{
    ApprovalEvent, BatchEvent, CallEvent, CallName, CommandResult, Cost, Delivery, Event, Message,
    MessageEvent, MessageId, Moment, Part, Policy, Purpose, Queued, Record, Refusal, Resolution, ResolvedBy,
    Role, Rule, Scope, SessionEvent, SessionId, StepEvent, ToolCall, ToolCallId, ToolKind, ToolResult,
    TurnEvent, TurnId, Usage, WorkspaceEvent,
};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::session_driver::{SessionDriver, at, call, completed, failure, new_session, propose, shell};

const TURN: &str = "turn_00000000000000000000000000000007";
const MESSAGE: &str = "msg_00000000000000000000000000000008";

#[test]
fn a_record_is_one_object_with_its_members_in_order() {
    let record = Record {
        seq: 3,
        ts: at(0),
        session_id: SessionId::new(Uuid::from_u128(5)),
        turn_id: Some(turn()),
        event: Event::Batch(BatchEvent::Completed {}),
    };
    let text = serde_json::to_string(&record).expect("a record can be written");
    let session = "sess_00000000000000000000000000000005";
    let expected = format!(
        r#"{{"seq":3,"ts":"2025-01-01T00:00:00Z","session_id":"{session}","turn_id":"{TURN}","type":"tool_batch_completed","data":{{}}}}"#
    );
    assert_eq!(text, expected);
    let chained = expected.replace(r#""data":{}}"#, r#""data":{},"chain":"0f"}"#);
    assert_eq!(serde_json::from_str::<Record>(&chained).expect("a line of a log can be read"), record);
    let outside = Record { turn_id: None, ..record };
    assert_eq!(serde_json::to_value(&outside).expect("a record can be written")["turn_id"], Value::Null);
}

#[test]
fn events_of_the_session() {
    let policy = json!({
        "approval": {"require_for_kinds": ["write", "exec", "network"], "require_for_tools": [], "rules": [], "safe_commands": true},
        "verify": {"auto": true, "commands": [], "require_clean": false, "max_rounds": 3},
        "patch_review": {"mode": "off"},
        "model": {"require": [], "max_input_price": null, "max_output_price": null, "prefer": []},
    });
    let session = json!({
        "id": "sess_0190f3c4a5b67c8d9e0f112233445566",
        "created_at": "2025-01-01T00:00:00Z",
        "updated_at": "2025-01-01T00:00:00Z",
        "status": "active",
        "workspace_path": "/work",
        "system_prompt": null,
        "last_turn_id": null,
        "agent": "native",
        "model": "demo:small",
        "title": null,
        "archived": false,
        "parent_session_id": null,
        "mode": "serve",
        "auto_run": true,
        "policy": policy,
        "usage": {
            "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "cache_write_tokens": 0,
            "reasoning_tokens": 0, "cost_usd": null,
        },
        "fallback_models": [],
        "effort": null,
        "raw_log": false,
    });
    let created = ostler_types::create(new_session()).expect("the session can be made").remove(0);
    let Event::Session(SessionEvent::Created { session: made }) = created.clone() else {
        panic!("a session begins with itself")
    };
    expect(&created, "session_created", &json!({"session": session}));
    expect(
        &Event::Session(SessionEvent::Updated { session: made }),
        "session_updated",
        &json!({"session": session}),
    );
    expect(
        &Event::Session(SessionEvent::Completed { by: ann() }),
        "session_completed",
        &json!({"by": "ann"}),
    );
    let error = json!({"code": "provider_down", "message": "no answer", "hint": "retry"});
    expect(
        &Event::Session(SessionEvent::Failed { error: failure() }),
        "session_failed",
        &json!({"error": error}),
    );
    let canceled = Event::Session(SessionEvent::Canceled { by: ann(), reason: None });
    expect(&canceled, "session_canceled", &json!({"by": "ann", "reason": null}));
}

#[test]
fn events_of_messages() {
    let message = message(Role::User, vec![Part::text("hello")]);
    let shape = json!({
        "id": MESSAGE,
        "role": "user",
        "parts": [{"type": "text", "text": "hello"}],
        "created_at": "2025-01-01T00:00:00Z",
    });
    let added = Event::Message(MessageEvent::Added { message: message.clone(), idempotency_key: None });
    expect(&added, "message_added", &json!({"message": shape}));
    let queued = Queued { message, turn_id: turn(), delivery: Delivery::Steer };
    let queued =
        Event::Message(MessageEvent::Queued { queued, idempotency_key: Some("k".to_owned()), before: None });
    let data =
        json!({"queued": {"message": shape, "turn_id": TURN, "delivery": "steer"}, "idempotency_key": "k"});
    expect(&queued, "message_queued", &data);
    let withdrawn = Event::Message(MessageEvent::Withdrawn { message_id: message_id(), by: ann() });
    expect(&withdrawn, "message_withdrawn", &json!({"message_id": MESSAGE, "by": "ann"}));
}

#[test]
fn events_of_models() {
    let chosen = Resolution {
        model: "demo:small".to_owned(),
        reason: ResolvedBy::Demo,
        detail: "there is nothing else".to_owned(),
        instead_of: None,
        error: None,
    };
    let data = json!({"model": "demo:small", "reason": "demo", "detail": "there is nothing else"});
    expect(&Event::Step(StepEvent::ModelResolved { resolution: chosen.clone() }), "model_resolved", &data);
    let instead_of = Some("openai:gpt".to_owned());
    let taken_over =
        Resolution { reason: ResolvedBy::Failover, instead_of, error: Some(failure()), ..chosen };
    let error = json!({"code": "provider_down", "message": "no answer", "hint": "retry"});
    let data = json!({"model": "demo:small", "reason": "failover", "detail": "there is nothing else",
        "instead_of": "openai:gpt", "error": error});
    expect(&Event::Step(StepEvent::ModelResolved { resolution: taken_over }), "model_resolved", &data);
    let model = "demo:small".to_owned();
    let waiting = Event::Step(StepEvent::ModelWaiting {
        model,
        attempt: 1,
        attempts: 4,
        wait_ms: 500,
        error: failure(),
    });
    let data = json!({"model": "demo:small", "attempt": 1, "attempts": 4, "wait_ms": 500, "error": error});
    expect(&waiting, "model_waiting", &data);
    let model = "demo:small".to_owned();
    let used =
        Event::Step(StepEvent::UsageRecorded { model, message_id: Some(message_id()), usage: usage() });
    let data = json!({"model": "demo:small", "message_id": MESSAGE, "usage": usage_shape()});
    expect(&used, "usage_recorded", &data);
}

#[test]
fn events_of_turns() {
    let started = Event::Turn(TurnEvent::Started {
        message_ids: vec![message_id()],
        model: "demo:small".to_owned(),
        purpose: Purpose::Answer,
    });
    expect(&started, "turn_started", &json!({"message_ids": [MESSAGE], "model": "demo:small"}));
    expect(&Event::Turn(TurnEvent::Retried { retry_of: turn() }), "turn_retried", &json!({"retry_of": TURN}));
    for verified in [None, Some(true), Some(false)] {
        let done = Event::Turn(TurnEvent::Completed {
            stop_reason: "end_turn".to_owned(),
            usage: usage(),
            verified,
            verification: None,
        });
        let data = json!({"stop_reason": "end_turn", "usage": usage_shape(), "verified": verified});
        expect(&done, "turn_completed", &data);
    }
    let failed = Event::Turn(TurnEvent::Failed { error: failure(), reason: "interrupted".to_owned() });
    let error = json!({"code": "provider_down", "message": "no answer", "hint": "retry"});
    expect(&failed, "turn_failed", &json!({"error": error, "reason": "interrupted"}));
    let canceled = Event::Turn(TurnEvent::Canceled { by: ann(), reason: Some("enough".to_owned()) });
    expect(&canceled, "turn_canceled", &json!({"by": "ann", "reason": "enough"}));
}

#[test]
fn events_of_the_model() {
    let thought = Event::Step(StepEvent::ReasoningCompleted { message_id: message_id(), part: 0, bytes: 6 });
    expect(&thought, "reasoning_completed", &json!({"message_id": MESSAGE, "part": 0, "bytes": 6}));
    let parts = vec![
        Part::Reasoning { text: "hm".to_owned(), opaque: Some(json!({"signature": "s"})) },
        Part::text("let me see"),
        Part::ToolCall { call: tool_call() },
    ];
    let output = Event::Message(MessageEvent::ModelOutputCompleted {
        message: message(Role::Assistant, parts),
        stop_reason: "tool_use".to_owned(),
        usage: usage(),
    });
    let shape = json!({
        "id": MESSAGE,
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "text": "hm", "opaque": {"signature": "s"}},
            {"type": "text", "text": "let me see"},
            {"type": "tool_call", "id": "call_1", "name": "shell", "input": {"command": "make test"}},
        ],
        "created_at": "2025-01-01T00:00:00Z",
    });
    let data = json!({"message": shape, "stop_reason": "tool_use", "usage": usage_shape()});
    expect(&output, "model_output_completed", &data);
}

#[test]
fn events_of_tools() {
    let batch = Event::Batch(BatchEvent::Started { tool_calls: vec![call_id()], parallel: true });
    expect(&batch, "tool_batch_started", &json!({"tool_calls": ["call_1"], "parallel": true}));
    let halted = Event::Batch(BatchEvent::Halted { tool_call_id: call_id() });
    expect(&halted, "tool_batch_halted", &json!({"tool_call_id": "call_1"}));
    expect(&Event::Batch(BatchEvent::Completed {}), "tool_batch_completed", &json!({}));
    for (kind, word) in kinds() {
        let started = Event::Call(CallEvent::Started { tool_call: tool_call(), kind });
        expect(&started, "tool_call_started", &json!({"tool_call": tool_call_shape(), "kind": word}));
    }
    let tool_result = ToolResult {
        id: call_id(),
        ok: false,
        parts: vec![Part::text("1 failed")],
        error: Some("exit code 1".to_owned()),
        artifacts: vec!["artifacts/out.txt".to_owned()],
        details: Some(json!({"exit_code": 1})),
    };
    let tool_call = CallName { id: call_id(), name: "shell".to_owned() };
    let done = Event::Call(CallEvent::Completed {
        tool_call,
        tool_result,
        duration_ms: 7,
        message_id: message_id(),
    });
    let result = json!({
        "id": "call_1",
        "ok": false,
        "parts": [{"type": "text", "text": "1 failed"}],
        "error": "exit code 1",
        "artifacts": ["artifacts/out.txt"],
        "details": {"exit_code": 1},
    });
    let name = json!({"id": "call_1", "name": "shell"});
    let data = json!({"tool_call": name, "tool_result": result, "duration_ms": 7, "message_id": MESSAGE});
    expect(&done, "tool_call_completed", &data);
    let message = done.message(at(0)).expect("a result is a message to the model");
    let part = json!({"type": "tool_result", "tool_call_id": "call_1", "name": "shell", "ok": false, "text": "1 failed"});
    let shape = serde_json::to_value(&message).expect("a message can be written");
    assert_eq!(
        (&shape["role"], &shape["parts"], &shape["id"]),
        (&json!("tool"), &json!([part]), &json!(MESSAGE))
    );
}

#[test]
fn events_of_approvals() {
    let rule = Rule {
        tool: "shell".to_owned(),
        subject: "make test".to_owned(),
        whole: false,
        workspace: None,
        commands: Vec::new(),
    };
    let summary = "run make test".to_owned();
    let requested = Event::Approval(ApprovalEvent::Requested {
        tool_call: tool_call(),
        kind: ToolKind::Exec,
        summary,
        rule,
        options: Vec::new(),
        child: None,
    });
    let data = json!({
        "tool_call": tool_call_shape(),
        "kind": "exec",
        "summary": "run make test",
        "rule": {"tool": "shell", "subject": "make test"},
    });
    expect(&requested, "approval_requested", &data);
    for (scope, word) in [(Scope::Once, "once"), (Scope::Session, "session"), (Scope::Always, "always")] {
        let (tool_call_id, tool, reason) = (call_id(), "shell".to_owned(), Some("fine".to_owned()));
        let granted = Event::Approval(ApprovalEvent::Granted {
            tool_call_id,
            tool,
            by: ann(),
            scope,
            reason,
            review: None,
            option: None,
            child: None,
        });
        let data =
            json!({"tool_call_id": "call_1", "tool": "shell", "by": "ann", "scope": word, "reason": "fine"});
        expect(&granted, "approval_granted", &data);
    }
    let (tool_call_id, tool, scope) = (call_id(), "shell".to_owned(), Scope::Once);
    let denied = Event::Approval(ApprovalEvent::Denied {
        tool_call_id,
        tool,
        by: ann(),
        scope,
        reason: None,
        review: None,
        option: None,
        child: None,
    });
    let data =
        json!({"tool_call_id": "call_1", "tool": "shell", "by": "ann", "scope": "once", "reason": null});
    expect(&denied, "approval_denied", &data);
}

#[test]
fn events_of_verification() {
    let commands = vec!["make test".to_owned()];
    let started = Event::Workspace(WorkspaceEvent::VerificationStarted { round: 1, commands });
    expect(&started, "verification_started", &json!({"round": 1, "commands": ["make test"]}));
    let command = "make test".to_owned();
    let results =
        vec![CommandResult { command, exit_code: Some(2), duration_ms: 7, output: "no".to_owned() }];
    let done = Event::Workspace(WorkspaceEvent::VerificationCompleted { round: 1, ok: false, results });
    let result = json!({"command": "make test", "exit_code": 2, "duration_ms": 7, "output": "no"});
    expect(&done, "verification_completed", &json!({"round": 1, "ok": false, "results": [result]}));
}

#[test]
fn events_of_checkpoints_and_reviews() {
    let moment = Moment::After;
    let created = Event::Workspace(WorkspaceEvent::CheckpointCreated {
        checkpoint_id: "c0ffee".to_owned(),
        moment,
        files: 2,
        bytes: 3,
        left_out: 1,
    });
    let shape = json!({"checkpoint_id": "c0ffee", "moment": "after", "files": 2, "bytes": 3, "left_out": 1});
    expect(&created, "checkpoint_created", &shape);
    let failed = Event::Workspace(WorkspaceEvent::CheckpointFailed {
        moment: Moment::Before,
        reason: "too many".to_owned(),
    });
    expect(&failed, "checkpoint_failed", &json!({"moment": "before", "reason": "too many"}));
    let review = |more, checkpoint_id, note| {
        Event::Workspace(WorkspaceEvent::PatchReviewRequested {
            tool_call_id: call_id(),
            files: Vec::new(),
            waits: true,
            more,
            checkpoint_id,
            note,
        })
    };
    let shape = json!({"tool_call_id": call_id(), "files": [], "waits": true});
    expect(&review(0, None, None), "patch_review_requested", &shape);
    let named = review(7, Some("c0ffee".to_owned()), Some("too large".to_owned()));
    let mut shape = shape;
    for (name, value) in
        [("more", json!(7)), ("checkpoint_id", json!("c0ffee")), ("note", json!("too large"))]
    {
        shape[name] = value;
    }
    expect(&named, "patch_review_requested", &shape);
}

#[test]
fn parts_beside_the_log_are_named_by_ref() {
    let file = |reference: &str, mime_type: &str| (reference.to_owned(), mime_type.to_owned());
    let (image, audio, other) =
        (file("a.png", "image/png"), file("a.wav", "audio/wav"), file("a.txt", "text/plain"));
    let parts = [
        Part::Image { reference: image.0, mime_type: image.1 },
        Part::Audio { reference: audio.0, mime_type: audio.1 },
        Part::File { reference: other.0, mime_type: other.1 },
    ];
    let expected = json!([
        {"type": "image", "ref": "a.png", "mime_type": "image/png"},
        {"type": "audio", "ref": "a.wav", "mime_type": "audio/wav"},
        {"type": "file", "ref": "a.txt", "mime_type": "text/plain"},
    ]);
    assert_eq!(serde_json::to_value(&parts).expect("parts can be written"), expected);
}

#[test]
fn a_session_is_shown_with_all_that_is_open() {
    let mut world = SessionDriver::new();
    world.submit("go");
    let made = shell("call_1", "make test");
    world.step(std::slice::from_ref(&made));
    world.report(propose(&made));
    world.submit("then this");
    let view = serde_json::to_value(world.state.view()).expect("a view can be written");
    let turn = world.running().to_string();
    let since = view["pending_approvals"][0]["requested_at"].clone();
    assert!(since.is_string());
    let approval = json!({
        "session_id": view["id"],
        "turn_id": turn,
        "tool_call_id": "call_1",
        "tool": "shell",
        "input": {"command": "make test"},
        "kind": "exec",
        "summary": "shell",
        "rule": {
            "tool": "shell",
            "subject": "make test",
            "workspace": world.state.session.workspace_path,
            "commands": [{"argv": ["make", "test"]}],
        },
        "requested_at": since,
    });
    assert_eq!(view["pending_approvals"], json!([approval]));
    assert_eq!(view["status"], "waiting_approval");
    assert_eq!((&view["running_turn_id"], &view["last_turn_id"]), (&json!(turn), &json!(turn)));
    assert_eq!((&view["turns"][0]["id"], &view["turns"][0]["status"]), (&json!(turn), &json!("running")));
    assert_eq!(view["queue"][0]["delivery"], "queue");
    assert_eq!(view["last_seq"], world.log.len());
    world.ask(crate::session_driver::cancel()).expect("a cancel is accepted");
    world.report(completed());
    let view = serde_json::to_value(world.state.view()).expect("a view can be written");
    let statuses: Vec<&Value> = [0, 1].iter().map(|n| &view["turns"][n]["status"]).collect();
    assert_eq!(statuses, ["canceled", "completed"]);
}

#[test]
fn a_policy_with_a_field_that_nobody_knows_is_refused() {
    let known = json!({"approval": {"require_for_kinds": ["exec"]}});
    let policy: Policy = serde_json::from_value(known).expect("what is absent is the default");
    assert_eq!(policy.approval.require_for_kinds, [ToolKind::Exec]);
    assert_eq!(policy.verify, Policy::default().verify);
    for unknown in
        [json!({"aproval": {}}), json!({"approval": {"kinds": []}}), json!({"verify": {"auto": 1}})]
    {
        assert!(serde_json::from_value::<Policy>(unknown.clone()).is_err(), "{unknown}");
    }
}

#[test]
fn a_refusal_keeps_its_words() {
    let refusal = Refusal::conflict("turn_running", "a turn is running").hint("wait");
    let shape = serde_json::to_value(&refusal).expect("a refusal can be written");
    let expected =
        json!({"kind": "conflict", "code": "turn_running", "message": "a turn is running", "hint": "wait"});
    assert_eq!(shape, expected);
}

/// The event has this name and these data, and comes back as it was.
fn expect(event: &Event, name: &str, data: &Value) {
    assert_eq!(event.name().as_str(), name);
    let shape = serde_json::to_value(event).expect("an event can be written");
    assert_eq!(shape, json!({"type": name, "data": data}));
    let read: Event = serde_json::from_value(shape).expect("an event can be read");
    assert_eq!(&read, event);
}

fn message(role: Role, parts: Vec<Part>) -> Message {
    Message { id: message_id(), role, parts, created_at: at(0) }
}

fn usage() -> Usage {
    Usage {
        input_tokens: 10,
        output_tokens: 2,
        cached_tokens: 3,
        cache_write_tokens: 4,
        reasoning_tokens: 1,
        cost_usd: Some(Cost::from_nanos(1_500)),
    }
}

fn usage_shape() -> Value {
    json!({"input_tokens": 10, "output_tokens": 2, "cached_tokens": 3, "cache_write_tokens": 4,
        "reasoning_tokens": 1, "cost_usd": 0.0000015})
}

fn tool_call() -> ToolCall {
    call("call_1", "shell", json!({"command": "make test"}))
}

fn tool_call_shape() -> Value {
    json!({"id": "call_1", "name": "shell", "input": {"command": "make test"}})
}

fn kinds() -> [(ToolKind, &'static str); 4] {
    [
        (ToolKind::Read, "read"),
        (ToolKind::Write, "write"),
        (ToolKind::Exec, "exec"),
        (ToolKind::Network, "network"),
    ]
}

fn call_id() -> ToolCallId {
    ToolCallId("call_1".to_owned())
}

fn message_id() -> MessageId {
    MessageId::new(Uuid::from_u128(8))
}

fn turn() -> TurnId {
    TurnId::new(Uuid::from_u128(7))
}

fn ann() -> String {
    "ann".to_owned()
}
