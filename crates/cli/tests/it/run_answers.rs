//! `ostler run` with conditions: answers that fit a schema, a limit on cost, a limit on time.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::cli_fixture::{CliFixture, CliOutput};
use crate::provider::{AnswerPiece, GatedProvider};
use crate::raw_server::{RawServer, RawServerReply};

const SCHEMA: &str = r#"{"type": "object", "required": ["files"], "properties": {"files": {"type": "array",
    "items": {"type": "string"}}}, "additionalProperties": false}"#;

fn config(server: &RawServer) -> String {
    format!(
        "[models]\ndefault = \"mock:m\"\n[providers.mock]\nkind = \"openai-chat\"\nbase_url = \"http://{}/v1\"\n\
         api_key_env = \"MOCK_KEY\"\nmodels = [\"m\", \"free\"]\n[models.info.\"mock:m\"]\nabilities = [\"tools\"]\n\
         prices = {{ input = 1000, output = 1000 }}\n",
        server.address
    )
}

/// Asks a model that gives these answers, one after the other, for what fits a schema.
async fn asked(answers: &'static [&'static str], arguments: &[&str]) -> (CliOutput, Vec<String>) {
    let (count, heard) = (AtomicUsize::new(0), Arc::new(std::sync::Mutex::new(Vec::new())));
    let kept = Arc::clone(&heard);
    let server = RawServer::start(move |asked| {
        let last = asked.body["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        kept.lock().unwrap().push(last);
        RawServerReply::chat(&[answers[count.fetch_add(1, Ordering::SeqCst)].to_owned()])
    })
    .await;
    let desk = CliFixture::new(&config(&server));
    std::fs::write(desk.work.join("schema.json"), SCHEMA).unwrap();
    let arguments: Vec<&str> = [&["run", "--output-schema", "schema.json"], arguments].concat();
    let said = desk.run(&arguments);
    let heard = heard.lock().unwrap().clone();
    (said, heard)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_fits_is_printed_alone() {
    let (said, heard) = asked(&["{\"files\": [\"a\",\n \"b\"]}"], &["which files?"]).await;
    assert_eq!((said.code, said.out.as_str()), (Some(0), "{\"files\":[\"a\",\"b\"]}\n"), "{said:?}");
    assert!(heard[0].contains("which files?") && heard[0].contains("additionalProperties"), "{heard:?}");
    let (fenced, _) = asked(&["Sure:\n```json\n{\"files\": []}\n```"], &["-q", "which files?"]).await;
    assert_eq!((fenced.out.as_str(), fenced.err.as_str()), ("{\"files\":[]}\n", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_does_not_fit_is_asked_for_again_a_few_times() {
    let answers = &["There are two.", "{\"files\": [1]}", "{\"files\": [\"a\"]}"];
    let (said, heard) = asked(answers, &["which files?"]).await;
    assert_eq!((said.code, said.out.as_str()), (Some(0), "{\"files\":[\"a\"]}\n"), "{said:?}");
    assert!(heard[1].contains("it is not JSON"), "{heard:?}");
    assert!(heard[2].contains("at '/files/0': want string, but got number"), "{heard:?}");

    let (said, heard) = asked(&["no", "no", "still no"], &["which files?"]).await;
    assert_eq!((said.code, said.out.as_str()), (Some(6), ""), "{said:?}");
    assert!(said.err.contains("3 answers did not match the schema") && heard.len() == 3, "{said:?}");
}

/// A call that has its price, and then an answer that never comes.
fn dear(together: &Arc<Barrier>, step: usize) -> RawServerReply {
    if step > 0 {
        return RawServerReply {
            together: Some(Arc::clone(together)),
            ..RawServerReply::chat(&["never".to_owned()])
        };
    }
    let mut reply = RawServerReply::chat_call("call_1", "read_file", &json!({"path": "README.md"}));
    let usage = json!({"prompt_tokens": 500, "completion_tokens": 500, "total_tokens": 1000});
    let usage = json!({"object": "chat.completion.chunk", "choices": [], "usage": usage});
    reply.pieces.insert(2, format!("data: {usage}\n\n"));
    reply
}

#[tokio::test(flavor = "multi_thread")]
async fn what_costs_too_much_is_stopped() {
    let (count, together) = (AtomicUsize::new(0), Arc::new(Barrier::new(2)));
    let server = RawServer::start(move |_| dear(&together, count.fetch_add(1, Ordering::SeqCst))).await;
    let desk = CliFixture::new(&config(&server));
    let said = desk.run(&["run", "--json", "--max-cost", "$0.50", "go"]);
    assert_eq!(said.code, Some(7), "{said:?}");
    assert!(said.err.contains("it cost $1.00, more than --max-cost ($0.50)"), "{said:?}");
    assert!(said.out.contains("\"turn_canceled\""), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cost_that_nobody_knows_is_told() {
    let count = AtomicUsize::new(0);
    let server = RawServer::start(move |_| {
        let mut reply = RawServerReply::chat(&["hello".to_owned()]);
        let usage = json!({"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10});
        let usage = json!({"object": "chat.completion.chunk", "choices": [], "usage": usage});
        reply.pieces.insert(2, format!("data: {usage}\n\n"));
        count.fetch_add(1, Ordering::SeqCst);
        reply
    })
    .await;
    let desk = CliFixture::new(&config(&server));
    let said = desk.run(&["run", "--model", "mock:free", "--max-cost", "1", "go"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "hello\n"), "{said:?}");
    assert!(said.err.contains("the price of a model is unknown"), "{said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_too_long_is_stopped_and_kept() {
    let provider = GatedProvider::start().await;
    provider.answer(vec![AnswerPiece::Text("half of it".to_owned()), AnswerPiece::Gate]);
    let desk = CliFixture::new(&provider.config());
    let said = desk.run(&["run", "--timeout", "2s", "go"]);
    assert_eq!((said.code, said.out.as_str()), (Some(8), "half of it\n"), "{said:?}");
    assert!(said.err.contains("longer than --timeout"), "{said:?}");
    let id = said.err.lines().find_map(|line| line.strip_prefix("session ")).unwrap().to_owned();
    let log = desk.run(&["logs", &id, "--json"]).out;
    let last: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(last.iter().any(|record| record["type"] == "turn_canceled"), "{log}");
}
