//! A provider that answers from a recording: it costs nothing, and its file is read when it is asked.

use std::path::Path;

use futures_util::StreamExt;
use ostler_models::{ModelEvent, ModelRegistry, ProviderConfig, ProviderKind};
use ostler_types::{Cost, Prices};

use crate::conversation::{read, request, user};

/// A recording in which the model says this, and what it cost.
fn recording(text: &str) -> String {
    let chunk = format!(
        r#"{{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":9,\"completion_tokens\":5}}}}"#
    );
    format!(
        "{{\"type\":\"request\",\"endpoint\":\"https://example.org/v1/chat/completions\",\"payload\":{{\"messages\":[{{\"role\":\"user\",\"content\":\"hi\"}}]}}}}\n\
         {{\"type\":\"response\",\"status\":200,\"body\":\"\"}}\n\
         {{\"type\":\"stream_chunk\",\"event\":\"\",\"chunk\":\"{chunk}\"}}\n"
    )
}

fn models(file: &Path) -> ModelRegistry {
    let provider = ProviderConfig {
        recording: Some(file.to_owned()),
        ..ProviderConfig::new("again", ProviderKind::Replay, "")
    };
    ModelRegistry::new(vec![provider])
}

#[tokio::test]
async fn it_costs_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("raw.jsonl");
    std::fs::write(&file, recording("hello")).unwrap();
    let models = models(&file);
    assert_eq!(models.info("again").prices, Some(Prices::FREE));
    let events: Vec<_> =
        models.resolve("again").unwrap().stream(request(vec![user("hi")], &[])).collect().await;
    let [Ok(ModelEvent::Text(_)), Ok(ModelEvent::Usage(usage)), Ok(ModelEvent::Stop(_))] = events.as_slice()
    else {
        panic!("{events:?}")
    };
    assert_eq!((usage.input_tokens, usage.cost_usd), (9, Some(Cost::default())));
}

#[tokio::test]
async fn it_is_read_when_it_is_asked_and_again_when_it_has_changed() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("raw.jsonl");
    let models = models(&file);
    let model = models.resolve("again").unwrap();
    let ask = async || read(model.stream(request(vec![user("hi")], &[]))).await;
    let absent = ask().await;
    assert_eq!(absent.code(), Some("bad_recording"), "{absent:?}");
    std::fs::write(&file, recording("hello")).unwrap();
    assert_eq!(ask().await.text, "hello");
    // What was read is still there if the file looks the same; the content is not looked at.
    let stamp = std::fs::metadata(&file).unwrap().modified().unwrap();
    std::fs::write(&file, recording("olleh")).unwrap();
    std::fs::File::options().write(true).open(&file).unwrap().set_modified(stamp).unwrap();
    assert_eq!(ask().await.text, "hello");
    std::fs::write(&file, recording("hello again")).unwrap();
    assert_eq!(ask().await.text, "hello again");
    let another = models.resolve("again:recording").unwrap();
    std::fs::remove_file(&file).unwrap();
    let gone = read(another.stream(request(vec![user("hi")], &[]))).await;
    assert_eq!(gone.code(), Some("bad_recording"), "a file that is gone answers no more");
}
