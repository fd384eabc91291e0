//! Registers a route and describes it in one call, so that the two cannot drift apart.

use axum::Router;
use axum::http::{Method, StatusCode};
use axum::middleware::map_response;
use axum::routing::MethodRouter;
use ostler_door_kit::ErrorBody;
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::HttpDoor;
use super::hints::{add_hint, wrong_method};

/// A router and its description, as they grow.
pub(super) struct Api {
    router: Router<HttpDoor>,
    generator: SchemaGenerator,
    paths: Map<String, Value>,
}

/// The description of one operation.
pub(super) struct Operation {
    name: &'static str,
    summary: &'static str,
    body: Option<(Value, bool)>,
    form: bool,
    /// The types of a body that is a file.
    files: Vec<&'static str>,
    params: Vec<Value>,
    success: (StatusCode, Value),
    public: bool,
}

/// The statuses that any operation may answer with when it is not a success.
const ERROR_STATUSES: [(StatusCode, &str); 12] = [
    (StatusCode::BAD_REQUEST, "The request is malformed."),
    (StatusCode::UNAUTHORIZED, "The token is missing or wrong."),
    (StatusCode::FORBIDDEN, "Meant for another host, or sent by a page of another origin."),
    (StatusCode::NOT_FOUND, "There is no such thing."),
    (StatusCode::METHOD_NOT_ALLOWED, "The path does not take this method."),
    (StatusCode::REQUEST_TIMEOUT, "The body did not arrive in time."),
    (StatusCode::CONFLICT, "It conflicts with how the session stands."),
    (StatusCode::PAYLOAD_TOO_LARGE, "The body is too large."),
    (StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body is not JSON."),
    (StatusCode::UNPROCESSABLE_ENTITY, "The body is JSON, but not valid."),
    (StatusCode::TOO_MANY_REQUESTS, "Too much waits already."),
    (StatusCode::SERVICE_UNAVAILABLE, "The disk is full or failed, or the daemon is shutting down."),
];

impl Api {
    pub(super) fn new() -> Api {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let settings = settings.with_transform(RecursiveTransform(bound));
        Api { router: Router::new(), generator: settings.into_generator(), paths: Map::new() }
    }

    /// Adds a route. `describe` gets the generator for the schemas of its body and answer.
    pub(super) fn route(
        mut self,
        method: &Method,
        path: &'static str,
        handler: MethodRouter<HttpDoor>,
        describe: impl FnOnce(&mut SchemaGenerator) -> Operation,
    ) -> Api {
        self.router = self.router.route(path, handler);
        let error = self.generator.subschema_for::<ErrorBody>().to_value();
        let operation = describe(&mut self.generator).into_value(path, &error);
        let methods = self.paths.entry(path).or_insert_with(|| json!({}));
        methods[method.as_str().to_lowercase()] = operation;
        self
    }

    /// The routes, with a JSON answer for methods that a path does not take, and hints that clients of this door can follow.
    pub(super) fn into_router(self, door: HttpDoor) -> Router {
        let router = self.router.method_not_allowed_fallback(wrong_method);
        router.route_layer(map_response(add_hint)).with_state(door)
    }

    /// The OpenAPI document.
    pub(super) fn into_document(mut self) -> Value {
        json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Ostler",
                "version": env!("CARGO_PKG_VERSION"),
                "description": "Sessions of coding agents: make them, drive them, follow them.",
                "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
            },
            "servers": [{"url": "http://127.0.0.1:8787"}],
            "security": [{"token": []}],
            "paths": self.paths,
            "components": {
                "schemas": self.generator.take_definitions(true),
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            },
        })
    }
}

impl Operation {
    /// An operation that answers with a `T` as JSON.
    pub(super) fn new<T: JsonSchema>(
        generator: &mut SchemaGenerator,
        name: &'static str,
        summary: &'static str,
        status: StatusCode,
    ) -> Operation {
        let schema = generator.subschema_for::<T>().to_value();
        let success = (status, json!({"application/json": {"schema": schema}}));
        Operation {
            name,
            summary,
            body: None,
            form: false,
            files: Vec::new(),
            params: Vec::new(),
            success,
            public: false,
        }
    }

    /// An operation that answers with a stream of events.
    pub(super) fn stream(name: &'static str, summary: &'static str) -> Operation {
        // A schema would be of the body as a whole, which has no end.
        let content = json!({"text/event-stream": {}, "application/x-ndjson": {}});
        let success = (StatusCode::OK, content);
        Operation {
            name,
            summary,
            body: None,
            form: false,
            files: Vec::new(),
            params: Vec::new(),
            success,
            public: false,
        }
    }

    /// An operation that answers with nothing.
    pub(super) fn empty(name: &'static str, summary: &'static str) -> Operation {
        let success = (StatusCode::NO_CONTENT, json!({}));
        Operation {
            name,
            summary,
            body: None,
            form: false,
            files: Vec::new(),
            params: Vec::new(),
            success,
            public: false,
        }
    }

    /// An operation that answers with the bytes of a file.
    pub(super) fn file(name: &'static str, summary: &'static str) -> Operation {
        let success = (StatusCode::OK, json!({"*/*": {}}));
        Operation {
            name,
            summary,
            body: None,
            form: false,
            files: Vec::new(),
            params: Vec::new(),
            success,
            public: false,
        }
    }

