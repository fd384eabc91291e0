//! A session as one file to take away. What the file holds is the recorder's business; here it is written while it
//! is sent, so that a large session takes no more memory than a small one.

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use ostler_door_kit::DoorError;
use ostler_engine::Engine;
use ostler_eventlog::LogLine;
use ostler_recorder::export::{
    ArchiveFolders, SessionExportFormat, SessionFiles, write_html, write_markdown, write_ndjson,
    write_sqlite, write_zip,
};
use ostler_types::{Record, Session, SessionId};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::runtime::Handle;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use super::HttpDoor;
use super::extract::{PathParams, QueryParams};

/// Exports at the same time. Each has a thread for as long as its client takes.
const MAX_EXPORTS: usize = 16;
/// Bytes that are sent at a time, and how many such pieces wait for the client.
const CHUNK: usize = 64 << 10;
const CHUNKS: usize = 4;
/// How long a client may take nothing.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes that are read from the log at a time.
const PAGE: usize = 1 << 20;

/// What to export as.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExportParams {
    /// The form of the file; `md` when absent.
    format: Option<ExportFormat>,
}

/// The forms that there are.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ExportFormat {
    Ndjson,
    Md,
    Html,
    Sqlite,
    Zip,
}

/// Room for exports, shared by all who ask.
#[derive(Clone)]
pub(super) struct ExportSlots(Arc<Semaphore>);

impl ExportSlots {
    pub(super) fn new() -> ExportSlots {
        ExportSlots(Arc::new(Semaphore::new(MAX_EXPORTS)))
    }
}

pub(super) async fn export(
    State(door): State<HttpDoor>,
    PathParams(id): PathParams<SessionId>,
    QueryParams(params): QueryParams<ExportParams>,
) -> Result<Response, DoorError> {
    let format = match params.format.unwrap_or(ExportFormat::Md) {
        ExportFormat::Ndjson => SessionExportFormat::Ndjson,
        ExportFormat::Md => SessionExportFormat::Md,
        ExportFormat::Html => SessionExportFormat::Html,
        ExportFormat::Sqlite => SessionExportFormat::Sqlite,
        ExportFormat::Zip => SessionExportFormat::Zip,
    };
    let place = Arc::clone(&door.exports.0).try_acquire_owned().map_err(|_| too_many_exports())?;
    let view = door.context.engine.view(id).await?;
    if matches!(format, SessionExportFormat::Sqlite | SessionExportFormat::Zip) {
        door.context.engine.flush_views(id).await?;
    }
    let job = ExportJob {
        views: door.context.engine.readable_folder(&view.session),
        session_folder: door.context.engine.session_folder(id),
        files: Box::new(door.context.engine.exported_files(id)),
        scratch: door
            .scratch
            .new_file(door.context.engine.clock().uuid())
            .map_err(|error| scratch_error(&error))?,
        session: view.session,
        last_seq: view.last_seq,
        engine: door.context.engine.clone(),
    };
    Ok(respond(job, format, place))
}

fn too_many_exports() -> DoorError {
    let message = format!("{MAX_EXPORTS} exports are being made already");
    DoorError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_exports", message).hint("try again in a moment")
}

fn scratch_error(error: &io::Error) -> DoorError {
    let message = format!("there is no room to prepare the file: {error}");
    DoorError::new(StatusCode::SERVICE_UNAVAILABLE, "disk_failed", message)
        .hint("look at the disk and try again")
}

