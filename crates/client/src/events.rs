//! A session's events as a stream of lines, on one connection or across several. Leaves what an
//! event means to the reader: a line keeps the daemon's JSON as it came.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use hyper::Method;
use ostler_line_framing::{FramedLine, LineFramer};
use ostler_types::SessionId;
use serde::Deserialize;

use crate::connection::{ClientResponse, HttpConnector};
use crate::{Backoff, ClientError};

/// Events as they come. After an error the stream ends.
pub type EventStream = BoxStream<'static, Result<EventLine, ClientError>>;

/// One event as the daemon wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventLine {
    /// Its place in the log; deltas have none.
    pub seq: Option<u64>,
    /// Its name.
    pub name: String,
    /// The whole envelope, as JSON on one line.
    pub raw: String,
}

/// The daemon shows every 15 s that it lives; one that misses four of these is taken for gone.
const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// Longest line that is accepted, in bytes.
const LINE_LIMIT: usize = 8 << 20;
const HEARTBEAT: &str = "heartbeat";
const NDJSON: &str = "application/x-ndjson";

/// Opens the events after a cursor on one connection.
pub(crate) async fn open(
    door: &HttpConnector,
    id: SessionId,
    after: u64,
    follow: bool,
) -> Result<EventStream, ClientError> {
    open_at(door, session_path(id, after, follow)).await
}

