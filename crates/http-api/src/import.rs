//! A session out of a file: an export of this or another daemon, or another program's transcript. What is in the
//! file is read by the recorder, which believes nothing; here it is taken out of the request and found a place.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::time::Duration;

use axum::Json;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use ostler_api_types::Created;
use ostler_door_kit::{
    DoorError, body_timed_out, body_too_large, existing_directory, imported_records, refuse_own_data,
    unreadable_body,
};
use ostler_engine::{EngineError, check_attachment_limits};
use ostler_recorder::import::{ImportError, ImportedArchive, ImportedSession, read_ndjson, read_transcript};
use ostler_types::{NewRecord, NewSession, Refusal, RefusalCode, SessionId, create};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Handle;
use uuid::Uuid;

use super::HttpDoor;
use super::extract::QueryParams;
use super::scratch::ScratchFile;

/// What a file may be called. A page of another origin can send other types without asking.
pub(super) const CONTENT_TYPES: [&str; 3] =
    ["application/zip", "application/x-ndjson", "application/octet-stream"];
/// Bytes of a file.
const MAX_IMPORT: usize = 256 << 20;
/// How long a client may take to send it.
const TIMEOUT: Duration = Duration::from_secs(300);

/// What the file is, and where the session is to work.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ImportParams {
    /// What it is; told from its content when absent.
    format: Option<ImportFormat>,
    /// The directory that the session works in from now on; the one that it worked in when absent.
    workspace_path: Option<String>,
}

/// What a session can be imported from.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ImportFormat {
    Zip,
    Ndjson,
    Transcript,
}

pub(super) async fn import(
    State(door): State<HttpDoor>,
    QueryParams(params): QueryParams<ImportParams>,
    request: Request,
) -> Result<(StatusCode, Json<Created>), DoorError> {
    refuse_unless_file(request.headers())?;
    let workspace = match &params.workspace_path {
        Some(path) => Some(existing_directory(&door.context, "workspace_path", path).await?),
        None => None,
    };
    // What is read is held in memory until it is appended, so one at a time.
    let _turn = door.imports.acquire().await.expect("the semaphore is never closed");
    let scratch =
        door.scratch.new_file(door.context.engine.clock().uuid()).map_err(|error| write_error(&error))?;
    store(request, &scratch).await?;
    let id = SessionId::new(door.context.engine.clock().uuid());
    let content = read_import(scratch, params.format, id).await?;
    if let ImportContent::Archive(_, archive, _) = &content {
        let attachments = archive.attachments();
        check_attachment_limits(attachments.count, attachments.bytes)?;
    }
    let (records, files) = to_records(&door, content, id, workspace).await?;
    let session = door.context.engine.import(records).await?;
    if let Some(archive) = files
        && let Err(error) = keep_files(&door, session.id, archive).await
    {
        // A session without its files is not what was exported.
        _ = door.context.engine.purge(session.id).await;
        return Err(error);
    }
    Ok((StatusCode::CREATED, Json(Created { session_id: session.id })))
}

fn refuse_unless_file(headers: &HeaderMap) -> Result<(), DoorError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or("");
    let essence = kind.split(';').next().unwrap_or("").trim();
    if CONTENT_TYPES.iter().any(|known| known.eq_ignore_ascii_case(essence)) {
        return Ok(());
    }
    let message = format!("the body must be a file, sent as one of {}", CONTENT_TYPES.join(", "));
    Err(DoorError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", message))
}

/// Puts the body into a file, from which it can be read in any order.
async fn store(request: Request, scratch: &ScratchFile) -> Result<(), DoorError> {
    if request.body().size_hint().lower() > MAX_IMPORT as u64 {
        return Err(body_too_large(MAX_IMPORT));
    }
    let mut file = File::create_new(scratch.path()).map_err(|error| write_error(&error))?;
    let storing = async {
        let (mut body, mut size) = (request.into_body(), 0);
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| unreadable_body(&error, MAX_IMPORT))?;
            let Ok(data) = frame.into_data() else { continue };
            size += data.len();
            if size > MAX_IMPORT {
                return Err(body_too_large(MAX_IMPORT));
            }
            // Into the page cache of a local disk; handing each piece to a thread would take longer.
            file.write_all(&data).map_err(|error| write_error(&error))?;
        }
        Ok(())
    };
    tokio::time::timeout(TIMEOUT, storing).await.map_err(|_| body_timed_out())?
}

/// What was found in a file.
enum ImportContent {
    Session(ImportedSession),
    Archive(ImportedSession, Box<ImportedArchive<BufReader<File>>>, ScratchFile),
    Transcript(ScratchFile),
}

/// Reads the file, away from what must not wait.
async fn read_import(
    scratch: ScratchFile,
    format: Option<ImportFormat>,
    id: SessionId,
) -> Result<ImportContent, DoorError> {
    let reading = tokio::task::spawn_blocking(move || {
        let mut input = BufReader::new(File::open(scratch.path())?);
        let format = match format {
            Some(format) => format,
            None => sniff(&mut input)?,
        };
        Ok::<ImportContent, ImportError>(match format {
            ImportFormat::Zip => {
                let mut archive = ImportedArchive::open(input)?;
                ImportContent::Archive(archive.session(Some(id))?, Box::new(archive), scratch)
            }
            ImportFormat::Ndjson => ImportContent::Session(read_ndjson(input, Some(id))?),
            ImportFormat::Transcript => ImportContent::Transcript(scratch),
        })
    });
    match reading.await {
        Ok(read) => read.map_err(import_error),
        Err(error) => Err(write_error(&io::Error::other(error))),
    }
}

