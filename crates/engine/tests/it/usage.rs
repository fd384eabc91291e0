//! Usage: what models took is summed up as it is recorded, once each, and again after the index is gone.

use ostler_agent::{ReportError, TurnContext};
use ostler_index::{UsageGrouping, UsageQuery, UsageReport};
use ostler_testing::agent::{ScriptedAgent, done, failed};
use ostler_types::{Cost, Message, Part, Role, SessionId, TurnReport, Usage};

use crate::fixture::{EngineFixture, TestEngine};

fn usage(tokens: u64, nanos: Option<u64>) -> Usage {
    Usage {
        input_tokens: tokens,
        output_tokens: 1,
        cost_usd: nanos.map(Cost::from_nanos),
        ..Usage::default()
    }
}

async fn answer(turn: &TurnContext, model: &str, usage: Usage) -> Result<(), ReportError> {
    let parts = vec![Part::text("an answer")];
    let message =
        Message { id: turn.message_id(), role: Role::Assistant, parts, created_at: turn.clock.now() };
    let (model, stop_reason) = (model.to_owned(), "end_turn".to_owned());
    turn.report(TurnReport::StepFinished { model, message, stop_reason, usage }).await?;
    Ok(())
}

/// A turn of three answers: one with a price, one cut off, one of a model whose price nobody knows.
fn push_turn(agent: &ScriptedAgent) {
    agent.push(|turn| async move {
        answer(&turn, "known:a", usage(100, Some(2_000))).await?;
        let spent = TurnReport::UsageSpent { model: "known:a".to_owned(), usage: usage(10, Some(30)) };
        turn.report(spent).await?;
        answer(&turn, "odd:b", usage(1, None)).await?;
        done()
    });
}

/// Plays a turn to its end. The view is of the actor, which has told the index when it answers.
async fn play(daemon: &TestEngine, id: SessionId, end: &str) {
    daemon.say(id, "go").await;
    daemon.recorded(id, end, 1).await;
    daemon.engine.view(id).await.unwrap();
}

async fn report(daemon: &TestEngine, by: UsageGrouping) -> UsageReport {
    daemon.engine.usage(UsageQuery::new(by)).await.unwrap()
}

async fn reports(daemon: &TestEngine) -> Vec<UsageReport> {
    let mut reports = Vec::new();
    for by in [
        UsageGrouping::Day,
        UsageGrouping::Model,
        UsageGrouping::Session,
        UsageGrouping::Workspace,
        UsageGrouping::Total,
    ] {
        reports.push(report(daemon, by).await);
    }
    reports
}

#[test]
fn every_answer_counts_once_and_an_index_that_was_deleted_knows_them_again() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let (before, sum) = place.until_stop(&agent, async |daemon| {
        push_turn(&agent);
        let one = daemon.create().await;
        play(daemon, one, "turn_completed").await;
        agent.push(|turn| async move {
            answer(&turn, "odd:b", usage(5, None)).await?;
            failed("scripted")
        });
        let other = daemon.create().await;
        play(daemon, other, "turn_failed").await;
        let mut sum = daemon.engine.view(one).await.unwrap().session.usage;
        sum += daemon.engine.view(other).await.unwrap().session.usage;
        (reports(daemon).await, sum)
    });
    let rows = |report: &UsageReport| -> Vec<(String, u64, u64, u64)> {
        let row = |row: &ostler_index::UsageGroup| {
            (row.key.clone(), row.sum.steps, row.sum.usage.input_tokens, row.sum.unpriced_steps)
        };
        report.rows.iter().map(row).collect()
    };
    assert_eq!(rows(&before[1]), [("known:a".to_owned(), 2, 110, 0), ("odd:b".to_owned(), 2, 6, 2)]);
    assert_eq!(before[2].rows.len(), 2);
    for report in &before {
        assert_eq!(report.total.usage, sum, "the sums are those of the sessions themselves");
        assert_eq!((report.total.steps, report.total.unpriced_steps), (4, 2));
    }
    let again = place.until_stop(&agent, async |daemon| reports(daemon).await);
    assert_eq!(again, before);
    for file in ["index.db", "index.db-wal", "index.db-shm"] {
        let _ = std::fs::remove_file(place.data().join(file));
    }
    let rebuilt = place.until_stop(&agent, async |daemon| reports(daemon).await);
    assert_eq!(rebuilt, before);
}

#[test]
fn what_a_daemon_that_was_killed_had_recorded_is_caught_up() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    push_turn(&agent);
    let id = place.until_crash(&agent, async |daemon| {
        let id = daemon.create().await;
        daemon.say(id, "go").await;
        daemon.recorded(id, "usage_recorded", 3).await;
        id
    });
    let report = place.until_stop(&agent, async |daemon| {
        let query = UsageQuery { session: Some(id), ..UsageQuery::new(UsageGrouping::Total) };
        daemon.engine.usage(query).await.unwrap()
    });
    assert_eq!((report.total.steps, report.total.usage.input_tokens), (3, 111));
}

#[tokio::test]
async fn a_purged_session_is_in_no_sum() {
    let (place, agent) = (EngineFixture::new(), ScriptedAgent::new());
    let daemon = place.open(&agent).await;
    for _ in 0..2 {
        push_turn(&agent);
        let id = daemon.create().await;
        play(&daemon, id, "turn_completed").await;
    }
    let sessions = report(&daemon, UsageGrouping::Session).await;
    assert_eq!((sessions.rows.len(), sessions.total.steps), (2, 6));
    daemon.engine.purge(sessions.rows[0].key.parse().unwrap()).await.unwrap();
    let left = report(&daemon, UsageGrouping::Session).await;
    assert_eq!((left.rows.len(), left.rows[0].clone()), (1, sessions.rows[1].clone()));
}
