//! The connection: found, lost, found again. Only this decides whether there is one; sessions are followed while
//! there is.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt;
use ostler_client::{Client, EventStream};
use ostler_types::EventName;
use tokio::sync::mpsc;

use super::DaemonConnector;
use crate::input::{DaemonNews, TuiInput};
use crate::stream_line::StreamLine;

/// What of all sessions is worth hearing for whoever does not look at them.
const FEED_EVENTS: [EventName; 13] = [
    EventName::SessionCreated,
    EventName::SessionUpdated,
    EventName::SessionCompleted,
    EventName::SessionFailed,
    EventName::SessionCanceled,
    EventName::TurnStarted,
    EventName::TurnCompleted,
    EventName::TurnFailed,
    EventName::TurnCanceled,
    EventName::ApprovalRequested,
    EventName::ApprovalGranted,
    EventName::ApprovalDenied,
    EventName::PatchReviewRequested,
];
/// How long to wait between tries, at first and at most.
const FIRST_RETRY: Duration = Duration::from_millis(100);
const LONGEST_RETRY: Duration = Duration::from_secs(5);

/// The client, while there is a connection.
#[derive(Clone, Default)]
pub(super) struct CurrentClient(Arc<Mutex<Option<Client>>>);

impl CurrentClient {
    pub(super) fn get(&self) -> Option<Client> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, client: Option<Client>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }
}

/// Keeps the connection for as long as somebody listens. The first time nobody is found, a daemon is started; later
/// that is done on request only, since somebody may have stopped it on purpose.
pub(super) async fn keep_connected(
    reach: DaemonConnector,
    held: CurrentClient,
    out: mpsc::Sender<TuiInput>,
    mut asked: mpsc::Receiver<bool>,
) {
    let mut start = true;
    let mut wait = FIRST_RETRY;
    let mut note = None;
    loop {
        let opened = match (reach.find)().await {
            Ok(client) => client.feed(&FEED_EVENTS).await.map(|feed| (client, feed)),
            Err(error) => Err(error),
        };
        let why = match opened {
            Ok((client, feed)) => {
                held.set(Some(client));
                (start, wait) = (false, FIRST_RETRY);
                if out.send(TuiInput::News(DaemonNews::Connected { note: note.take() })).await.is_err() {
                    return;
                }
                let why = forward_feed(feed, &out).await;
                held.set(None);
                why
            }
            Err(error) => error.to_string(),
        };
        let lost = DaemonNews::Disconnected { why, starting: start };
        if out.send(TuiInput::News(lost)).await.is_err() {
            return;
        }
        if std::mem::take(&mut start) {
            match (reach.start)().await {
                Ok(said) => note = Some(said),
                Err(why) => {
                    let failed = DaemonNews::Disconnected { why: why.clone(), starting: false };
                    if out.send(TuiInput::News(failed)).await.is_err() {
                        return;
                    }
                    _ = out.send(TuiInput::News(DaemonNews::Failed(why))).await;
                }
            }
            continue;
        }
        tokio::select! {
            asked = asked.recv() => match asked {
                Some(wanted) => start = wanted,
                None => return,
            },
            () = tokio::time::sleep(wait) => wait = (wait * 2).min(LONGEST_RETRY),
        }
        if start && (reach.find)().await.is_ok() {
            start = false;
        }
    }
}

/// Passes on what is heard until the connection ends; says why.
async fn forward_feed(mut feed: EventStream, out: &mpsc::Sender<TuiInput>) -> String {
    while let Some(line) = feed.next().await {
        let line = match line {
            Ok(line) => line,
            Err(error) => return error.to_string(),
        };
        if let Some(StreamLine::Record(record)) = StreamLine::read(line.seq, &line.name, &line.raw)
            && out.send(TuiInput::News(DaemonNews::Feed(record))).await.is_err()
        {
            break;
        }
    }
    "the connection was closed".to_owned()
}
