//! What is tried, step by step. Each stands for itself, as far as the one before it left something to go on with.

use anyhow::{Context, bail, ensure};
use futures_util::StreamExt;
use ostler_api_types::{ApprovalAnswerBody, CreateSession, SendMessage, UndoTurn};
use ostler_client::Client;
use ostler_types::{
    ApprovalEvent, CallEvent, Event, EventName, Policy, Record, SessionId, TurnEvent, TurnId, Verdict,
};

use super::{ScratchDaemon, ScratchDirs, StepReport};

/// Tries everything. An error is one that nobody reads the report.
pub(super) async fn run_steps(place: &ScratchDirs, report: &mut StepReport) -> anyhow::Result<()> {
    let Some(daemon) = report.step("a daemon starts and answers", ScratchDaemon::start(place)).await? else {
        return Ok(());
    };
    let client = &daemon.client;
    let session = session(client, place);
    let Some(id) = report.step("a session is created", session).await? else { return Ok(()) };
    report.step("a tool is used: a file is read", check_read(client, id)).await?;
    let write = check_write(client, id, place);
    let written = report.step("writing a file asks for approval", write).await?;
    if let Some(turn) = &written {
        report.step("the change is verified", async { verified(turn) }).await?;
    }
    report.step("the sandbox keeps a program in its workspace", confined(client, id, place)).await?;
    let question = begin_until_question(client, id, "write second.txt with two").await;
    let killed = check_restart(daemon, place, id, question);
    let Some(daemon) = report.step("a pending approval survives a crash", killed).await? else {
        return Ok(());
    };
    if let Some(turn) = written {
        let undo = check_undo(&daemon.client, id, turn.id, place);
        report.step("a turn is undone", undo).await?;
    }
    report.step("the daemon stops on request", daemon.stop()).await?;
    Ok(())
}

async fn session(client: &Client, place: &ScratchDirs) -> anyhow::Result<SessionId> {
    let mut policy = Policy::default();
    policy.verify.commands = vec!["test -f made.txt".to_owned()];
    let workspace_path = place.work.to_str().context("the path of the scratch place is not text")?.to_owned();
    let new = CreateSession { workspace_path, policy: Some(policy.into()), ..CreateSession::default() };
    Ok(client.create_session(&new).await?)
}

async fn check_read(client: &Client, id: SessionId) -> anyhow::Result<()> {
    let turn = run_turn(client, id, "read README.md", true).await?;
    ensure!(turn.approvals.is_empty(), "reading asked for an approval");
    ensure!(turn.results == [true], "the tool did not answer: {:?}", turn.results);
    turn.completed()
}

async fn check_write(client: &Client, id: SessionId, place: &ScratchDirs) -> anyhow::Result<WatchedTurn> {
    let turn = run_turn(client, id, "write made.txt with one", true).await?;
    ensure!(!turn.approvals.is_empty(), "nobody was asked");
    turn.completed()?;
    ensure!(place.work.join("made.txt").is_file(), "the file is not there after the answer");
    Ok(turn)
}

fn verified(turn: &WatchedTurn) -> anyhow::Result<()> {
    ensure!(turn.verified == Some(true), "the turn was not verified");
    Ok(())
}

/// A program tries to leave something outside, and inside, of its workspace.
async fn confined(client: &Client, id: SessionId, place: &ScratchDirs) -> anyhow::Result<()> {
    let outside = place.outside.join("escaped.txt");
    let line = format!("run `touch inside.txt; touch {}`", outside.display());
    let turn = run_turn(client, id, &line, true).await?;
    ensure!(!outside.exists(), "it could write outside; `ostler doctor` says what confines programs here");
    ensure!(turn.results.len() == 1, "the program was not run");
    ensure!(place.work.join("inside.txt").is_file(), "it could not write inside");
    Ok(())
}

/// Begins a turn, and waits for its question.
async fn begin_until_question(client: &Client, id: SessionId, prompt: &str) -> anyhow::Result<()> {
    run_turn(client, id, prompt, false).await.map(drop)
}

