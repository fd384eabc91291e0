//! What a client of the native API can do about a refusal that says nothing of it: the route that helps. Only this door
//! adds these hints, since clients of other wires cannot follow them.

use axum::Json;
use axum::response::{IntoResponse, Response};
use ostler_door_kit::{DoorError, MissingHint};

/// What a client is told that asks for a path that does not exist, or with another method.
pub(super) const API_HINT: &str = "/openapi.json lists what there is";

/// Adds the route that helps to an answer without a hint.
pub(super) async fn add_hint(mut response: Response) -> Response {
    let Some(MissingHint(mut body)) = response.extensions_mut().remove::<MissingHint>() else {
        return response;
    };
    let Some(hint) = route_for(&body.error.code) else { return response };
    body.error.hint = Some(hint.to_owned());
    let status = response.status();
    let headers = std::mem::take(response.headers_mut());
    let mut hinted = (status, Json(body)).into_response();
    for (name, value) in &headers {
        // The length and the type are those of the new body.
        hinted.headers_mut().entry(name).or_insert_with(|| value.clone());
    }
    hinted
}

/// Answers requests whose path takes other methods.
pub(super) async fn wrong_method() -> DoorError {
    ostler_door_kit::wrong_method().await.hint(API_HINT)
}

/// The route by which a client finds what it should have named.
fn route_for(code: &str) -> Option<&'static str> {
    match code {
        "session_not_found" => Some("GET /v1/sessions lists those that there are"),
        "unknown_agent" => Some("GET /v1/agents lists those that it has"),
        "message_not_queued" => Some("it may have been delivered already; GET the session to see its queue"),
        "before_not_queued" => Some("GET the session to see its queue"),
        "not_waiting" => Some("GET /v1/approvals lists those that do"),
        "project_exists" | "project_not_found" => Some("GET /v1/projects lists those that there are"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;
    use axum::response::IntoResponse;
    use ostler_door_kit::{DoorError, failure};
    use ostler_engine::EngineError;
    use ostler_types::Refusal;

    use super::add_hint;

    async fn hint_of(error: DoorError) -> Option<String> {
        let body = to_bytes(add_hint(error.into_response()).await.into_body(), 4096).await.unwrap();
        let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
        body["error"]["hint"].as_str().map(str::to_owned)
    }

    #[tokio::test]
    async fn only_clients_of_this_door_are_told_routes() {
        let refused = || Refusal::not_found("not_waiting", "no approval waits");
        assert_eq!(failure(EngineError::NotFound).hint, None);
        assert_eq!(failure(refused()).hint, None);
        let elsewhere = to_bytes(DoorError::no_session().into_response().into_body(), 4096).await.unwrap();
        assert!(!String::from_utf8_lossy(&elsewhere).contains("/v1/"), "{elsewhere:?}");
        let route = hint_of(EngineError::NotFound.into()).await;
        assert_eq!(route.as_deref(), Some("GET /v1/sessions lists those that there are"));
        let route = hint_of(refused().into()).await;
        assert_eq!(route.as_deref(), Some("GET /v1/approvals lists those that do"));
        let own = hint_of(refused().hint("look again").into()).await;
        assert_eq!(own.as_deref(), Some("look again"), "the hint of the rule comes first");
    }

    #[tokio::test]
    async fn other_headers_of_the_answer_stay() {
        let mut response = DoorError::no_session().into_response();
        response.headers_mut().insert("retry-after", "3".parse().unwrap());
        let hinted = add_hint(response).await;
        assert_eq!(hinted.headers()["retry-after"], "3");
        let length: usize = hinted
            .headers()
            .get("content-length")
            .map_or(0, |value| value.to_str().unwrap().parse().unwrap());
        let body = to_bytes(hinted.into_body(), 4096).await.unwrap();
        assert!(length == 0 || length == body.len(), "{length} for {} bytes", body.len());
    }
}
