//! What each method writes on the wire and makes of the answer.

use std::collections::BTreeMap;

use ostler_api_types::{
    ApprovalAnswerBody, CreateMode, CreateSession, InputPart, SendMessage, Speaker, UpdateSession, UsageBy,
};
use ostler_client::{DaemonEndpoint, ExportFormat, ImportFormat, SessionFilter, UsageFilter};
use ostler_types::{
    Budget, Delivery, Effort, MessageId, Plan, Policy, Scope, SessionId, SessionStatus, ToolCallId, TurnId,
    Verdict,
};

use crate::canned_server::{CannedServer, json};

const SESSION: &str = "sess_0190f3c4a5b67c8d9e0f112233445566";
const TURN: &str = "turn_0190f3c4a5b67c8d9e0f112233445577";
const MESSAGE: &str = "msg_0190f3c4a5b67c8d9e0f112233445588";

fn session_id() -> SessionId {
    SESSION.parse().unwrap()
}

fn turn_id() -> TurnId {
    TURN.parse().unwrap()
}

fn message_id() -> MessageId {
    MESSAGE.parse().unwrap()
}

/// The request line and the body of a request.
fn line_and_body(request: &str) -> (&str, &str) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap(), body)
}

fn session() -> String {
    let policy = serde_json::to_string(&Policy::default()).unwrap();
    format!(
        r#"{{"id":"{SESSION}","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:01Z","status":"waiting_approval",
        "workspace_path":"/w","system_prompt":null,"last_turn_id":"{TURN}","agent":"native","model":"demo:demo","title":"A title",
        "archived":false,"parent_session_id":null,"mode":"serve","auto_run":true,"policy":{policy},"usage":{{}}"#
    )
}

fn approval() -> String {
    format!(
        r#"{{"session_id":"{SESSION}","turn_id":"{TURN}","tool_call_id":"call_1","tool":"shell","input":{{"command":"ls"}},
        "kind":"exec","summary":"ls","rule":{{"tool":"shell","subject":"ls"}},"requested_at":"2026-01-01T00:00:00Z"}}"#
    )
}

fn view() -> String {
    let (session, approval) = (session(), approval());
    format!(
        r#"{session},"context":{{}},"running_turn_id":"{TURN}","turns":[],"pending_approvals":[{approval}],"queue":[],"last_seq":7}}"#
    )
}

