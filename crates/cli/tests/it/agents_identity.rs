//! Our own agent inside our own: `ostler acp` on another data directory, configured as somebody else's agent, tells
//! what the daemon's own session records.

use std::path::Path;

use ostler_types::{Policy, SessionId};
use serde_json::{Value, json};

use crate::agents::{section, session};
use crate::process::binary;
use crate::scripted::{ScriptedDaemon, call, prompt, shell};

/// A daemon with itself as an agent. What the inner one is configured with stands beside its data.
async fn stage() -> (ScriptedDaemon, tempfile::TempDir) {
    let inner = tempfile::tempdir_in(crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    let config = inner.path().join("inner.toml");
    let ostler = binary().get_program().to_string_lossy().into_owned();
    let data = inner.path().join("data");
    let words = [&ostler, "acp", "--data-dir", data.to_str().unwrap(), "--config", config.to_str().unwrap()];
    let command: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    // In the open, since the inner one has a sandbox and data of its own.
    let passed = "pass_env = [\"STAGE_KEY\", \"OSTLER_MODELS_DISCOVER\", \"OSTLER_CONTEXT_BUNDLE\"]\n\
                  sandbox = \"off\"";
    let stage = ScriptedDaemon::new(&section("self", &command, passed)).await;
    let outer = std::fs::read_to_string(stage.data.parent().unwrap().join("config.toml")).unwrap();
    let (own, _) = outer.split_once("[agents.self]").unwrap();
    std::fs::write(&config, own).unwrap();
    (stage, inner)
}

/// The records of a turn whose questions are answered in this order.
async fn records(
    stage: &ScriptedDaemon,
    id: SessionId,
    steps: &[Value],
    mut verdicts: &[&str],
) -> Vec<Value> {
    let mut turn = stage.start(id, steps).await;
    loop {
        let record = turn.next().await;
        match record["type"].as_str().unwrap() {
            "approval_requested" => {
                let (first, rest) = verdicts.split_first().expect("a verdict for each question");
                verdicts = rest;
                let (status, answer) = stage.answer(&record, json!({"action": first})).await;
                assert_eq!(status, 200, "{answer}");
            }
            "turn_completed" | "turn_failed" | "turn_canceled" => return turn.records,
            _ => {}
        }
    }
}

/// What two sessions must have in common: everything but ids, times, how long things took, whose call it is, and what
/// only one of two can know.
fn essence(records: &[Value], work: &Path) -> Vec<Value> {
    // How the other agent stands is nothing that ours tells; that a workspace is captured before an agent hears
    // anything is because it need not say when it writes; tokens are counted once for the whole prompt; and that the
    // rest of a batch does not run is a rule of our loop, for which the protocol has no word.
    let told = ["agent_updated", "checkpoint_created", "usage_recorded", "tool_batch_halted"];
    let kept = records.iter().filter(|record| !told.contains(&record["type"].as_str().unwrap()));
    kept.map(|record| {
        let mut data = record["data"].clone();
        plain(&mut data, work);
        if record["type"] == "model_output_completed" {
            // Why a model stopped in the middle is said in its provider's words, for which the protocol has no place.
            data.as_object_mut().unwrap().remove("stop_reason");
        }
        json!({"type": record["type"], "data": data})
    })
    .collect()
}

fn plain(value: &mut Value, work: &Path) {
    match value {
        Value::Object(members) => {
            for gone in [
                "id",
                "message_id",
                "message_ids",
                "tool_call_id",
                "tool_calls",
                "created_at",
                "duration_ms",
                "usage",
                "model",
                "rule",
                "options",
                "option",
                "summary",
                "by",
                "details",
                "_title",
                "_locations",
            ] {
                members.remove(gone);
            }
            if let Some(name) = members.get("name").and_then(Value::as_str) {
                let name = name.strip_prefix("acp__self__").unwrap_or(name).to_owned();
                members.insert("name".to_owned(), name.into());
            }
            if let Some(tool) = members.get("tool").and_then(Value::as_str) {
                let tool = tool.strip_prefix("acp__self__").unwrap_or(tool).to_owned();
                members.insert("tool".to_owned(), tool.into());
            }
            members.values_mut().for_each(|member| plain(member, work));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| plain(value, work)),
        Value::String(text) => *text = text.replace(&work.display().to_string(), "WORK"),
        _ => {}
    }
}

#[tokio::test]
async fn our_agent_through_the_protocol_is_our_agent() {
    let (stage, _inner) = stage().await;
    let mut policy = Policy::default();
    policy.verify.auto = false;
    let scripts: [(&[Value], &[&str]); 4] = [
        (&[json!("just words, and no more")], &[]),
        (&[call("repo_tree", json!({})), json!("that is all")], &[]),
        (&[shell("echo hello > made.txt; echo out"), json!("made")], &["approve"]),
        (&[shell("rm made.txt"), json!("then not")], &["deny"]),
    ];
    let other = session(&stage.client, "self", &stage.work, policy.clone()).await;
    let own = stage.session(policy).await;
    let mut differences = Vec::new();
    for (steps, verdicts) in scripts {
        let through = essence(&records(&stage, other, steps, verdicts).await, &stage.work);
        _ = std::fs::remove_file(stage.work.join("made.txt"));
        let direct = essence(&records(&stage, own, steps, verdicts).await, &stage.work);
        let names = |records: &[Value]| -> Vec<String> {
            records.iter().map(|record| record["type"].as_str().unwrap().to_owned()).collect()
        };
        assert_eq!(names(&through), names(&direct), "{}", prompt(steps));
        let pairs = through.into_iter().zip(direct).filter(|(through, direct)| through != direct);
        differences.extend(pairs.map(|(through, direct)| format!("{through}\n{direct}\n")));
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