    /// It takes a `T` as JSON.
    pub(super) fn body<T: JsonSchema>(mut self, generator: &mut SchemaGenerator) -> Operation {
        self.body = Some((generator.subschema_for::<T>().to_value(), true));
        self
    }

    /// It takes a form with a file as well.
    pub(super) fn or_form(mut self) -> Operation {
        self.form = true;
        self
    }

    /// It takes a `T` as JSON, or nothing.
    pub(super) fn optional_body<T: JsonSchema>(mut self, generator: &mut SchemaGenerator) -> Operation {
        self.body = Some((generator.subschema_for::<T>().to_value(), false));
        self
    }

    /// It takes the bytes of a file, of one of these types.
    pub(super) fn raw_body(mut self, types: &[&'static str]) -> Operation {
        self.files = types.to_vec();
        self
    }

    /// It takes the fields of `T` as query parameters.
    pub(super) fn query<T: JsonSchema>(mut self) -> Operation {
        let settings = SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true);
        let settings = settings.with_transform(RecursiveTransform(bound));
        let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
        let needed = schema["required"].as_array().cloned().unwrap_or_default();
        for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
            let (description, required) = (&schema["description"], needed.iter().any(|it| it == name));
            self.params.push(json!({
                "name": name, "in": "query", "required": required, "schema": not_null(schema), "description": description,
            }));
        }
        self
    }

    /// It takes this header.
    pub(super) fn header(mut self, name: &str, schema: &Value, description: &str) -> Operation {
        self.params.push(
            json!({"name": name, "in": "header", "required": false, "schema": schema, "description": description}),
        );
        self
    }

    /// It needs no token.
    pub(super) fn public(mut self) -> Operation {
        self.public = true;
        self
    }

    fn into_value(self, path: &str, error: &Value) -> Value {
        let mut responses = Map::new();
        let (status, content) = self.success;
        responses.insert(status.as_str().to_owned(), json!({"description": "Success.", "content": content}));
        for (status, description) in ERROR_STATUSES {
            let content = json!({"application/json": {"schema": error}});
            let response = json!({"description": description, "content": content});
            responses.insert(status.as_str().to_owned(), response);
        }
        let mut params: Vec<Value> = path_params(path).collect();
        params.extend(self.params);
        let mut operation = json!({
            "operationId": self.name, "summary": self.summary, "parameters": params, "responses": responses,
        });
        if let Some((schema, required)) = self.body {
            let mut content = json!({"application/json": {"schema": schema}});
            if self.form {
                let file = json!({"type": "string", "contentMediaType": "application/octet-stream"});
                let form = json!({
                    "type": "object", "properties": {"file": file}, "required": ["file"], "additionalProperties": false,
                });
                content["multipart/form-data"] = json!({"schema": form});
            }
            operation["requestBody"] = json!({"required": required, "content": content});
        }
        if !self.files.is_empty() {
            let content: Map<String, Value> =
                self.files.iter().map(|kind| ((*kind).to_owned(), json!({}))).collect();
            operation["requestBody"] = json!({"required": true, "content": content});
        }
        if self.public {
            operation["security"] = json!([]);
        }
        operation
    }
}

/// A UUID as it is written here.
const UUID: &str = "^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$";

/// The parameters between braces in a path; the name says what each is.
fn path_params(path: &str) -> impl Iterator<Item = Value> + '_ {
    path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')).map(|name| {
        let id = |prefix: &str| json!({"type": "string", "pattern": format!("^{prefix}[0-9a-f]{{32}}$")});
        let schema = match name {
            "session_id" => id("sess_"),
            "turn_id" => id("turn_"),
            "project_id" => json!({"type": "string", "pattern": UUID}),
            "agent" => json!({"type": "string", "minLength": 1, "maxLength": 200}),
            "file" => json!({"type": "string", "minLength": 1, "maxLength": 200}),
            _ => id("msg_"),
        };
        json!({"name": name, "in": "path", "required": true, "schema": schema})
    })
}

/// Says how large a number may be; by itself only its format would tell.
fn bound(schema: &mut Schema) {
    let maximum = match schema.get("format").and_then(Value::as_str) {
        Some("uint32") => u64::from(u32::MAX),
        Some("uint64") => u64::MAX,
        _ => return,
    };
    if schema.get("maximum").is_none() {
        schema.insert("maximum".to_owned(), maximum.into());
    }
}

/// A query parameter is absent rather than null.
fn not_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(types) = schema.get("type").and_then(Value::as_array) {
        let types: Vec<Value> = types.iter().filter(|kind| *kind != "null").cloned().collect();
        schema["type"] = if types.len() == 1 { types[0].clone() } else { types.into() };
    }
    if let Some(options) = schema.get("anyOf").and_then(Value::as_array) {
        let options: Vec<Value> = options.iter().filter(|option| option["type"] != "null").cloned().collect();
        match <[Value; 1]>::try_from(options) {
            Ok([only]) => return only,
            Err(options) => schema["anyOf"] = options.into(),
        }
    }
    if let Some(members) = schema.get("enum").and_then(Value::as_array) {
        let members: Vec<Value> = members.iter().filter(|member| !member.is_null()).cloned().collect();
        schema["enum"] = members.into();
    }
    schema
}
