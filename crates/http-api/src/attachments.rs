//! Attachments: files that a client brings along for its messages. Here they are taken out of the
//! request, and handed out again; where they lie and what they are called is the engine's affair.

use std::borrow::Cow;

use axum::Json;
use axum::extract::{FromRequest, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hyper::body::Body as _;
use ostler_api_types::{FileList, StoredFile};
use ostler_door_kit::{DoorContext, DoorError, body_too_large, is_json};
use ostler_engine::{AttachmentPermit, MAX_ATTACHMENT};
use ostler_types::SessionId;
use schemars::JsonSchema;
use serde::Deserialize;

use super::HttpDoor;
use super::download::download;
use super::extract::{PathParams, invalid_body, parse, read_whole};
use super::multipart::{boundary, fields};

/// What may be around the content: boundaries, headers, the name.
const MULTIPART_OVERHEAD: usize = 64 << 10;
/// The longest body of each form.
const MAX_MULTIPART: usize = MAX_ATTACHMENT + MULTIPART_OVERHEAD;
const MAX_JSON: usize = MAX_ATTACHMENT.div_ceil(3) * 4 + MULTIPART_OVERHEAD;

/// With or without the padding, which says nothing that the length does not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A file to attach, as JSON.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AttachmentBody<'a> {
    /// What it is called; only the last part of a path is looked at.
    name: String,
    /// Its content, in base64; `content_base64` is another name of this field.
    #[serde(borrow, alias = "content_base64")]
    data: Cow<'a, str>,
    /// Not looked at: the type is told from the content.
    #[serde(default, rename = "mime_type")]
    _mime_type: Option<String>,
}

/// A file beside the log, as clients are told of it.
fn to_stored_file(file: ostler_engine::StoredBlob) -> StoredFile {
    let ostler_engine::StoredBlob { reference, name, mime_type, size } = file;
    StoredFile { reference, name, mime_type: mime_type.to_owned(), size }
}

/// Files beside the log, as clients are told of them.
pub(super) fn to_file_list(list: ostler_engine::StoredBlobList) -> FileList {
    FileList { files: list.files.into_iter().map(to_stored_file).collect(), more: list.more }
}

/// A file out of a request, in the room that it takes.
pub(super) struct Upload {
    room: AttachmentPermit,
    name: String,
    content: Vec<u8>,
}

pub(super) async fn upload(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
    Upload { room, name, content }: Upload,
) -> Result<(StatusCode, Json<StoredFile>), DoorError> {
    let file = context.engine.put_attachment(room, id, &name, content).await?;
    Ok((StatusCode::CREATED, Json(to_stored_file(file))))
}

pub(super) async fn list(
    State(context): State<DoorContext>,
    PathParams(id): PathParams<SessionId>,
) -> Result<Json<FileList>, DoorError> {
    Ok(Json(to_file_list(context.engine.attachments(id).await?)))
}

pub(super) async fn show(
    State(context): State<DoorContext>,
    PathParams((id, name)): PathParams<(SessionId, String)>,
) -> Result<Response, DoorError> {
    Ok(download(context.engine.get_attachment(id, &name).await?))
}

impl FromRequest<HttpDoor> for Upload {
    type Rejection = DoorError;

    async fn from_request(request: Request, door: &HttpDoor) -> Result<Upload, DoorError> {
        let boundary = boundary(request.headers());
        let (limit, copies) = match &boundary {
            Some(_) => (MAX_MULTIPART, 1),
            None if is_json(request.headers()) => (MAX_JSON, 2),
            None => return Err(unsupported_type(request.headers())),
        };
        // A length that is told beforehand is all that is taken, and refused before it is waited for.
        let hint = request.body().size_hint();
        if hint.lower() > limit as u64 {
            return Err(body_too_large(limit));
        }
        let length = hint.upper().and_then(|upper| usize::try_from(upper).ok()).unwrap_or(limit).min(limit);
        let room = door.context.engine.reserve_attachment_memory(length * copies).await;
        let body = read_whole(request.into_body(), limit, length).await?;
        let (name, content) = match boundary {
            Some(boundary) => from_multipart(body, &boundary)?,
            None => from_json(&body)?,
        };
        Ok(Upload { room, name, content })
    }
}

/// The one file of a form.
fn from_multipart(mut body: Vec<u8>, boundary: &str) -> Result<(String, Vec<u8>), DoorError> {
    let mut fields = fields(&body, boundary)?.into_iter();
    let (Some(field), None) = (fields.next(), fields.next()) else {
        return Err(invalid_body(
            "it must have one field, with one file; send each file in a request of its own",
        ));
    };
    if field.name != "file" {
        return Err(invalid_body("the field must be called `file`"));
    }
    // Cut out in place: the content is most of the body.
    body.truncate(field.content.end);
    body.drain(..field.content.start);
    Ok((field.file_name.unwrap_or_default(), body))
}

fn from_json(body: &[u8]) -> Result<(String, Vec<u8>), DoorError> {
    let AttachmentBody { name, data, .. } = parse(body)?;
    let content = BASE64
        .decode(data.as_bytes())
        .map_err(|error| invalid_body(&format!("`data` is not base64 of the standard alphabet: {error}")))?;
    Ok((name, content))
}

fn unsupported_type(headers: &HeaderMap) -> DoorError {
    let message =
        "a file is sent as `multipart/form-data` with a boundary, or in base64 as `application/json`";
    let error = DoorError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message);
    match headers.get(header::CONTENT_TYPE) {
        Some(_) => error,
        None => error.hint("the request has no content-type"),
    }
}
