//! The OpenAPI document: that it is the one that is served, and that it holds together.

use std::collections::BTreeSet;

use ostler_http_api::openapi;
use serde_json::Value;

use crate::api_routes::routes;
use crate::daemon::DoorTestDaemon;

#[tokio::test]
async fn the_document_is_served() {
    let daemon = DoorTestDaemon::start().await;
    let answer = daemon.get("/openapi.json").await;
    assert_eq!(answer.head.header("content-type"), Some("application/json"));
    assert_eq!(answer.json(), openapi());
    assert_eq!(answer.json()["openapi"], "3.1.0");
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let document = openapi();
    let mut used = BTreeSet::new();
    references(&document, &mut used);
    let known: BTreeSet<String> =
        document["components"]["schemas"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(used, known);
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                if let ("$ref", Some(target)) = (name.as_str(), member.as_str()) {
                    found.insert(target.strip_prefix("#/components/schemas/").unwrap().to_owned());
                }
                references(member, found);
            }
        }
        Value::Array(members) => members.iter().for_each(|member| references(member, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn every_operation_is_named_described_and_has_its_parameters() {
    let mut names = BTreeSet::new();
    for route in routes() {
        assert!(names.insert(route.name().to_owned()), "{} is there twice", route.name());
        assert!(route.operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()));
        let between_braces: Vec<String> = route
            .path
            .split('/')
            .filter_map(|part| Some(part.strip_prefix('{')?.strip_suffix('}')?.to_owned()))
            .collect();
        assert_eq!(route.params("path"), between_braces, "{}", route.path);
        let responses = route.operation["responses"].as_object().unwrap();
        assert_eq!(responses.keys().filter(|status| status.starts_with('2')).count(), 1, "{}", route.name());
        for status in ["401", "403", "404", "405", "503"] {
            assert!(responses.contains_key(status), "{} {status}", route.name());
        }
    }
}

/// A misspelt field must be refused, so that it is noticed; the document has to say so too.
#[test]
fn every_body_is_closed() {
    let document = openapi();
    for route in routes() {
        let Some(body) = route.operation.get("requestBody") else { continue };
        // A file has no schema.
        let Some(schema) = body["content"].get("application/json").map(|json| &json["schema"]) else {
            continue;
        };
        let name = schema["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
        assert_eq!(document["components"]["schemas"][name]["additionalProperties"], false, "{name}");
    }
}
