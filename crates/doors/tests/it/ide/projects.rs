//! Projects, here and over HTTP.

use serde_json::{Value, json};

use super::client::IdeClient;
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

/// The path of a new directory in the workspace.
fn directory(daemon: &DoorTestDaemon, name: &str) -> String {
    let path = std::path::Path::new(&daemon.workspace()).join(name);
    std::fs::create_dir_all(&path).unwrap();
    path.canonicalize().unwrap().display().to_string()
}

#[tokio::test]
async fn projects_are_added_listed_in_order_and_removed() {
    let daemon = DoorTestDaemon::start().await;
    let mut ide = IdeClient::open(&daemon).await;
    let (zoo, ant) = (directory(&daemon, "zoo"), directory(&daemon, "ant"));
    let added = ide.ask("project:add", json!({"path": zoo})).await;
    let project = &added["project"];
    assert_eq!(
        (&added["type"], &project["path"], &project["name"]),
        (&json!("project:added"), &json!(zoo), &json!("zoo"))
    );
    assert!(project["addedAt"].as_str().unwrap().ends_with('Z'));
    ide.ask("project:add", json!({"path": format!("{ant}/.")})).await;
    let paths = |list: &Value| {
        let paths = list["projects"].as_array().unwrap().iter();
        paths.map(|project| project["path"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let list = ide.ask("project:list", json!({})).await;
    assert_eq!(paths(&list), [zoo.clone(), ant.clone()], "as they were added");

    let refused = async |ide: &mut IdeClient, path: &str| ide.ask("project:add", json!({"path": path})).await;
    let error = |message: &str| json!({"type": "error", "message": message});
    assert_eq!(refused(&mut ide, "/no/such").await, error("Directory does not exist: /no/such"));
    assert_eq!(refused(&mut ide, "zoo").await, error("Directory does not exist: zoo"));
    assert_eq!(refused(&mut ide, &ant).await, error("Project already added"));
    let data = refused(&mut ide, &daemon.data().display().to_string()).await;
    assert!(data["message"].as_str().unwrap().contains("own data directory"), "{data}");

    let id = project["id"].clone();
    let removed = ide.ask("project:remove", json!({"projectId": id})).await;
    assert_eq!(removed, json!({"type": "project:removed", "projectId": id}));
    assert_eq!(ide.ask("project:remove", json!({"projectId": id})).await, error("Project not found"));
    assert_eq!(ide.ask("project:remove", json!({"projectId": "x"})).await, error("Project not found"));

    let dir = daemon.stop().await;
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { dir: Some(dir), ..DoorTestOptions::default() }).await;
    let mut ide = IdeClient::open(&daemon).await;
    assert_eq!(paths(&ide.ask("project:list", json!({})).await), [ant], "what was said is on disk");
    daemon.stop().await;
}

#[tokio::test]
async fn projects_that_are_added_at_once_are_all_kept() {
    let daemon = DoorTestDaemon::start().await;
    let mut sockets = Vec::new();
    for _ in 0..8 {
        sockets.push(IdeClient::open(&daemon).await);
    }
    let paths: Vec<String> = (0..8).map(|number| directory(&daemon, &format!("p{number}"))).collect();
    let adding =
        sockets.iter_mut().zip(&paths).map(|(ide, path)| ide.ask("project:add", json!({"path": path})));
    for added in futures_util::future::join_all(adding).await {
        assert_eq!(added["type"], "project:added", "{added}");
    }
    let same = directory(&daemon, "same");
    let adding = sockets.iter_mut().map(|ide| ide.ask("project:add", json!({"path": same})));
    let answers = futures_util::future::join_all(adding).await;
    assert_eq!(answers.iter().filter(|answer| answer["type"] == "project:added").count(), 1, "{answers:?}");
    let dir = daemon.stop().await;
    let daemon =
        DoorTestDaemon::start_as(DoorTestOptions { dir: Some(dir), ..DoorTestOptions::default() }).await;
    assert_eq!(daemon.get("/v1/projects").await.json()["projects"].as_array().unwrap().len(), 9);
    daemon.stop().await;
}

#[tokio::test]
async fn the_http_door_has_the_same_projects_and_sessions_outlive_them() {
    let daemon = DoorTestDaemon::start().await;
    let mut ide = IdeClient::open(&daemon).await;
    let answer = daemon.post("/v1/projects", &json!({"path": daemon.workspace()})).await;
    assert_eq!(answer.status(), 201, "{}", answer.text());
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(daemon.get("/v1/projects").await.json()["projects"], json!([answer.json()]));
    let again = daemon.post("/v1/projects", &json!({"path": daemon.workspace()})).await;
    assert_eq!((again.status(), again.json()["error"]["code"].clone()), (409, json!("project_exists")));
    assert_eq!(daemon.post("/v1/projects", &json!({"path": "/no/such"})).await.status(), 422);
    assert_eq!(daemon.post("/v1/projects", &json!({"path": "/w", "more": 1})).await.status(), 422);

    // A session that was made elsewhere belongs to the project by its workspace.
    let session = daemon.session().await;
    let listed = ide.sessions(&id).await;
    let uuid = session.strip_prefix("sess_").unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["id"].as_str().unwrap().replace('-', ""), format!("ostler:{uuid}"));

    assert_eq!(daemon.delete(&format!("/v1/projects/{}", id.to_uppercase())).await.status(), 404);
    assert_eq!(daemon.delete(&format!("/v1/projects/{id}")).await.json(), json!({"project_id": id}));
    assert_eq!(daemon.delete(&format!("/v1/projects/{id}")).await.status(), 404);
    assert!(ide.sessions(&id).await.is_empty());
    let found = daemon.get(&format!("/v1/sessions?workspace={}", daemon.workspace())).await.json();
    assert_eq!(found["sessions"].as_array().unwrap().len(), 1, "its sessions are still there");
    let project = ide.project(&daemon).await;
    assert_eq!(ide.sessions(&project).await.len(), 1, "and belong to it again");
    daemon.stop().await;
}