#[tokio::test]
async fn a_request_over_tcp_is_exactly_this() {
    let created = json("201 Created", &format!(r#"{{"session_id":"{SESSION}"}}"#));
    let server = CannedServer::tcp(vec![created]).await;
    let DaemonEndpoint::Tcp(address) = server.endpoint.clone() else { panic!("not TCP") };
    let client = server.client(Some("s3cret")).await;

    let request = CreateSession { workspace_path: "/w".to_owned(), ..CreateSession::default() };
    assert_eq!(client.create_session(&request).await.unwrap(), session_id());

    let expected = format!(
        "POST /v1/sessions HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nuser-agent: ostler-cli/{}\r\naccept: application/json\r\n\
         connection: close\r\nauthorization: Bearer s3cret\r\ncontent-type: application/json\r\ncontent-length: 23\r\n\r\n\
         {{\"workspace_path\":\"/w\"}}",
        address.port(),
        env!("CARGO_PKG_VERSION"),
    );
    assert_eq!(server.requests().await, [expected]);
}

#[tokio::test]
async fn a_request_over_a_unix_socket_names_localhost_and_no_token_when_there_is_none() {
    let server =
        CannedServer::unix(vec![json("200 OK", r#"{"status":"ok","version":"1.2.3","more":1}"#)]).await;
    let client = server.client(None).await;

    let health = client.health().await.unwrap();
    assert_eq!((health.status.as_str(), health.version.as_str()), ("ok", "1.2.3"));

    let expected = format!(
        "GET /healthz HTTP/1.1\r\nhost: localhost\r\nuser-agent: ostler-cli/{}\r\naccept: application/json\r\n\
         connection: close\r\n\r\n",
        env!("CARGO_PKG_VERSION"),
    );
    assert_eq!(server.requests().await, [expected]);
}

/// A session of which everything is said.
fn whole_session() -> CreateSession {
    CreateSession {
        workspace_path: "/w".to_owned(),
        system_prompt: Some("p".to_owned()),
        auto_run: Some(false),
        agent: Some("native".to_owned()),
        model: Some("demo:demo".to_owned()),
        fallback_models: Some(vec!["a:b".to_owned()]),
        effort: Some(Effort::High),
        raw_log: Some(true),
        verbose_log: Some(true),
        log_dir: Some("/l".to_owned()),
        title: Some("t".to_owned()),
        name: Some("n".to_owned()),
        budget: Some(Budget { max_steps: Some(1), ..Budget::default() }),
        parent_session_id: Some(session_id()),
        mode: Some(CreateMode::Serve),
        spec_path: None,
        policy: None,
        idempotency_key: Some("k".to_owned()),
        agent_settings: Some(BTreeMap::from([("mode".to_owned(), "plan".to_owned())])),
        adopt: Some("x".to_owned()),
    }
}

#[tokio::test]
async fn every_member_of_a_body_has_its_name_on_the_wire() {
    let created = json("201 Created", &format!(r#"{{"session_id":"{SESSION}"}}"#));
    let sent = json("202 Accepted", &format!(r#"{{"message_id":"{MESSAGE}","turn_id":null}}"#));
    let done = json("200 OK", "{}");
    let server = CannedServer::tcp(vec![created, sent, done, json("200 OK", &view())]).await;
    let client = server.client(None).await;

    client.create_session(&whole_session()).await.unwrap();
    let message = SendMessage {
        role: Speaker::User,
        parts: vec![InputPart::Text { text: "hé".to_owned() }],
        auto_run: Some(false),
        delivery: Some(Delivery::Steer),
        idempotency_key: Some("k".to_owned()),
    };
    let sent = client.send_message(session_id(), &message).await.unwrap();
    assert_eq!((sent.message_id, sent.turn_id), (message_id(), None));
    let answer = ApprovalAnswerBody {
        review: None,
        turn_id: Some(turn_id()),
        tool_call_id: ToolCallId("call_1".to_owned()),
        action: Verdict::Deny,
        scope: Some(Scope::Session),
        reason: Some("no".to_owned()),
        option: None,
    };
    client.approve(session_id(), &answer).await.unwrap();
    let change = UpdateSession { archived: Some(true), ..UpdateSession::default() };
    assert_eq!(client.update(session_id(), &change).await.unwrap().last_seq, 7);

    let requests = server.requests().await;
    let seen: Vec<(&str, &str)> = requests.iter().map(|request| line_and_body(request)).collect();
    let expected_create = format!(
        r#"{{"workspace_path":"/w","system_prompt":"p","auto_run":false,"agent":"native","model":"demo:demo","fallback_models":["a:b"],"effort":"high","raw_log":true,"verbose_log":true,"log_dir":"/l","title":"t","name":"n","parent_session_id":"{SESSION}","budget":{{"max_steps":1,"max_tokens":null,"max_seconds":null}},"mode":"serve","idempotency_key":"k","agent_settings":{{"mode":"plan"}},"adopt":"x"}}"#
    );
    let expected_answer = format!(
        r#"{{"turn_id":"{TURN}","tool_call_id":"call_1","action":"deny","scope":"session","reason":"no"}}"#
    );
    let messages = format!("POST /v1/sessions/{SESSION}/messages HTTP/1.1");
    let approve = format!("POST /v1/sessions/{SESSION}/approve HTTP/1.1");
    let patch = format!("PATCH /v1/sessions/{SESSION} HTTP/1.1");
    assert_eq!(
        seen,
        [
            ("POST /v1/sessions HTTP/1.1", expected_create.as_str()),
            (
                messages.as_str(),
                r#"{"role":"user","parts":[{"type":"text","text":"hé"}],"auto_run":false,"delivery":"steer","idempotency_key":"k"}"#
            ),
            (approve.as_str(), expected_answer.as_str()),
            (patch.as_str(), r#"{"archived":true}"#),
        ]
    );
}

#[tokio::test]
async fn a_turn_is_canceled_by_its_name() {
    let server = CannedServer::tcp(vec![json("200 OK", r#"{"canceled":false}"#)]).await;
    let client = server.client(None).await;
    assert!(!client.cancel_turn(session_id(), turn_id()).await.unwrap());
    let requests = server.requests().await;
    let (line, body) = line_and_body(&requests[0]);
    assert!(line.contains(&format!("/v1/sessions/{}/cancel", session_id())), "{line}");
    assert_eq!(body, format!(r#"{{"turn_id":"{TURN}"}}"#));
}

#[tokio::test]
async fn commands_without_a_body_of_their_own_send_an_empty_object_to_the_right_place() {
    let turn = json("202 Accepted", &format!(r#"{{"turn_id":"{TURN}"}}"#));
    let canceled = json("200 OK", r#"{"canceled":true}"#);
    let none = b"HTTP/1.1 204 No Content\r\n\r\n".to_vec();
    let server =
        CannedServer::tcp(vec![turn.clone(), turn, canceled, none.clone(), none.clone(), none]).await;
    let client = server.client(None).await;

    assert_eq!(client.run(session_id()).await.unwrap(), turn_id());
    assert_eq!(client.retry(session_id(), turn_id()).await.unwrap(), turn_id());
    assert!(client.cancel(session_id()).await.unwrap());
    client.withdraw(session_id(), message_id()).await.unwrap();
    client.delete(session_id(), false).await.unwrap();
    client.delete(session_id(), true).await.unwrap();

    let requests = server.requests().await;
    let seen: Vec<(&str, &str)> = requests.iter().map(|request| line_and_body(request)).collect();
    let lines = [
        format!("POST /v1/sessions/{SESSION}/run HTTP/1.1"),
        format!("POST /v1/sessions/{SESSION}/turns/{TURN}/retry HTTP/1.1"),
        format!("POST /v1/sessions/{SESSION}/cancel HTTP/1.1"),
        format!("DELETE /v1/sessions/{SESSION}/queue/{MESSAGE} HTTP/1.1"),
        format!("DELETE /v1/sessions/{SESSION} HTTP/1.1"),
        format!("DELETE /v1/sessions/{SESSION}?purge=true HTTP/1.1"),
    ];
    let bodies = ["{}", "{}", "{}", "", "", ""];
    assert_eq!(seen, lines.iter().map(String::as_str).zip(bodies).collect::<Vec<_>>());
}

#[tokio::test]
async fn reading_parses_what_the_daemon_says_and_ignores_what_is_new() {
    let page =
        format!(r#"{{"sessions":[{},"last_seq":9,"snippet":"…","new":1}}],"next_cursor":"c1"}}"#, session());
    let message = format!(
        r#"{{"messages":[{{"id":"{MESSAGE}","role":"user","parts":[{{"type":"text","text":"hi"}}],"created_at":"2026-01-01T00:00:00Z"}}],"before":3}}"#
    );
    let approvals = format!(r#"{{"approvals":[{}]}}"#, approval());
    let answers = [page, view(), message, approvals].map(|body| json("200 OK", &body));
    let server = CannedServer::tcp(answers.to_vec()).await;
    let client = server.client(None).await;

    let filter = SessionFilter {
        status: Some(SessionStatus::WaitingApproval),
        workspace: Some("/a b/é&x=1".to_owned()),
        archived: Some(false),
        parent: Some(session_id()),
        children: true,
        q: Some("1+1".to_owned()),
        limit: Some(5),
        cursor: None,
    };
    let page = client.list_sessions(&filter).await.unwrap();
    assert_eq!((page.sessions[0].session.id, page.next_cursor.as_deref()), (session_id(), Some("c1")));
    let view = client.session(session_id()).await.unwrap();
    assert_eq!((view.last_seq, view.pending_approvals[0].tool.as_str()), (7, "shell"));
    let messages = client.messages(session_id(), Some(7), Some(2)).await.unwrap();
    assert_eq!((messages.messages[0].text().as_str(), messages.before), ("hi", Some(3)));
    assert_eq!(client.approvals().await.unwrap()[0].turn_id, turn_id());

    let requests = server.requests().await;
    let lines: Vec<&str> = requests.iter().map(|request| line_and_body(request).0).collect();
    assert_eq!(
        lines,
        [
            &format!(
                "GET /v1/sessions?parent={SESSION}&children=true&status=waiting_approval&workspace=%2Fa%20b%2F%C3%A9%26x%3D1&archived=false&q=1%2B1&limit=5 HTTP/1.1"
            ),
            &format!("GET /v1/sessions/{SESSION} HTTP/1.1"),
            &format!("GET /v1/sessions/{SESSION}/messages?before=7&limit=2 HTTP/1.1"),
            "GET /v1/approvals HTTP/1.1",
        ]
    );
}

#[tokio::test]
async fn usage_is_asked_for_with_its_filter_and_keeps_its_shape() {
    let sum = r#""steps":2,"input_tokens":10,"output_tokens":5,"cached_tokens":4,"cache_write_tokens":3,"reasoning_tokens":1,"cost_usd":0.25,"unpriced_steps":1"#;
    let body = format!(r#"{{"by":"model","rows":[{{"key":"a:b",{sum}}}],"left_out":0,"total":{{{sum}}}}}"#);
    let server = CannedServer::tcp(vec![json("200 OK", &body), json("200 OK", &body)]).await;
    let client = server.client(None).await;

    let table = client.usage(&UsageFilter::new(UsageBy::Day)).await.unwrap();
    assert_eq!((table.rows[0].key.as_str(), table.rows[0].sum), ("a:b", table.total));
    assert_eq!((table.total.steps, table.total.usage.cached_tokens, table.total.unpriced_steps), (2, 4, 1));
    assert_eq!(table.total.usage.cost_usd.unwrap().usd(), 0.25);
    assert_eq!(serde_json::to_string(&table).unwrap(), body, "what is printed is what was answered");

    let filter = UsageFilter {
        by: UsageBy::Model,
        from: Some("2026-01-31".to_owned()),
        to: Some("2026-02-01T00:00:00+01:00".to_owned()),
        session: Some(session_id()),
        workspace: Some("/w".to_owned()),
        model: Some("a:b".to_owned()),
        utc_offset_minutes: -90,
    };
    client.usage(&filter).await.unwrap();
    let requests = server.requests().await;
    let lines: Vec<&str> = requests.iter().map(|request| line_and_body(request).0).collect();
    let all = format!(
        "GET /v1/usage?by=model&from=2026-01-31&to=2026-02-01T00%3A00%3A00%2B01%3A00&session={SESSION}\
         &workspace=%2Fw&model=a%3Ab&utc_offset_minutes=-90 HTTP/1.1"
    );
    assert_eq!(lines, ["GET /v1/usage?by=day&utc_offset_minutes=0 HTTP/1.1", &all]);
}

#[tokio::test]
async fn what_makes_sessions_of_sessions_is_asked_in_its_own_words() {
    let created = || json("201 Created", &format!(r#"{{"session_id":"{SESSION}"}}"#));
    let turn = || json("202 Accepted", &format!(r#"{{"turn_id":"{TURN}"}}"#));
    let context = r#"{"model":"a:b","tokens":9,"window":null,"percent":null,"messages":1,"sections":[{"kind":"user","name":"n","messages":1,"tokens":9,"percent":100.0}]}"#;
    let file = "HTTP/1.1 200 OK\r\ncontent-type: application/zip\r\ncontent-length: 2\r\n\r\nPK".to_owned();
    let server =
        CannedServer::tcp(vec![created(), turn(), turn(), json("200 OK", context), file.into(), created()])
            .await;
    let client = server.client(None).await;

    assert_eq!(client.fork(session_id(), Some(turn_id())).await.unwrap(), session_id());
    assert_eq!(client.compact(session_id()).await.unwrap(), turn_id());
    let subtask = r#"{"id":"a","prompt":"x"}"#;
    let plan: Plan = serde_json::from_str(&format!(r#"{{"subtasks":[{subtask}]}}"#)).unwrap();
    assert_eq!(client.run_plan(session_id(), &plan).await.unwrap(), turn_id());
    assert_eq!(client.context(session_id()).await.unwrap().sections[0].section.tokens, 9);
    let mut download = client.download(session_id(), ExportFormat::Zip).await.unwrap();
    assert_eq!(download.next().await.unwrap().as_deref(), Some(b"PK".as_slice()));
    assert_eq!(download.next().await.unwrap(), None);
    let imported = client.import("PK".into(), Some(ImportFormat::Zip), Some("/w x")).await;
    assert_eq!(imported.unwrap(), session_id());

    let requests = server.requests().await;
    let seen: Vec<(&str, &str)> = requests.iter().map(|request| line_and_body(request)).collect();
    let at = |end: &str| format!("/v1/sessions/{SESSION}/{end} HTTP/1.1");
    let expected = [
        (format!("POST {}", at("fork")), format!(r#"{{"turn_id":"{TURN}"}}"#)),
        (format!("POST {}", at("compact")), "{}".to_owned()),
        (format!("POST {}", at("subtasks")), format!(r#"{{"subtasks":[{subtask}]}}"#)),
        (format!("GET {}", at("context")), String::new()),
        (format!("GET {}", at("export?format=zip")), String::new()),
        ("POST /v1/sessions/import?format=zip&workspace_path=%2Fw%20x HTTP/1.1".to_owned(), "PK".to_owned()),
    ];
    let expected: Vec<(&str, &str)> =
        expected.iter().map(|(line, body)| (line.as_str(), body.as_str())).collect();
    assert_eq!(seen, expected);
}
