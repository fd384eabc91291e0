//! A turn with two tool calls and an approval, and what must hold after a crash anywhere in it.

use std::collections::BTreeMap;
use std::path::Path;

use futures_util::StreamExt;
use ostler_api_types::{ApprovalAnswerBody, CreateSession, SendMessage};
use ostler_client::{Client, ClientError, EventStream};
use ostler_types::{
    ApprovalEvent, CallEvent, Event, MessageEvent, Record, SessionId, State, TurnEvent, TurnId, Verdict,
};

/// Reads a file, then runs a command that leaves a line behind each time that it runs.
const PROMPT: &str = "read README.md and then run `echo once >> runs.txt`";

/// What the daemon has said so far; all of it must be true for ever.
#[derive(Default, Debug)]
pub(crate) struct ObservedScenario {
    pub(crate) session: Option<SessionId>,
    pub(crate) turn: Option<TurnId>,
    pub(crate) approved: bool,
    /// Records, as they were shown.
    pub(crate) records: BTreeMap<u64, String>,
}

/// A workspace for the scenario.
pub(crate) fn workspace(path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    std::fs::write(path.join("README.md"), "a file to read\n").unwrap();
}

/// Plays the scenario as far as the daemon lives.
pub(crate) async fn play(
    client: &Client,
    workspace: &Path,
    told: &mut ObservedScenario,
) -> Result<(), ClientError> {
    let workspace_path = workspace.to_str().unwrap().to_owned();
    let id = client.create_session(&CreateSession { workspace_path, ..CreateSession::default() }).await?;
    told.session = Some(id);
    let events = client.events(id, 0, true).await?;
    told.turn = client.send_message(id, &SendMessage::prompt(PROMPT)).await?.turn_id;
    finish(client, id, events, told).await
}

/// Follows a turn to its end, answering its approval.
async fn finish(
    client: &Client,
    id: SessionId,
    mut events: EventStream,
    told: &mut ObservedScenario,
) -> Result<(), ClientError> {
    while let Some(line) = events.next().await {
        let line = line?;
        let Some(seq) = line.seq else { continue };
        let record: Record = serde_json::from_str(&line.raw).unwrap();
        told.records.insert(seq, line.raw);
        match record.event {
            Event::Approval(ApprovalEvent::Requested { tool_call, .. }) => {
                let turn_id = record.turn_id.unwrap();
                let tool_call_id = tool_call.id;
                let answer = ApprovalAnswerBody {
                    turn_id: Some(turn_id),
                    tool_call_id,
                    action: Verdict::Approve,
                    scope: None,
                    reason: None,
                    review: None,
                    option: None,
                };
                client.approve(id, &answer).await?;
                told.approved = true;
            }
            Event::Turn(
                TurnEvent::Completed { .. } | TurnEvent::Failed { .. } | TurnEvent::Canceled { .. },
            ) => {
                return Ok(());
            }
            _ => {}
        }
    }
    Err(ClientError::Protocol("the stream ended before the turn".to_owned()))
}

/// After the restart: what was told is there, and the session goes on as the contract says.
pub(crate) async fn check(client: &Client, workspace: &Path, told: &ObservedScenario) {
    let Some(id) = told.session else { return };
    let view = wait_until_idle(client, id).await;
    let lines = export(client, id).await;
    for (seq, line) in &told.records {
        let kept = lines.get(usize::try_from(*seq).unwrap() - 1);
        assert_eq!(kept, Some(line), "record {seq} was shown and is not there any more");
    }
    let records: Vec<Record> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    for (index, record) in records.iter().enumerate() {
        assert_eq!(record.seq, index as u64 + 1, "a hole in the log");
    }
    let count = |name: &str| records.iter().filter(|record| record.event.name().as_str() == name).count();
    let ends = count("turn_completed") + count("turn_failed") + count("turn_canceled");
    assert_eq!(ends, count("turn_started"), "each turn has one end");
    if told.turn.is_some() {
        assert_eq!(count("turn_started"), 1, "an accepted message has its turn");
    }
    if told.approved {
        assert_eq!(count("approval_granted"), 1, "an accepted answer is there");
    }
    assert_eq!(count("tool_call_completed"), calls(&records), "calls and results pair");
    let started: Vec<&str> = records.iter().filter_map(started).collect();
    let mut once = started.clone();
    once.dedup();
    assert_eq!(started, once, "no call starts twice");
    let runs = std::fs::read_to_string(workspace.join("runs.txt")).unwrap_or_default();
    assert!(runs.lines().count() <= 1, "the command ran twice");
    let fold = State::fold(&records).unwrap().view();
    assert_eq!(serde_json::to_value(fold).unwrap(), view, "the state is the fold of the log");
}

/// Waits until the session is at rest, answering an approval that survived.
async fn wait_until_idle(client: &Client, id: SessionId) -> serde_json::Value {
    let view = client.session(id).await.unwrap();
    if view.running_turn_id.is_some() {
        let events = client.events(id, 0, true).await.unwrap();
        let survived = view.pending_approvals.len();
        let mut told = ObservedScenario::default();
        match finish(client, id, events, &mut told).await {
            Ok(()) => assert!(told.approved || survived == 0, "the approval could still be answered"),
            // The history holds the request and its answer from before the crash.
            Err(ClientError::Refused { status: 409, .. }) => {
                let events = client.events(id, 0, true).await.unwrap();
                follow_to_end(events).await;
            }
            Err(error) => panic!("{error}"),
        }
    }
    serde_json::to_value(client.session(id).await.unwrap()).unwrap()
}

async fn follow_to_end(mut events: EventStream) {
    while let Some(line) = events.next().await {
        if matches!(line.unwrap().name.as_str(), "turn_completed" | "turn_failed" | "turn_canceled") {
            return;
        }
    }
    panic!("the stream ended before the turn");
}

pub(crate) async fn export(client: &Client, id: SessionId) -> Vec<String> {
    let events = client.export(id).await.unwrap();
    events
        .map(|line| line.unwrap())
        .filter(|line| std::future::ready(line.seq.is_some()))
        .map(|line| line.raw)
        .collect()
        .await
}

fn calls(records: &[Record]) -> usize {
    let messages = records.iter().filter_map(|record| match &record.event {
        Event::Message(MessageEvent::ModelOutputCompleted { message, .. }) => Some(message),
        _ => None,
    });
    messages.map(|message| message.tool_calls().count()).sum()
}

fn started(record: &Record) -> Option<&str> {
    if let Event::Call(CallEvent::Started { tool_call, .. }) = &record.event {
        Some(&tool_call.id.0)
    } else {
        None
    }
}
