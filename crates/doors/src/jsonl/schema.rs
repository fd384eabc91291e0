//! The JSON Schema of every line of this wire, made from the types that are written and read.

use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::commands::ClientFrame;
use super::frames::ServerFrame;

/// The schema: `$defs/ClientFrame` is what a client says, `$defs/ServerFrame` what it is told.
pub fn schema() -> Value {
    let mut read = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let client = read.subschema_for::<ClientFrame>();
    let mut written = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let server = written.subschema_for::<ServerFrame<'static>>();
    let mut definitions = read.take_definitions(true);
    definitions.extend(written.take_definitions(true));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Ostler, JSON lines",
        "description": "One line of `ostler rpc`, in either direction.",
        "anyOf": [client, server],
        "$defs": definitions,
    })
}
