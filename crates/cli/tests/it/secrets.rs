//! A provider's key that a model or a tool prints: nobody is shown it, no file keeps it, and no model is told.

use std::path::Path;

use serde_json::{Value, json};

use crate::raw_server::RawServerReply;
use crate::scripted::{CANARY, ScriptedDaemon, call, policy_without_approvals, shell};

/// Every file below a directory that holds the text.
fn holding(directory: &Path, text: &str, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            holding(&path, text, found);
        } else if let Ok(content) = std::fs::read(&path)
            && content.windows(text.len()).any(|window| window == text.as_bytes())
        {
            found.push(path.display().to_string());
        }
    }
}

#[tokio::test]
async fn a_key_that_is_printed_is_in_no_file_no_stream_and_no_request() {
    let mut stage = ScriptedDaemon::directed("", &[], |asked| {
        let (first, second) = CANARY.split_at(5);
        let pieces = ["my key is ", first, second, " and so on"].map(str::to_owned);
        (asked.prompt() == "tell").then(|| RawServerReply::chat(&pieces))
    })
    .await;
    stage.write("keys.txt", &format!("key={CANARY}\n"));
    stage.write("long.txt", &format!("{}{CANARY}\n", "a line of words\n".repeat(20_000)));
    let session = stage.session(policy_without_approvals()).await;
    let mut shown = String::new();
    let steps = [
        call("read_file", json!({"path": "keys.txt"})),
        shell(&format!("cat keys.txt long.txt; echo {CANARY} > copy.txt")),
    ];
    let mut turn = stage.start(session, &steps).await;
    turn.finish().await;
    assert_eq!(turn.results().len(), 2);
    shown.push_str(&format!("{:?}", turn.all("tool_call_completed")));
    assert!(shown.contains("key=[secret]"), "{shown}");

    let mut events = stage.client.events(session, 0, true).await.unwrap();
    let message = ostler_api_types::SendMessage::prompt("tell");
    stage.client.send_message(session, &message).await.unwrap();
    let mut ended = 0;
    while ended < 2 {
        let line = futures_util::StreamExt::next(&mut events).await.unwrap().unwrap();
        ended += usize::from(line.name == "turn_completed");
        shown.push_str(&line.raw);
    }
    let (_, second) = CANARY.split_at(5);
    assert!(!shown.contains(CANARY) && !shown.contains(second), "it is shown whole or in part");
    assert!(shown.contains("my key is [secret] and so on"), "{shown}");
    let asked: Vec<Value> = stage.asked();
    let told = asked.iter().skip(1).map(|asked| asked["messages"].to_string()).collect::<String>();
    assert!(told.contains("key=[secret]"), "{told}");
    let of_tools = asked.iter().flat_map(|asked| asked["messages"].as_array().unwrap().clone());
    for message in of_tools.filter(|message| message["role"] == "tool") {
        assert!(!message.to_string().contains(CANARY), "a model is told: {message}");
    }
    stage.stop();
    let mut found = Vec::new();
    holding(&stage.data, CANARY, &mut found);
    // Files of the workspace as they were, which undo has to bring back to the byte.
    let copies = stage.data.join("checkpoints/blobs").display().to_string();
    found.retain(|path| !path.starts_with(&copies));
    assert!(found.is_empty(), "{found:?}");
}
