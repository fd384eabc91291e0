//! The routes of the door, taken from its own description so that a new one cannot be forgotten, and a
//! scene in which each of them would do something.

use ostler_http_api::openapi;
use serde_json::{Value, json};

use crate::daemon::{DoorTestDaemon, message_body};
use crate::raw_http::RawRequest;

/// One operation.
pub(crate) struct ApiRoute {
    pub(crate) method: String,
    /// With parameters between braces.
    pub(crate) path: String,
    pub(crate) operation: Value,
}

/// Every operation that there is.
pub(crate) fn routes() -> Vec<ApiRoute> {
    let document = openapi();
    let mut routes = Vec::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let (method, path) = (method.to_uppercase(), path.clone());
            routes.push(ApiRoute { method, path, operation: operation.clone() });
        }
    }
    assert!(routes.len() > 15, "the description is not whole");
    routes
}

/// A session whose turn waits for an answer while a message waits for its turn. The session has an
/// attachment and the turn an artifact, both called `note.txt`.
pub(crate) struct RouteScene {
    pub(crate) session: String,
    pub(crate) turn: String,
    pub(crate) queued: String,
    workspace: String,
    /// A project in a directory of its own.
    project: String,
    /// Lets a browser in.
    code: String,
}

impl RouteScene {
    pub(crate) async fn new(daemon: &DoorTestDaemon) -> RouteScene {
        let session = daemon.session().await;
        let (_, turn) = daemon.say(&session, "ask").await;
        daemon.until(&session, "approval_requested").await;
        let (queued, _) = daemon.say(&session, "later").await;
        let attached = format!("/v1/sessions/{session}/attachments");
        let answer = daemon.post(&attached, &json!({"name": "note.txt", "data": "aGVsbG8="})).await;
        assert_eq!(answer.status(), 201, "{}", answer.text());
        let artifacts = daemon.data().join("sessions").join(&session).join("artifacts").join(&turn);
        std::fs::create_dir_all(&artifacts).unwrap();
        std::fs::write(artifacts.join("note.txt"), "hello").unwrap();
        let directory = format!("{}/{session}", daemon.workspace());
        std::fs::create_dir_all(&directory).unwrap();
        let answer = daemon.post("/v1/projects", &json!({"path": directory})).await;
        assert_eq!(answer.status(), 201, "{}", answer.text());
        let project = answer.json()["id"].as_str().unwrap().to_owned();
        RouteScene { session, turn, queued, workspace: daemon.workspace(), project, code: daemon.code() }
    }
}

impl ApiRoute {
    pub(crate) fn name(&self) -> &str {
        self.operation["operationId"].as_str().unwrap()
    }

    pub(crate) fn is_public(&self) -> bool {
        self.operation["security"] == json!([])
    }

    /// The parameters of one place: `path` or `query`.
    pub(crate) fn params(&self, place: &str) -> Vec<String> {
        let params = self.operation["parameters"].as_array().unwrap();
        let wanted = params.iter().filter(|param| param["in"] == place);
        wanted.map(|param| param["name"].as_str().unwrap().to_owned()).collect()
    }

    /// The path with these in the place of its parameters.
    pub(crate) fn target(&self, scene: &RouteScene) -> String {
        self.path
            .replace("{session_id}", &scene.session)
            .replace("{turn_id}", &scene.turn)
            .replace("{message_id}", &scene.queued)
            .replace("{project_id}", &scene.project)
            .replace("{file}", "note.txt")
            .replace("{agent}", "native")
            .replace("{tool_call_id}", "call_1")
    }

    /// A request to which nothing is wanting.
    pub(crate) fn request(&self, daemon: &DoorTestDaemon, scene: &RouteScene) -> RawRequest {
        let request = daemon.request(&self.method, &(self.target(scene) + &self.query(scene)));
        match self.body(scene) {
            // A file is sent as it is.
            Some(Value::String(file)) => {
                request.set("content-type", "application/octet-stream").body(file.as_bytes())
            }
            Some(body) => request.json(&body),
            None => request,
        }
    }

    /// What the path is followed by.
    pub(crate) fn query(&self, scene: &RouteScene) -> String {
        match self.name() {
            // A stream that is let in must not keep the test waiting.
            "session_events" => "?follow=false".to_owned(),
            "get_trust" | "import_session" | "list_agent_sessions" => {
                format!("?workspace_path={}", scene.workspace)
            }
            _ => String::new(),
        }
    }

    /// A body that is right for the scene.
    pub(crate) fn body(&self, scene: &RouteScene) -> Option<Value> {
        self.operation.get("requestBody")?;
        Some(match self.name() {
            "create_session" => json!({"workspace_path": scene.workspace}),
            "update_session" => json!({"title": "another"}),
            "send_message" => message_body("hello"),
            "change_queued" => json!({"parts": [{"type": "text", "text": "another"}]}),
            "log_in" => json!({"code": scene.code}),
            "attach_file" => json!({"name": "a.txt", "data": "aGVsbG8="}),
            "undo" => json!({"turn_id": scene.turn, "preview": true}),
            "add_project" => json!({"path": scene.workspace}),
            "set_trust" => json!({"workspace_path": scene.workspace, "trusted": true}),
            "cancel" => json!({"reason": "enough"}),
            "fork_session" => json!({"turn_id": scene.turn}),
            "run_subtasks" => json!({"subtasks": [{"id": "a", "prompt": "do it"}]}),
            "import_session" => {
                Value::String("{\"role\":\"user\",\"content\":\"hi\",\"timestamp\":0}\n".to_owned())
            }
            "answer_approval" => {
                json!({"turn_id": scene.turn, "tool_call_id": "call_1", "action": "approve"})
            }
            other => panic!("say what a good body for {other} is"),
        })
    }

    /// Whether a body may be of this type, JSON aside.
    pub(crate) fn takes(&self, kind: &str) -> bool {
        let essence = kind.split(';').next().unwrap_or_default();
        essence != "application/json" && self.operation["requestBody"]["content"].get(essence).is_some()
    }

    pub(crate) fn needs_body(&self) -> bool {
        self.operation["requestBody"]["required"] == true
    }
}