/// Opens the events at a path on one connection.
pub(crate) async fn open_at(door: &HttpConnector, path: String) -> Result<EventStream, ClientError> {
    let reader = EventReader::open(door, path).await?;
    let lines = stream::unfold(Some(reader), |reader| async move {
        let mut reader = reader?;
        match reader.event().await {
            Ok(Some(line)) => Some((Ok(line), Some(reader))),
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(lines.boxed())
}

/// Opens the events after a cursor, and opens them again whenever the connection ends.
pub(crate) async fn open_resuming(
    door: Arc<HttpConnector>,
    backoff: Backoff,
    id: SessionId,
    after: u64,
) -> Result<EventStream, ClientError> {
    let reader = EventReader::open(&door, session_path(id, after, true)).await?;
    let following =
        ResumingEvents { connector: door, backoff, id, cursor: after, failures: 0, reader: Some(reader) };
    let lines = stream::unfold(Some(following), |following| async move {
        let mut following = following?;
        match following.event().await {
            Ok(line) => Some((Ok(line), Some(following))),
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(lines.boxed())
}

fn session_path(id: SessionId, after: u64, follow: bool) -> String {
    format!("/v1/sessions/{id}/events?after={after}&follow={follow}")
}

/// A subscription that outlives its connection.
struct ResumingEvents {
    connector: Arc<HttpConnector>,
    backoff: Backoff,
    id: SessionId,
    /// The newest record that was passed on.
    cursor: u64,
    /// Tries in a row that brought nothing.
    failures: u32,
    reader: Option<EventReader>,
}

impl ResumingEvents {
    /// The next event that has not been passed on yet.
    async fn event(&mut self) -> Result<EventLine, ClientError> {
        loop {
            let Some(reader) = &mut self.reader else {
                self.reopen().await?;
                continue;
            };
            match reader.line().await {
                Ok(Some(line)) => {
                    self.failures = 0;
                    if let Some(line) = self.accept(line)? {
                        return Ok(line);
                    }
                }
                Ok(None) => {
                    self.wait_before_retry(self.connector.unreachable("the connection was closed")).await?
                }
                Err(error) => self.wait_before_retry(error).await?,
            }
        }
    }

    /// Passes a line on unless it was seen before the connection broke.
    fn accept(&mut self, line: EventLine) -> Result<Option<EventLine>, ClientError> {
        let Some(seq) = line.seq else {
            return Ok((line.name != HEARTBEAT).then_some(line));
        };
        if seq <= self.cursor {
            return Ok(None);
        }
        if seq != self.cursor + 1 {
            let missing = self.cursor + 1;
            return Err(ClientError::Protocol(format!("record {seq} came where record {missing} should be")));
        }
        self.cursor = seq;
        Ok(Some(line))
    }

    async fn reopen(&mut self) -> Result<(), ClientError> {
        match EventReader::open(&self.connector, session_path(self.id, self.cursor, true)).await {
            Ok(reader) => self.reader = Some(reader),
            Err(error) => self.wait_before_retry(error).await?,
        }
        Ok(())
    }

    /// Waits before the next try, or gives up.
    async fn wait_before_retry(&mut self, error: ClientError) -> Result<(), ClientError> {
        self.reader = None;
        if !error.is_transient() {
            return Err(error);
        }
        self.failures += 1;
        match (self.backoff.wait(self.failures), error) {
            (Some(wait), _) => {
                tokio::time::sleep(wait).await;
                Ok(())
            }
            (None, ClientError::Unreachable { reason, .. }) => Err(self
                .connector
                .unreachable(format!("{reason} (gave up after {} tries)", self.backoff.tries))),
            (None, error) => Err(error),
        }
    }
}

/// The lines of one connection.
struct EventReader {
    answer: ClientResponse,
    lines: LineFramer,
    ready: VecDeque<String>,
    ended: bool,
}

impl EventReader {
    async fn open(door: &HttpConnector, path: String) -> Result<EventReader, ClientError> {
        let answer = door.send_accepting(NDJSON, Method::GET, &path, None).await?;
        if !answer.has_content_type(NDJSON) {
            return Err(ClientError::Protocol(format!("the events at {path} did not come as {NDJSON}")));
        }
        Ok(EventReader { answer, lines: LineFramer::new(LINE_LIMIT), ready: VecDeque::new(), ended: false })
    }

    /// The next line that says something about the session.
    async fn event(&mut self) -> Result<Option<EventLine>, ClientError> {
        loop {
            match self.line().await? {
                Some(line) if line.name == HEARTBEAT => {}
                line => return Ok(line),
            }
        }
    }

    /// The next line, heartbeats included; `None` at the end.
    async fn line(&mut self) -> Result<Option<EventLine>, ClientError> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return parse(line).map(Some);
            }
            if self.ended {
                return Ok(None);
            }
            match self.answer.chunk(SILENCE_LIMIT).await? {
                Some(chunk) => {
                    self.lines.push(&chunk);
                    while let Some(line) = self.lines.next_line() {
                        self.keep(line)?;
                    }
                }
                None => {
                    self.ended = true;
                    return self.last();
                }
            }
        }
    }

    /// A last line without its LF counts, unless the connection broke off within it.
    fn last(&mut self) -> Result<Option<EventLine>, ClientError> {
        let Some(line) = self.lines.finish() else { return Ok(None) };
        let line = text(line).ok().and_then(|line| parse(line).ok());
        line.map(Some).ok_or_else(|| self.answer.interrupted("the connection broke off within a line"))
    }

    fn keep(&mut self, line: FramedLine) -> Result<(), ClientError> {
        let line = text(line)?;
        if !line.trim().is_empty() {
            self.ready.push_back(line);
        }
        Ok(())
    }
}

fn text(line: FramedLine) -> Result<String, ClientError> {
    match line {
        FramedLine::Line(line) | FramedLine::Unterminated(line) => String::from_utf8(line.into())
            .map_err(|_| ClientError::Protocol("a line is not UTF-8".to_owned())),
        FramedLine::TooLong => {
            Err(ClientError::Protocol(format!("a line is longer than {} MiB", LINE_LIMIT >> 20)))
        }
    }
}

#[derive(Deserialize)]
struct EventHead {
    seq: Option<u64>,
    #[serde(rename = "type")]
    name: String,
}

fn parse(raw: String) -> Result<EventLine, ClientError> {
    let head: EventHead = serde_json::from_str(&raw).map_err(|error| {
        ClientError::Protocol(format!("a line of the event stream is not an event: {error}"))
    })?;
    Ok(EventLine { seq: head.seq, name: head.name, raw })
}

#[cfg(test)]
mod tests {
    use ostler_line_framing::LineFramer;

    use super::{LINE_LIMIT, text};

    /// Frames the bytes in these chunks, and decodes the lines.
    fn lines(chunks: &[&[u8]]) -> Vec<Result<String, String>> {
        let (mut framer, mut found) = (LineFramer::new(LINE_LIMIT), Vec::new());
        for chunk in chunks {
            framer.push(chunk);
            while let Some(line) = framer.next_line() {
                found.push(line);
            }
        }
        found.extend(framer.finish());
        found.into_iter().map(|line| text(line).map_err(|error| error.to_string())).collect()
    }

    #[test]
    fn lines_are_the_same_wherever_the_chunks_are_cut() {
        let whole = "{\"a\":\"é\u{2028}😀\"}\r\n\nlast ☃".as_bytes();
        let expected = ["{\"a\":\"é\u{2028}😀\"}", "", "last ☃"].map(|line| Ok(line.to_owned()));
        for at in 0..=whole.len() {
            let (left, right) = whole.split_at(at);
            assert_eq!(lines(&[left, right]), expected, "cut at {at}");
        }
        let bytes: Vec<&[u8]> = whole.chunks(1).collect();
        assert_eq!(lines(&bytes), expected);
    }

    #[test]
    fn a_line_may_be_as_long_as_the_limit_and_no_longer() {
        let longest = vec![b'x'; LINE_LIMIT];
        let found = lines(&[&longest, b"\n", &longest, b"x"]);
        assert_eq!(found[0].as_ref().map(String::len), Ok(LINE_LIMIT));
        let why = found[1].as_ref().expect_err("it is too long");
        assert!(why.contains("a line is longer than 8 MiB"), "{why}");
    }

    #[test]
    fn bytes_that_are_not_text_are_an_error() {
        let found = lines(&[b"\xff\xfe\n"]);
        assert!(found[0].as_ref().is_err_and(|why| why.contains("a line is not UTF-8")), "{found:?}");
    }
}
