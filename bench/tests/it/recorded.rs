//! Recorded answers are answers: each protocol finds all of their deltas, again and again.

use futures_util::StreamExt;
use ostler_bench::recorded_server::{PROTOCOLS, RecordedServer};
use ostler_models::{ModelEvent, ModelRegistry, ModelRequest, ProviderConfig};

#[tokio::test]
async fn each_protocol_reads_a_recorded_answer_to_its_end() {
    for (kind, name) in PROTOCOLS {
        let server = RecordedServer::start(kind, 30).unwrap();
        let models = ModelRegistry::new(vec![ProviderConfig::new("recorded", kind, server.base_url())]);
        let model = models.resolve("recorded:m").unwrap();
        for _ in 0..2 {
            let answer = model.stream(ModelRequest::new(Vec::new()));
            let events: Vec<ModelEvent> = answer.map(|event| event.unwrap()).collect().await;
            let said = |event: &ModelEvent| matches!(event, ModelEvent::Text(text) if text == " stable,\n");
            assert_eq!(events.iter().filter(|event| said(event)).count(), 30, "{name}");
            assert!(matches!(events.last(), Some(ModelEvent::Stop(_))), "{name}: {:?}", events.last());
        }
    }
}