/// Sends the file under a type that no browser runs where it is: as a download, and without any rights.
fn respond(job: ExportJob, format: SessionExportFormat, place: OwnedSemaphorePermit) -> Response {
    let name = format!("{}.{}", job.session.id, format.extension());
    let (sender, receiver) = mpsc::channel(CHUNKS);
    let mut out = ChunkedBodyWriter { sender, chunk: BytesMut::new(), runtime: Handle::current() };
    // The thread ends with the file, or soon after the client has gone.
    tokio::task::spawn_blocking(move || {
        let _place = place;
        let written = job.write(format, &mut out).and_then(|()| out.flush());
        if let Err(error) = written {
            tracing::debug!(%error, "an export was not taken to its end");
            out.fail(error);
        }
    });
    let chunks = stream::unfold(receiver, |mut receiver| async move {
        let chunk: io::Result<Bytes> = receiver.recv().await?;
        Some((chunk, receiver))
    });
    let mut response = Response::new(Body::from_stream(chunks));
    let disposition = format!("attachment; filename=\"{name}\"");
    response.headers_mut().extend([
        (header::CONTENT_TYPE, HeaderValue::from_static(format.media_type())),
        (
            header::CONTENT_DISPOSITION,
            HeaderValue::try_from(disposition).expect("an id is a valid header value"),
        ),
        (header::CACHE_CONTROL, HeaderValue::from_static("private")),
        (
            header::CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("sandbox; default-src 'none'; frame-ancestors 'none'"),
        ),
    ]);
    response
}

/// What is to be written.
struct ExportJob {
    engine: Engine,
    session: Session,
    /// The newest record when it was asked for; what comes later is left out.
    last_seq: u64,
    session_folder: PathBuf,
    files: Box<dyn SessionFiles + Send + Sync>,
    views: PathBuf,
    scratch: super::scratch::ScratchFile,
}

impl ExportJob {
    fn write(&self, format: SessionExportFormat, out: &mut dyn Write) -> io::Result<()> {
        match format {
            SessionExportFormat::Ndjson => write_ndjson(self.lines(), out),
            SessionExportFormat::Md => write_markdown(self.records(), out),
            SessionExportFormat::Html => write_html(&self.session, &*self.files, self.records(), out),
            SessionExportFormat::Sqlite => write_sqlite(&self.views, self.scratch.path(), out),
            SessionExportFormat::Zip => {
                let (session, views) = (self.session_folder.as_path(), self.views.as_path());
                let folders = ArchiveFolders { session, views, scratch: self.scratch.path() };
                write_zip(folders, &*self.files, self.lines(), self.session.updated_at, out)
            }
        }
    }

    /// The lines of the log, read a page at a time.
    fn lines(&self) -> impl Iterator<Item = io::Result<Bytes>> {
        self.pages().map(|line| line.map(|line| line.bytes))
    }

    fn records(&self) -> impl Iterator<Item = io::Result<Record>> {
        self.pages().map(|line| line?.record().map_err(io::Error::other))
    }

    fn pages(&self) -> impl Iterator<Item = io::Result<LogLine>> {
        let (engine, id, last_seq) = (self.engine.clone(), self.session.id, self.last_seq);
        let runtime = Handle::current();
        let mut page: Vec<LogLine> = Vec::new();
        let mut seq = 0;
        std::iter::from_fn(move || {
            if seq >= last_seq {
                return None;
            }
            if page.is_empty() {
                match runtime.block_on(engine.read_records(id, seq + 1, PAGE)) {
                    Ok(lines) => page = lines.into_iter().rev().collect(),
                    Err(error) => {
                        seq = last_seq;
                        return Some(Err(io::Error::other(error)));
                    }
                }
            }
            let Some(line) = page.pop() else {
                seq = last_seq;
                return Some(Err(io::Error::other("the log is shorter than it was")));
            };
            seq = line.seq;
            Some(Ok(line))
        })
    }
}

/// Writes into the body of an answer.
struct ChunkedBodyWriter {
    sender: mpsc::Sender<io::Result<Bytes>>,
    chunk: BytesMut,
    runtime: Handle,
}

impl ChunkedBodyWriter {
    fn send(&mut self, chunk: io::Result<Bytes>) -> io::Result<()> {
        let sent = self.runtime.block_on(tokio::time::timeout(CLIENT_TIMEOUT, self.sender.send(chunk)));
        match sent {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone")),
            Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "the client takes nothing")),
        }
    }

    /// Breaks the connection off, so that the client sees that something is missing.
    fn fail(&mut self, error: io::Error) {
        _ = self.send(Err(error));
    }
}

impl Write for ChunkedBodyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK - self.chunk.len());
        self.chunk.extend_from_slice(&bytes[..taken]);
        if self.chunk.len() == CHUNK {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.chunk.is_empty() {
            return Ok(());
        }
        let chunk = self.chunk.split().freeze();
        self.send(Ok(chunk))
    }
}
