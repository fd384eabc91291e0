//! Files beside a session's log: attaching them, and reading them and those that turns made.

use std::fmt;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::Method;
use ostler_api_types::{FileList, StoredFile};
use ostler_types::{SessionId, TurnId};
use serde::{Serialize, Serializer};

use crate::requests::escape;
use crate::{Client, ClientError};

impl Client {
    /// Attaches a file, for messages to refer to. The daemon says what it is and how it is called there.
    pub async fn attach(&self, id: SessionId, name: &str, content: &[u8]) -> Result<StoredFile, ClientError> {
        let body = NewAttachment { name, data: Base64Bytes(content) };
        self.request(Method::POST, &format!("/v1/sessions/{id}/attachments"), &body).await
    }

    /// Lists the attachments of a session.
    pub async fn attachments(&self, id: SessionId) -> Result<FileList, ClientError> {
        self.get(&format!("/v1/sessions/{id}/attachments")).await
    }

    /// Reads an attachment.
    pub async fn attachment(&self, id: SessionId, name: &str) -> Result<Bytes, ClientError> {
        self.bytes(format!("/v1/sessions/{id}/attachments/"), name).await
    }

    /// Lists what a turn made.
    pub async fn artifacts(&self, id: SessionId, turn: TurnId) -> Result<FileList, ClientError> {
        self.get(&format!("/v1/sessions/{id}/artifacts/{turn}")).await
    }

    /// Reads what a turn made.
    pub async fn artifact(&self, id: SessionId, turn: TurnId, name: &str) -> Result<Bytes, ClientError> {
        self.bytes(format!("/v1/sessions/{id}/artifacts/{turn}/"), name).await
    }

    async fn bytes(&self, mut path: String, name: &str) -> Result<Bytes, ClientError> {
        escape(name, &mut path);
        self.connector.send_accepting("*/*", Method::GET, &path, None).await?.bytes().await
    }
}

#[derive(Serialize)]
struct NewAttachment<'a> {
    name: &'a str,
    data: Base64Bytes<'a>,
}

/// Bytes that are encoded as they are written, without a copy in between.
struct Base64Bytes<'a>(&'a [u8]);

impl Serialize for Base64Bytes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Base64Bytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Base64Display::new(self.0, &STANDARD).fmt(f)
    }
}
