//! What the mock answers: the right events in the right form, each delta with its time, and clear
//! refusals. How exact the times are is measured by every run of the bench, not here.

use anyhow::Result;
use ostler_bench::answer::AnswerPlan;
use ostler_bench::client::BareClient;
use ostler_bench::clock;
use ostler_bench::http_connection::HttpConnection;
use ostler_bench::mock::MockModelServer;
use ostler_bench::sse::SseBuffer;
use serde_json::{Value, json};

fn request(prompt: &str) -> String {
    let messages = [
        json!({"role": "system", "content": "bench:1x1"}),
        json!({"role": "user", "content": "bench:2x1"}),
        json!({"role": "assistant", "content": null, "tool_calls": []}),
        json!({"role": "user", "content": prompt}),
    ];
    json!({"model": "bench", "stream": true, "messages": messages, "tools": []}).to_string()
}

async fn events(connection: &mut HttpConnection, prompt: &str) -> Result<Vec<String>> {
    let mut events = SseBuffer::default();
    events.bytes = connection.ask("POST", "/v1/chat/completions", Some(&request(prompt))).await?;
    let mut data = Vec::new();
    while let Some(event) = events.take()? {
        assert_eq!(event.name, "");
        data.push(event.data.to_owned());
    }
    assert!(events.bytes.is_empty(), "the answer ends with an event");
    Ok(data)
}

#[tokio::test]
async fn an_answer_is_a_stream_of_chunks_that_say_when_they_were_sent() {
    let mock = MockModelServer::start().unwrap();
    let mut connection = HttpConnection::open(mock.address, None).await.unwrap();
    // Both on one connection, as a client with a pool would.
    for (prompt, deltas, size) in [("bench:3x1x40", 3, 40), ("fast:5", 5, 24)] {
        let before = clock::now();
        let mut data = events(&mut connection, prompt).await.unwrap();
        let after = clock::now();
        assert_eq!(data.pop().unwrap(), "[DONE]");
        let chunks: Vec<Value> = data.iter().map(|data| serde_json::from_str(data).unwrap()).collect();
        assert_eq!(chunks.len(), deltas + 2);
        assert!(chunks.iter().all(|chunk| chunk["object"] == "chat.completion.chunk"));
        let mut last = before;
        for (index, chunk) in chunks[..deltas].iter().enumerate() {
            let text = chunk["choices"][0]["delta"]["content"].as_str().unwrap();
            assert_eq!(text.len(), size);
            assert_eq!(text[..6].parse::<usize>().unwrap(), index);
            let sent: u64 = text[7..23].parse().unwrap();
            assert!((last..=after).contains(&sent), "{last} {sent} {after}");
            last = sent;
        }
        assert_eq!(chunks[deltas]["choices"][0]["finish_reason"], "stop");
        assert_eq!(chunks[deltas + 1]["usage"]["completion_tokens"], deltas);
    }
}

#[tokio::test]
async fn an_answer_over_responses_ends_with_the_text_of_its_deltas() {
    let mock = MockModelServer::start().unwrap();
    let mut connection = HttpConnection::open(mock.address, None).await.unwrap();
    let user =
        json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "bench:3x1"}]});
    let request = json!({"model": "bench", "stream": true, "input": [user]}).to_string();
    let mut stream = SseBuffer::default();
    stream.bytes = connection.ask("POST", "/v1/responses", Some(&request)).await.unwrap();
    let mut events: Vec<(String, Value)> = Vec::new();
    while let Some(event) = stream.take().unwrap() {
        events.push((event.name.to_owned(), serde_json::from_str(event.data).unwrap()));
    }
    assert!(events.iter().all(|(name, event)| event["type"] == *name));
    let said = events.iter().filter(|(name, _)| name == "response.output_text.delta");
    let text: String = said.map(|(_, event)| event["delta"].as_str().unwrap()).collect();
    assert_eq!(text.len(), 3 * 24);
    let (_, done) = events.iter().find(|(name, _)| name == "response.output_item.done").unwrap();
    assert_eq!(done["item"]["content"][0]["text"], text);
    assert_eq!(events.last().unwrap().1["response"]["usage"]["output_tokens"], 3);
}

#[tokio::test]
async fn a_tool_is_called_before_the_answer_if_the_plan_says_so() {
    let mock = MockModelServer::start().unwrap();
    let mut connection = HttpConnection::open(mock.address, None).await.unwrap();
    let data = events(&mut connection, "tool:2x0").await.unwrap();
    let chunk: Value = serde_json::from_str(&data[0]).unwrap();
    assert_eq!(chunk["choices"][0]["delta"]["tool_calls"][0]["function"]["name"], "shell");
    assert_eq!((data.len(), data[2].as_str()), (3, "[DONE]"));
}

#[tokio::test]
async fn what_is_no_plan_is_refused_and_the_connection_lives_on() {
    let mock = MockModelServer::start().unwrap();
    let mut connection = HttpConnection::open(mock.address, None).await.unwrap();
    let refused = events(&mut connection, "hello").await.unwrap_err().to_string();
    assert!(refused.contains("400") && refused.contains("not a plan"), "{refused}");
    let unknown = connection.ask("GET", "/v1/models", None).await.unwrap_err().to_string();
    assert!(unknown.contains("404"), "{unknown}");
    assert_eq!(events(&mut connection, "fast:1").await.unwrap().len(), 4);
}

#[tokio::test]
async fn many_clients_get_their_whole_answers_side_by_side() {
    let mock = MockModelServer::start().unwrap();
    let plan = AnswerPlan::new(4, 1);
    let outcome = ostler_bench::load::bare(mock.address, 20, plan).await.unwrap();
    assert_eq!((outcome.firsts.count(), outcome.latencies.count()), (20, 80));
    let mut client = BareClient::new(mock.address).await.unwrap();
    assert_eq!(client.turn(plan).await.unwrap().latencies.len(), 4);
    assert!(client.turn(AnswerPlan::new(0, 0)).await.unwrap().latencies.is_empty());
}
