//! Requests to the daemon, each in a task of its own, and the streams of the sessions that are followed. What comes
//! of them goes back as news. All tasks end with their owner.

use std::collections::HashMap;
use std::future::Future;

use futures_util::{FutureExt, StreamExt};
use ostler_api_types::SendMessage;
use ostler_client::{Client, ClientError, SessionFilter};
use ostler_types::{Record, SessionId};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::DaemonConnector;
use super::connection::{CurrentClient, keep_connected};
use crate::input::{DaemonNews, TuiInput};
use crate::stream_line::StreamLine;

/// How many sessions are listed.
const MAX_LISTED_SESSIONS: u32 = 100;
/// How many lines of a stream are passed on at once.
const MAX_BATCH_LINES: usize = 256;
/// How many messages may wait to be sent.
const SEND_QUEUE: usize = 64;

/// The tasks.
pub(super) struct DaemonRequests {
    pub(super) client: CurrentClient,
    pub(super) out: mpsc::Sender<TuiInput>,
    connect: mpsc::Sender<bool>,
    send: mpsc::Sender<MessageToSend>,
    tasks: JoinSet<()>,
    followers: HashMap<SessionId, AbortHandle>,
}

/// A message, and where it goes. They are sent one after the other, so that they arrive in their order.
pub(super) struct MessageToSend {
    pub(super) id: SessionId,
    pub(super) message: Box<SendMessage>,
    pub(super) key: String,
}

impl DaemonRequests {
    pub(super) fn start(reach: DaemonConnector, out: mpsc::Sender<TuiInput>) -> DaemonRequests {
        let held = CurrentClient::default();
        let (connect, asked) = mpsc::channel(4);
        let (send, outgoing) = mpsc::channel(SEND_QUEUE);
        let mut tasks = JoinSet::new();
        tasks.spawn(keep_connected(reach, held.clone(), out.clone(), asked));
        tasks.spawn(send_in_order(held.clone(), out.clone(), outgoing));
        DaemonRequests { client: held, out, connect, send, tasks, followers: HashMap::new() }
    }

    /// Looks for the daemon now; starts one if that is wished.
    pub(super) fn connect(&self, start: bool) {
        // It is being looked for already when there is no room for the wish.
        _ = self.connect.try_send(start);
    }

    pub(super) async fn send(&self, outgoing: MessageToSend) {
        _ = self.send.send(outgoing).await;
    }

    /// Asks for something; what comes of it is news.
    pub(super) fn spawn_request<F>(&mut self, request: impl FnOnce(Client) -> F)
    where
        F: Future<Output = Result<Option<DaemonNews>, ClientError>> + Send + 'static,
    {
        while self.tasks.try_join_next().is_some() {}
        let out = self.out.clone();
        let Some(client) = self.client.get() else {
            _ = out.try_send(TuiInput::News(DaemonNews::Failed("not connected to the daemon".to_owned())));
            return;
        };
        let request = request(client);
        self.tasks.spawn(async move {
            let news = match request.await {
                Ok(Some(news)) => news,
                Ok(None) => return,
                Err(error) => DaemonNews::Failed(error.to_string()),
            };
            _ = out.send(TuiInput::News(news)).await;
        });
    }

    /// Runs something that is no request; what comes of it is taken in.
    pub(super) fn spawn(&mut self, work: impl Future<Output = TuiInput> + Send + 'static) {
        let out = self.out.clone();
        self.tasks.spawn(async move {
            let input = work.await;
            _ = out.send(input).await;
        });
    }

    pub(super) fn list(&mut self) {
        self.spawn_request(|client| async move {
            let filter = SessionFilter {
                limit: Some(MAX_LISTED_SESSIONS),
                archived: Some(false),
                ..SessionFilter::default()
            };
            let page = client.list_sessions(&filter).await?;
            let approvals = client.approvals().await?;
            Ok(Some(DaemonNews::Listed { sessions: page.sessions, approvals }))
        });
    }

    pub(super) fn follow(&mut self, id: SessionId, after: u64) {
        self.unfollow(id);
        let (held, out) = (self.client.clone(), self.out.clone());
        let handle = self.tasks.spawn(async move {
            let refused = match held.get() {
                Some(client) => follow(&client, id, after, &out).await,
                None => None,
            };
            _ = out.send(TuiInput::News(DaemonNews::Ended { id, refused })).await;
        });
        self.followers.insert(id, handle);
    }

    pub(super) fn unfollow(&mut self, id: SessionId) {
        if let Some(handle) = self.followers.remove(&id) {
            handle.abort();
        }
    }

    pub(super) fn older(&mut self, id: SessionId, first: u64, before: u64) {
        let out = self.out.clone();
        self.spawn_request(move |client| async move {
            let records = match older(&client, id, first, before).await {
                Ok(records) => records,
                Err(error) => {
                    _ = out.send(TuiInput::News(DaemonNews::Failed(error.to_string()))).await;
                    Vec::new()
                }
            };
            Ok(Some(DaemonNews::Older { id, first, records }))
        });
    }
}

/// Passes on a session's stream until it ends; says why it need not be opened again, if so.
async fn follow(client: &Client, id: SessionId, after: u64, out: &mpsc::Sender<TuiInput>) -> Option<String> {
    let mut stream = match client.events(id, after, true).await {
        Ok(stream) => stream,
        Err(error @ ClientError::Refused { status: 400..=499, .. }) => return Some(error.to_string()),
        Err(_) => return None,
    };
    while let Some(first) = stream.next().await {
        let mut lines = Vec::new();
        let (mut next, mut broken) = (Some(first), false);
        while let Some(line) = next.take() {
            match line {
                Ok(line) => lines.extend(StreamLine::read(line.seq, &line.name, &line.raw)),
                Err(_) => broken = true,
            }
            if lines.len() < MAX_BATCH_LINES && !broken {
                next = stream.next().now_or_never().flatten();
            }
        }
        if !lines.is_empty() && out.send(TuiInput::News(DaemonNews::Lines { id, lines })).await.is_err() {
            return None;
        }
        if broken {
            return None;
        }
    }
    None
}

/// The records from `first` up to `before`.
async fn older(client: &Client, id: SessionId, first: u64, before: u64) -> Result<Vec<Record>, ClientError> {
    let mut stream = client.events(id, first.saturating_sub(1), false).await?;
    let mut records = Vec::new();
    while let Some(line) = stream.next().await {
        let line = line?;
        if line.seq.is_some_and(|seq| seq >= before) {
            break;
        }
        if let Some(StreamLine::Record(record)) = StreamLine::read(line.seq, &line.name, &line.raw) {
            records.push(*record);
        }
    }
    Ok(records)
}

async fn send_in_order(
    held: CurrentClient,
    out: mpsc::Sender<TuiInput>,
    mut outgoing: mpsc::Receiver<MessageToSend>,
) {
    while let Some(MessageToSend { id, message, key }) = outgoing.recv().await {
        let sent = match held.get() {
            Some(client) => client
                .send_message(id, &message)
                .await
                .map(drop)
                .map_err(|error| (error.to_string(), matches!(error, ClientError::Unreachable { .. }))),
            None => Err(("not connected".to_owned(), true)),
        };
        let news = match sent {
            Ok(()) => DaemonNews::Sent { id, key },
            Err((why, later)) => DaemonNews::NotSent { id: Some(id), key, why, later },
        };
        if out.send(TuiInput::News(news)).await.is_err() {
            return;
        }
    }
}
