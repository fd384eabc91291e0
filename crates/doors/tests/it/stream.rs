//! An event stream, taken apart into its frames.

use serde_json::Value;

use crate::daemon::check_headers;
use crate::raw_http::{RawConnection, RawRequest, RawResponseHead};

/// A stream of SSE frames.
pub(crate) struct SseTestStream {
    pub(crate) head: RawResponseHead,
    connection: RawConnection,
    text: String,
}

impl SseTestStream {
    pub(crate) async fn open(mut connection: RawConnection, request: &RawRequest) -> SseTestStream {
        connection.send(&request.bytes()).await;
        let head = connection.head().await;
        assert_eq!(head.status, 200);
        check_headers(&head);
        SseTestStream { head, connection, text: String::new() }
    }

    /// The next frame, with the empty line that ends it; none at the end of the stream.
    pub(crate) async fn frame(&mut self) -> Option<String> {
        self.piece("\n\n").await
    }

    /// The next line of a stream of lines, with its line feed.
    pub(crate) async fn line(&mut self) -> Option<String> {
        self.piece("\n").await
    }

    /// The data of the next event of this name. Skips the others.
    pub(crate) async fn until(&mut self, name: &str) -> Value {
        loop {
            let frame = self.frame().await.unwrap_or_else(|| panic!("the stream ended without {name}"));
            if is_named(&frame, name) {
                return data(&frame);
            }
        }
    }

    async fn piece(&mut self, end: &str) -> Option<String> {
        loop {
            if let Some(at) = self.text.find(end) {
                return Some(self.text.drain(..at + end.len()).collect());
            }
            match self.connection.chunk().await {
                // A chunk never ends in the middle of a frame, so it is whole UTF-8.
                Some(chunk) => self.text += std::str::from_utf8(&chunk).unwrap(),
                None => {
                    assert_eq!(self.text, "", "the stream ended in a frame");
                    return None;
                }
            }
        }
    }
}

/// Whether a frame holds an event of this name.
pub(crate) fn is_named(frame: &str, name: &str) -> bool {
    data(frame)["type"] == name
}

/// The JSON in a frame.
pub(crate) fn data(frame: &str) -> Value {
    let (_, data) = frame.split_once("data: ").unwrap();
    serde_json::from_str(data).unwrap()
}
