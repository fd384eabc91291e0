//! What a refusal is told as: which code it has in whatever words it comes, and what to do about it.

use ostler_models::{ModelError, ModelRegistry, ProviderConfig, ProviderKey, ProviderKind, Secret, Timeouts};

use crate::conversation::{read, request, user};
use crate::server::{KEY, MisbehavingServer, ServerAction, response, stream_head};

/// Asks a provider that is described like this, and answers with these acts.
async fn refused(
    acts: Vec<ServerAction>,
    described: impl Fn(ProviderConfig) -> ProviderConfig,
) -> ModelError {
    let server = MisbehavingServer::start(acts).await;
    let provider = described(ProviderConfig {
        api_key: ProviderKey::Fixed(Secret::new(KEY)),
        ..ProviderConfig::new("local", ProviderKind::OpenAiChat, &server.base_url)
    });
    let model =
        ModelRegistry::with_timeouts(vec![provider], Timeouts::default()).resolve("local:small").unwrap();
    read(model.stream(request(vec![user("hi")], &[]))).await.error.unwrap()
}

async fn answered(status: &str, body: &str) -> ModelError {
    refused(vec![response(status, "application/json", body)], |provider| provider).await
}

#[tokio::test]
async fn a_prompt_that_is_too_long_is_told_whoever_says_it() {
    let cases = [
        (
            "400 Bad Request",
            r#"{"error":{"code":400,"message":"request (9000 tokens) exceeds the available context size (512 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9000,"n_ctx":512}}"#,
        ),
        (
            "400 Bad Request",
            r#"{"error":{"code":400,"message":"too much","type":"exceed_context_size_error"}}"#,
        ),
        (
            "500 Internal Server Error",
            r#"{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}"#,
        ),
        (
            "400 Bad Request",
            r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
        ),
        (
            "400 Bad Request",
            r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 150000 tokens."}"#,
        ),
        (
            "400 Bad Request",
            r#"{"object":"error","message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length","type":"invalid_request_error"}"#,
        ),
    ];
    for (status, body) in cases {
        let error = answered(status, body).await;
        assert_eq!(error.code, "context_overflow", "{body}");
        assert!(error.hint.unwrap().contains("shorten"), "{body}");
        let event = format!("data: {}\n\n", body.trim_start_matches('[').trim_end_matches(']'));
        let streamed = refused(vec![stream_head(), ServerAction::Send(event)], |provider| provider).await;
        assert_eq!(streamed.code, "context_overflow", "inside a stream: {body}");
    }
}

#[tokio::test]
async fn what_is_no_overflow_keeps_its_code() {
    for (status, body, code) in [
        ("500 Oops", r#"{"error":{"code":500,"message":"Oops","type":"server_error"}}"#, "server_error"),
        ("429 Slow", r#"{"error":{"message":"Your context length per minute is used up"}}"#, "rate_limited"),
        ("401 No", r#"{"error":{"message":"no key for this context length"}}"#, "unauthorized"),
        (
            "429 Slow",
            r#"{"error":{"code":429,"message":"x","type":"insufficient_quota"}}"#,
            "quota_exhausted",
        ),
        ("400 Bad", "[]", "bad_request"),
    ] {
        assert_eq!(answered(status, body).await.code, code, "{body}");
    }
}

#[tokio::test]
async fn a_request_that_was_not_liked_can_be_looked_at() {
    for status in ["400 Bad", "413 Large", "418 Teapot", "422 Odd", "500 Oops"] {
        let hint = answered(status, "no").await.hint.unwrap();
        assert!(hint.contains("`raw_log`") && hint.contains("another model"), "{status}: {hint}");
    }
    assert!(answered("413 Large", "no").await.hint.unwrap().contains("attachments"));
    for kind in ["invalid_request_error", "server_error", "odd"] {
        let event = format!("data: {{\"error\":{{\"message\":\"x\",\"type\":\"{kind}\"}}}}\n\n");
        let error = refused(vec![stream_head(), ServerAction::Send(event)], |provider| provider).await;
        assert!(error.hint.unwrap().contains("`raw_log`"), "{kind}");
    }
}

#[tokio::test]
async fn a_key_that_is_refused_is_told_with_its_place() {
    let no = || vec![response("401 No", "text/plain", "no")];
    let from = |provider| ProviderConfig { key_from: Some("the file /home/me/key".to_owned()), ..provider };
    let hint = refused(no(), from).await.hint.unwrap();
    assert!(hint.contains("[providers.local] was refused") && hint.contains("/home/me/key"), "{hint}");
    let forbidden = refused(vec![response("403 No", "text/plain", "no")], from).await.hint.unwrap();
    assert!(forbidden.contains("the file /home/me/key"), "{forbidden}");
    let unsaid = refused(no(), |provider| provider).await.hint.unwrap();
    assert!(unsaid.contains("`ostler config show`"), "{unsaid}");
    let keyless = |provider| ProviderConfig { api_key: ProviderKey::None, ..provider };
    let hint = refused(no(), keyless).await.hint.unwrap();
    assert!(hint.contains("`api_key_env`") && hint.contains("[providers.local]"), "{hint}");
    let preset =
        |provider| ProviderConfig { api_key: ProviderKey::None, preset: Some("mistral"), ..provider };
    let hint = refused(no(), preset).await.hint.unwrap();
    assert!(hint.contains("set MISTRAL_API_KEY"), "{hint}");
}

#[tokio::test]
async fn a_redirect_names_the_host_and_nothing_else() {
    for (location, words) in [
        ("https://user:pass@elsewhere.example.org/v2?secret=1", "which is on elsewhere.example.org"),
        ("/other", "which is on 127.0.0.1"),
        ("https://sk-very-secret-key.example.org/", "which is on [secret].example.org"),
        ("http://", "the address that the server points to"),
    ] {
        let head = format!("HTTP/1.1 308 Go\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        let error = refused(vec![ServerAction::Send(head)], |provider| provider).await;
        let hint = error.hint.unwrap();
        assert!(hint.ends_with(words), "{location}: {hint}");
        assert!(!error.message.contains("secret="), "{}", error.message);
    }
}
