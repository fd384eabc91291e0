//! `GET /v1/usage`: sums as they are recorded, filters, and questions that make no sense.

use serde_json::{Value, json};

use crate::daemon::DoorTestDaemon;

/// Has a message answered. The session is shown by its actor, which has told the index by then.
async fn answered(daemon: &DoorTestDaemon, session: &str, text: &str) {
    let (_, turn) = daemon.say(session, text).await;
    let mut stream = daemon.follow(&format!("/v1/sessions/{session}/events?types=turn_completed")).await;
    loop {
        if stream.until("turn_completed").await["turn_id"] == turn.as_str() {
            break;
        }
    }
    daemon.get(&format!("/v1/sessions/{session}")).await;
}

async fn usage(daemon: &DoorTestDaemon, query: &str) -> Value {
    let answer = daemon.get(&format!("/v1/usage{query}")).await;
    assert_eq!(answer.status(), 200, "{query}: {}", answer.text());
    answer.json()
}

fn keys(table: &Value) -> Vec<&str> {
    table["rows"].as_array().unwrap().iter().map(|row| row["key"].as_str().unwrap()).collect()
}

/// What one answer of the priced model takes.
fn paid() -> Value {
    json!({
        "steps": 1, "input_tokens": 100, "output_tokens": 20, "cached_tokens": 30, "cache_write_tokens": 40,
        "reasoning_tokens": 10, "cost_usd": 0.25, "unpriced_steps": 0,
    })
}

#[tokio::test]
async fn nothing_used_is_an_empty_table() {
    let daemon = DoorTestDaemon::start().await;
    let nothing = json!({
        "steps": 0, "input_tokens": 0, "output_tokens": 0, "cached_tokens": 0, "cache_write_tokens": 0,
        "reasoning_tokens": 0, "cost_usd": null, "unpriced_steps": 0,
    });
    let table = usage(&daemon, "").await;
    assert_eq!(table, json!({"by": "day", "rows": [], "left_out": 0, "total": nothing}));
}

#[tokio::test]
async fn what_was_used_is_summed_up_every_way() {
    let daemon = DoorTestDaemon::start().await;
    let (cheap, dear) = (daemon.session().await, daemon.session().await);
    answered(&daemon, &cheap, "hello").await;
    answered(&daemon, &dear, "pay").await;

    let models = usage(&daemon, "?by=model").await;
    assert_eq!(models["by"], "model");
    assert_eq!(keys(&models), ["test:two", "test:one"]);
    let mut priced = paid();
    priced["key"] = json!("test:two");
    assert_eq!(models["rows"][0], priced);
    assert_eq!(
        (&models["rows"][1]["cost_usd"], &models["rows"][1]["unpriced_steps"]),
        (&Value::Null, &json!(1))
    );
    let total = json!({
        "steps": 2, "input_tokens": 103, "output_tokens": 25, "cached_tokens": 30, "cache_write_tokens": 40,
        "reasoning_tokens": 10, "cost_usd": 0.25, "unpriced_steps": 1,
    });
    for by in ["day", "model", "session", "workspace", "total"] {
        assert_eq!(usage(&daemon, &format!("?by={by}")).await["total"], total, "{by}");
    }
    assert_eq!(keys(&usage(&daemon, "?by=session").await), [&dear, &cheap]);
    assert_eq!(keys(&usage(&daemon, "?by=workspace").await), [&daemon.workspace()]);
    assert_eq!(keys(&usage(&daemon, "?by=total").await), ["total"]);
}

#[tokio::test]
async fn filters_and_times_are_understood() {
    let daemon = DoorTestDaemon::start().await;
    let (cheap, dear) = (daemon.session().await, daemon.session().await);
    answered(&daemon, &cheap, "hello").await;
    answered(&daemon, &dear, "pay").await;
    let workspace = daemon.workspace().replace('/', "%2F");
    let record: Value = daemon
        .log(&dear)
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap())
        .find(|record| record["type"] == "usage_recorded")
        .unwrap();
    let at: jiff::Timestamp = record["ts"].as_str().unwrap().parse().unwrap();
    let day = at.to_string()[..10].to_owned();
    // The day after the day after, so that no offset leads there.
    let later = (at + jiff::SignedDuration::from_hours(48)).to_string()[..10].to_owned();
    for (query, steps) in [
        (format!("session={dear}"), 1),
        ("session=sess_0190f3c4a5b67c8d9e0f112233445566".to_owned(), 0),
        (format!("workspace={workspace}"), 2),
        ("workspace=%2Fnowhere".to_owned(), 0),
        ("model=test:two".to_owned(), 1),
        (format!("model=test:two&session={cheap}"), 0),
        (format!("from={later}"), 0),
        (format!("to={later}"), 2),
        (format!("session={dear}&from={at}"), 1),
        (format!("session={dear}&to={at}"), 0),
        ("from=2026-01-01T00:00:00%2B01:00&to=2026-01-01".to_owned(), 0),
    ] {
        assert_eq!(usage(&daemon, &format!("?{query}")).await["total"]["steps"], steps, "{query}");
    }
    // Days are cut, and dates begin, at the asker's midnight.
    let one = format!("?session={dear}");
    assert_eq!(keys(&usage(&daemon, &one).await), [day.as_str()]);
    for minutes in [-1080, 1080] {
        let local = jiff::tz::Offset::from_seconds(minutes * 60).unwrap().to_datetime(at).date();
        let table = usage(&daemon, &format!("{one}&utc_offset_minutes={minutes}")).await;
        assert_eq!(keys(&table), [local.to_string().as_str()]);
        let (today, tomorrow) = (local, local.tomorrow().unwrap());
        for (from, steps) in [(today, 1), (tomorrow, 0)] {
            let query = format!("{one}&utc_offset_minutes={minutes}&from={from}");
            assert_eq!(usage(&daemon, &query).await["total"]["steps"], steps, "{query}");
        }
    }
}

#[tokio::test]
async fn a_purged_session_takes_its_use_along() {
    let daemon = DoorTestDaemon::start().await;
    let session = daemon.session().await;
    answered(&daemon, &session, "pay").await;
    assert_eq!(usage(&daemon, "").await["total"], paid());
    daemon.delete(&format!("/v1/sessions/{session}?purge=true")).await;
    assert_eq!(usage(&daemon, "").await["rows"], json!([]));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused() {
    let daemon = DoorTestDaemon::start().await;
    for query in [
        "by=hour",
        "by=",
        "from=",
        "from=yesterday",
        "from=2026-02-30",
        "from=2026-01-01T00:00:00",
        "from=2026-01-01T00:00:00+01:00",
        "to=20260101",
        "to=1735689600",
        "session=1",
        "utc_offset_minutes=1081",
        "utc_offset_minutes=-1081",
        "utc_offset_minutes=x",
        "utc_offset_minutes=99999999999",
        "until=2026-01-01",
        "by=day&by=day",
    ] {
        let answer = daemon.get(&format!("/v1/usage?{query}")).await;
        assert_eq!(
            (answer.status(), answer.code().as_str()),
            (400, "bad_query"),
            "{query}: {}",
            answer.text()
        );
    }
    assert_eq!(daemon.post("/v1/usage", &json!({})).await.status(), 405);
}