/// Kills the daemon, starts another one, and answers what the first one asked.
async fn check_restart(
    daemon: ScratchDaemon,
    place: &ScratchDirs,
    id: SessionId,
    question: anyhow::Result<()>,
) -> anyhow::Result<ScratchDaemon> {
    let before = daemon.client.session(id).await?;
    daemon.kill().await?;
    question?;
    let daemon = ScratchDaemon::start(place).await?;
    let after = daemon.client.session(id).await?;
    ensure!(after.last_seq >= before.last_seq, "{} records became {}", before.last_seq, after.last_seq);
    let [waiting] = &after.pending_approvals[..] else {
        bail!("{} questions wait after the restart", after.pending_approvals.len())
    };
    let mut events = daemon.client.events(id, before.last_seq, true).await?;
    let answer = ApprovalAnswerBody {
        turn_id: Some(waiting.turn_id),
        tool_call_id: waiting.tool_call_id.clone(),
        action: Verdict::Approve,
        scope: None,
        reason: None,
        review: None,
        option: None,
    };
    daemon.client.approve(id, &answer).await?;
    while let Some(line) = events.next().await {
        match line?.name.parse::<EventName>() {
            Ok(EventName::TurnCompleted) => break,
            Ok(name) if name.ends_turn() => bail!("the turn did not go on"),
            Ok(_) | Err(_) => {}
        }
    }
    ensure!(place.work.join("second.txt").is_file(), "what was allowed was not done");
    Ok(daemon)
}

async fn check_undo(
    client: &Client,
    id: SessionId,
    turn_id: TurnId,
    place: &ScratchDirs,
) -> anyhow::Result<()> {
    let undone = client.undo(id, &UndoTurn { turn_id, preview: None, force: None }).await?;
    ensure!(undone.conflicts.is_empty(), "{}: {}", undone.conflicts[0].path, undone.conflicts[0].why);
    ensure!(!place.work.join("made.txt").exists(), "the file is still there");
    ensure!(place.work.join("README.md").is_file(), "a file is gone that the turn did not make");
    Ok(())
}

/// A turn, as far as it was watched.
struct WatchedTurn {
    id: TurnId,
    approvals: Vec<String>,
    results: Vec<bool>,
    verified: Option<bool>,
    /// Why it did not complete.
    problem: Option<String>,
}

impl WatchedTurn {
    fn completed(&self) -> anyhow::Result<()> {
        match &self.problem {
            Some(problem) => bail!("the turn did not complete: {problem}"),
            None => Ok(()),
        }
    }
}

/// Plays a turn to its end, allowing everything; or to its first question.
async fn run_turn(
    client: &Client,
    id: SessionId,
    prompt: &str,
    to_its_end: bool,
) -> anyhow::Result<WatchedTurn> {
    let after = client.session(id).await?.last_seq;
    let mut events = client.events(id, after, true).await?;
    let sent = client.send_message(id, &SendMessage::prompt(prompt)).await?;
    let turn_id = sent.turn_id.context("no turn was started")?;
    let (approvals, results) = (Vec::new(), Vec::new());
    let mut played = WatchedTurn { id: turn_id, approvals, results, verified: None, problem: None };
    while let Some(line) = events.next().await {
        let line = line?;
        if line.seq.is_none() {
            continue;
        }
        let record: Record = serde_json::from_str(&line.raw)?;
        match record.event {
            Event::Approval(ApprovalEvent::Requested { tool_call, summary, .. }) => {
                played.approvals.push(summary);
                if !to_its_end {
                    return Ok(played);
                }
                let answer = ApprovalAnswerBody {
                    turn_id: Some(turn_id),
                    tool_call_id: tool_call.id,
                    action: Verdict::Approve,
                    scope: None,
                    reason: None,
                    review: None,
                    option: None,
                };
                client.approve(id, &answer).await?;
            }
            Event::Call(CallEvent::Completed { tool_result, .. }) => played.results.push(tool_result.ok),
            Event::Turn(TurnEvent::Completed { verified, .. }) => {
                played.verified = verified;
                return Ok(played);
            }
            Event::Turn(TurnEvent::Failed { error, .. }) => {
                played.problem = Some(error.message);
                return Ok(played);
            }
            Event::Turn(TurnEvent::Canceled { by, .. }) => {
                played.problem = Some(format!("it was canceled by {by}"));
                return Ok(played);
            }
            _ => {}
        }
    }
    bail!("the daemon ended before the turn did")
}
