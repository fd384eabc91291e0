//! Files on this wire: what the editor has been asked of the files that it shows, and what it says.

use std::path::{Path, PathBuf};

use agent_client_protocol::v1::schema::{
    CLIENT_METHOD_NAMES, Error, ReadTextFileRequest, ReadTextFileResponse, RequestId, WriteTextFileRequest,
};
use ostler_types::SessionId;
use serde_json::Value;
use tokio::sync::oneshot;

use super::editor_connection::EditorConnection;
use super::notices::FileRequest;
use super::wire;

/// How many requests may be open.
const MAX_OPEN_REQUESTS: usize = 64;

/// The requests about files that one editor has not answered.
#[derive(Default)]
pub(super) struct EditorFileRequests(Vec<PendingFileRequest>);

struct PendingFileRequest {
    number: i64,
    reads: bool,
    reply: oneshot::Sender<String>,
}

impl EditorFileRequests {
    /// Whether more can be asked: not an editor that owes an answer which nobody waits for any more.
    fn has_room(&self) -> bool {
        self.0.len() < MAX_OPEN_REQUESTS && self.0.iter().all(|asked| !asked.reply.is_closed())
    }

    /// Takes an answer, if it is one to a request about a file; gives it back otherwise.
    pub(super) fn respond(
        &mut self,
        id: &RequestId,
        outcome: Result<Value, Error>,
    ) -> Option<Result<Value, Error>> {
        let is_it = |asked: &PendingFileRequest| *id == RequestId::Number(asked.number);
        let Some(place) = self.0.iter().position(is_it) else { return Some(outcome) };
        let PendingFileRequest { reads, reply, .. } = self.0.swap_remove(place);
        // The answer to a write says nothing; whoever reads and gets no text hears that there is none.
        let text = outcome.ok().and_then(|answer| match reads {
            true => serde_json::from_value::<ReadTextFileResponse>(answer).ok().map(|read| read.content),
            false => Some(String::new()),
        });
        if let Some(text) = text {
            _ = reply.send(text);
        }
        None
    }

    /// Lets everybody who waits know that there will be no answer.
    pub(super) fn drop_all(&mut self) {
        self.0.clear();
    }
}

impl EditorConnection {
    /// Asks the editor about a file. What cannot be asked is dropped, which is an answer too.
    pub(super) fn ask_file(&mut self, id: SessionId, wanted: FileRequest) {
        let Some(open) = self.sessions.iter().find(|open| open.id == id) else { return };
        if !self.file_requests.has_room() {
            return;
        }
        let path = editor_path(&wanted.path, &open.workspace, &open.cwd);
        self.requests_sent += 1;
        let (number, reads) = (self.requests_sent, wanted.content.is_none());
        let names = &CLIENT_METHOD_NAMES;
        match wanted.content {
            None => {
                let request = ReadTextFileRequest::new(id.to_string(), path);
                wire::request(number, names.fs_read_text_file, &request, &mut self.pending_output);
            }
            Some(content) => {
                let request = WriteTextFileRequest::new(id.to_string(), path, content);
                wire::request(number, names.fs_write_text_file, &request, &mut self.pending_output);
            }
        }
        self.file_requests.0.push(PendingFileRequest { number, reads, reply: wanted.reply });
    }
}

/// The path as the editor spells it, which may know the workspace by a link.
fn editor_path(path: &Path, workspace: &Path, cwd: &Path) -> PathBuf {
    path.strip_prefix(workspace).map_or_else(|_| path.to_owned(), |relative| cwd.join(relative))
}