/// What a file most likely is, by how it begins.
fn sniff(input: &mut BufReader<File>) -> Result<ImportFormat, ImportError> {
    let mut head = Vec::new();
    input.by_ref().take(64 << 10).read_until(b'\n', &mut head)?;
    input.rewind()?;
    let line: serde_json::Value = serde_json::from_slice(&head).unwrap_or_default();
    Ok(match () {
        () if head.starts_with(b"PK") => ImportFormat::Zip,
        () if line.get("role").is_some() && line.get("seq").is_none() => ImportFormat::Transcript,
        () => ImportFormat::Ndjson,
    })
}

type UploadedArchive = Option<(Box<ImportedArchive<BufReader<File>>>, ScratchFile)>;

/// The records of the session as it will be here.
async fn to_records(
    door: &HttpDoor,
    content: ImportContent,
    id: SessionId,
    workspace: Option<String>,
) -> Result<(Vec<NewRecord>, UploadedArchive), DoorError> {
    let (imported, files) = match content {
        ImportContent::Session(imported) => (imported, None),
        ImportContent::Archive(imported, archive, scratch) => (imported, Some((archive, scratch))),
        ImportContent::Transcript(scratch) => {
            return Ok((from_transcript(door, scratch, id, workspace).await?, None));
        }
    };
    let workspace = match workspace {
        Some(workspace) => workspace,
        None => existing_directory(&door.context, "workspace_path", &imported.session.workspace_path).await?,
    };
    Ok((imported_records(&door.context, imported, workspace).await?, files))
}

async fn from_transcript(
    door: &HttpDoor,
    scratch: ScratchFile,
    id: SessionId,
    workspace: Option<String>,
) -> Result<Vec<NewRecord>, DoorError> {
    let workspace = workspace.ok_or_else(|| {
        Refusal::invalid(RefusalCode::BadWorkspace, "a transcript does not say where its session works")
            .hint("name a directory as `workspace_path`")
    })?;
    refuse_own_data(&door.context, "workspace_path", &workspace)?;
    let settings = &door.context.settings;
    let resolution = settings.models.choose(&settings.policy.model).await?;
    let (clock, model) = (door.context.engine.clock(), resolution.model.clone());
    let new = NewSession {
        resolution: Some(resolution),
        policy: settings.policy.clone(),
        fallback_models: settings.fallback_models.clone(),
        ..NewSession::new(id, clock.now(), workspace, model.clone())
    };
    let now = clock.now();
    let first = create(new)?.into_iter().map(|event| NewRecord { ts: now, turn_id: None, event });
    let mut records: Vec<NewRecord> = first.collect();
    let engine = door.context.engine.clone();
    let reading = tokio::task::spawn_blocking(move || {
        let input = BufReader::new(File::open(scratch.path())?);
        let mut next_id = || -> Uuid { engine.clock().uuid() };
        read_transcript(input, &model, &mut next_id)
    });
    match reading.await {
        Ok(read) => records.extend(read.map_err(import_error)?),
        Err(error) => return Err(write_error(&io::Error::other(error))),
    }
    Ok(records)
}

/// Keeps what lies beside the log.
async fn keep_files(
    door: &HttpDoor,
    id: SessionId,
    (mut archive, scratch): (Box<ImportedArchive<BufReader<File>>>, ScratchFile),
) -> Result<(), DoorError> {
    let (engine, runtime) = (door.context.engine.clone(), Handle::current());
    let keeping = tokio::task::spawn_blocking(move || {
        let _scratch = scratch;
        let mut failed: Option<EngineError> = None;
        let kept = archive.files(&mut |name, content| {
            runtime.block_on(engine.import_file(id, name, content)).map_err(|error| {
                let told = io::Error::other(error.to_string());
                failed = Some(error);
                told
            })
        });
        match (kept, failed) {
            (_, Some(error)) => Err(DoorError::from(error)),
            (kept, None) => kept.map_err(import_error),
        }
    });
    match keeping.await {
        Ok(kept) => kept,
        Err(error) => Err(write_error(&io::Error::other(error))),
    }
}

fn import_error(error: ImportError) -> DoorError {
    match error {
        ImportError::Io(error) => write_error(&error),
        other @ (ImportError::Damaged { .. } | ImportError::Refused(_)) => {
            Refusal::invalid("bad_import", other.to_string())
                .hint("a file to import is an export as zip or ndjson, or a transcript")
                .into()
        }
    }
}

fn write_error(error: &io::Error) -> DoorError {
    let message = format!("the file cannot be kept while it is read: {error}");
    DoorError::new(StatusCode::SERVICE_UNAVAILABLE, "disk_failed", message)
        .hint("look at the disk and try again")
}
