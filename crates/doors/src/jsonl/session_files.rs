//! Session files: a copy of a session's log under a name of the client's choice. The log in the data directory
//! is the session; a file leads to it and can be compared with it, and is never more true than it.

use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use ostler_engine::{Engine, EngineError, SubscriptionItem};
use ostler_line_framing::{BlockingLineReader, FramedLine};
use ostler_recorder::import::{ImportedSession, read_ndjson};
use ostler_types::{Record, Refusal, SessionId};
use ostler_workspace_fs::{ConcurrentWriters, ReplaceOptions, Replacement};

/// Bytes in a line of a session file; a log has no longer ones.
const MAX_LINE: usize = 4 << 20;

/// File name extensions that a session file may have.
const FILE_EXTENSIONS: [&str; 2] = ["jsonl", "ndjson"];

/// What a session file says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SessionFile {
    /// There is none, or it is empty: a new session is to be saved there.
    New,
    /// It is the log of a session in the data directory itself.
    Log(SessionId),
    /// It is a copy of a session's log, as far as this line.
    Copy { id: SessionId, last: String, seq: u64 },
}

/// The path that a client means.
pub(super) fn resolve(base: &Path, given: &str) -> Result<PathBuf, Refusal> {
    if given.is_empty() || given.contains('\0') {
        return Err(bad_file("`session_file` names no file"));
    }
    let path = base.join(given);
    // Anything else could be a file that some program obeys, as a shell does the one that it reads at its start.
    let ending = path.extension().and_then(|ending| ending.to_str());
    if !ending.is_some_and(|ending| FILE_EXTENSIONS.contains(&ending)) {
        let message =
            format!("`session_file` has to end in .jsonl or .ndjson, and {} does not", path.display());
        return Err(bad_file(&message));
    }
    Ok(path)
}

/// Reads a session file, and refuses one that is damaged.
pub(super) async fn read(path: PathBuf, engine: Engine) -> Result<SessionFile, Refusal> {
    let read = tokio::task::spawn_blocking(move || read_blocking(&path, &engine)).await;
    read.unwrap_or_else(|error| Err(bad_file(&format!("the session file could not be read: {error}"))))
}

fn read_blocking(path: &Path, engine: &Engine) -> Result<SessionFile, Refusal> {
    let shown = path.display();
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(SessionFile::New),
        Err(error) => return Err(bad_file(&format!("{shown} cannot be read: {error}"))),
    };
    if !file.metadata().is_ok_and(|metadata| metadata.is_file()) {
        return Err(bad_file(&format!("{shown} is not a file")));
    }
    if let Some(id) = engine.session_of_log(path) {
        return Ok(SessionFile::Log(id));
    }
    let (mut lines, mut number) = (BlockingLineReader::new(BufReader::new(file), MAX_LINE), 0);
    let mut last: Option<(SessionId, String)> = None;
    loop {
        let next =
            lines.next_line().map_err(|error| bad_file(&format!("{shown} cannot be read: {error}")))?;
        let Some(framed) = next else { break };
        number += 1;
        let damaged = |what: &str| damaged(path, number, what);
        let line = match &framed {
            FramedLine::Line(line) => &line[..],
            FramedLine::Unterminated(_) => return Err(damaged("it has no end")),
            FramedLine::TooLong => return Err(damaged("it is too long")),
        };
        // A space says that the records were appended together, and is no part of the record.
        let line = line.strip_suffix(b" ").unwrap_or(line);
        let line = std::str::from_utf8(line).map_err(|_| damaged("it is not UTF-8"))?;
        let record: Record = serde_json::from_str(line).map_err(|error| damaged(&error.to_string()))?;
        if record.seq != number || last.as_ref().is_some_and(|(id, _)| *id != record.session_id) {
            return Err(damaged("it does not follow the one before it"));
        }
        last = Some((record.session_id, line.to_owned()));
    }
    Ok(match last {
        Some((id, last)) => SessionFile::Copy { id, last, seq: number },
        None => SessionFile::New,
    })
}

/// Reads the session in a file that another daemon has written.
pub(super) async fn import(path: PathBuf) -> Result<ImportedSession, Refusal> {
    let shown = path.display().to_string();
    let read = tokio::task::spawn_blocking(move || {
        let file = std::fs::File::open(&path)?;
        read_ndjson(BufReader::new(file), None)
    });
    let refused = |why: String| {
        Refusal::invalid("bad_session_file", format!("{shown} cannot be loaded: {why}"))
            .hint("nothing was changed; name another file, or the session's log as `list_sessions` gives it")
    };
    match read.await {
        Ok(Ok(imported)) => Ok(imported),
        Ok(Err(error)) => Err(refused(error.to_string())),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// Whether a copy is of the session that this daemon has, as far as it goes. Each line stands for all
/// before it, by its chain, so that the last one will do.
pub(super) async fn is_copy_of_session(
    engine: &Engine,
    id: SessionId,
    last: &str,
    seq: u64,
) -> Result<bool, EngineError> {
    let mut subscription = match engine.subscribe(id, seq.saturating_sub(1)).await {
        Err(EngineError::Refused(_)) => return Ok(false),
        other => other?,
    };
    match subscription.ready().await? {
        Some(SubscriptionItem::Record(line)) => Ok(line.seq == seq && line.bytes == last.as_bytes()),
        Some(SubscriptionItem::Delta(_)) | None => Ok(false),
    }
}

/// Writes a session's log, as far as it goes, to its file: whole, or not at all.
pub(super) async fn write(engine: &Engine, id: SessionId, path: &Path) -> Result<(), Refusal> {
    let failed =
        |error: &dyn std::fmt::Display| bad_file(&format!("{} cannot be written: {error}", path.display()));
    if path.starts_with(engine.data_dir()) {
        return Err(bad_file("a session file cannot lie in the data directory"));
    }
    let options = ReplaceOptions { writers: ConcurrentWriters::Several, ..ReplaceOptions::STATE };
    let mut file = BufWriter::new(Replacement::begin(path, options).map_err(|error| failed(&error))?);
    let mut subscription = engine.subscribe(id, 0).await.map_err(|error| failed(&error))?;
    let mut written = Ok(());
    while let Some(item) = subscription.ready().await.map_err(|error| failed(&error))? {
        if let SubscriptionItem::Record(line) = item
            && written.is_ok()
        {
            written = file.write_all(&line.bytes).and_then(|()| file.write_all(b"\n"));
        }
        if subscription.is_live() {
            break;
        }
    }
    let put = tokio::task::spawn_blocking(move || {
        written?;
        file.into_inner().map_err(std::io::IntoInnerError::into_error)?.finish()
    });
    put.await.unwrap_or_else(|error| Err(std::io::Error::other(error))).map_err(|error| failed(&error))
}

fn damaged(path: &Path, line: u64, what: &str) -> Refusal {
    let message = format!("{} is damaged at line {line}: {what}", path.display());
    Refusal::invalid("bad_session_file", message)
        .hint("nothing was changed; name another file, or the session's log as `list_sessions` gives it")
}

fn bad_file(message: &str) -> Refusal {
    Refusal::invalid("bad_session_file", message)
}
