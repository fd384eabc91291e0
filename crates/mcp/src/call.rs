//! One call on the wire: sent, shown while it makes progress, and called off when nobody waits for it.

use std::time::Duration;

use futures_util::FutureExt;
use ostler_runner::OutputSink;
use rmcp::ServiceError;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientRequest,
    JsonObject, RequestId, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleClient};
use tokio::time::{Instant, sleep, timeout};

use crate::server_text::{head, strip_hidden};
use crate::supervised_server::ServerHandle;

/// How many times its timeout a call may take that keeps showing progress.
const MOST_TIMEOUTS: u32 = 10;
/// How much of a call's progress is shown.
const PROGRESS_BYTES: usize = 64 * 1024;
/// How much of an error is told.
const ERROR_BYTES: usize = 4 * 1024;

/// Calls a tool and waits for its answer. Dropping the future tells the server that nobody waits any more.
pub(crate) async fn call(
    live: &ServerHandle,
    tool: &str,
    arguments: JsonObject,
    patience: Duration,
    output: &OutputSink,
) -> Result<CallToolResult, String> {
    let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
    let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
    let sent = live.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
    let mut handle = timeout(patience, sent)
        .await
        .map_err(|_| timeout_text(patience))?
        .map_err(|error| error_text(&error))?;
    let mut call_off = CancelOnDrop { peer: &live.peer, id: Some(handle.id.clone()) };
    let mut progress = live.progress.register(handle.progress_token.clone());
    let mut room = PROGRESS_BYTES;
    let idle = sleep(patience);
    let most = sleep(patience * MOST_TIMEOUTS);
    tokio::pin!(idle, most);
    let response = loop {
        tokio::select! {
            biased;
            response = &mut handle.rx => break response,
            message = progress.next() => {
                idle.as_mut().reset(Instant::now() + patience);
                if message.len() <= room {
                    room -= message.len();
                    output("progress", &message);
                }
            }
            () = &mut idle => return Err(timeout_text(patience)),
            () = &mut most => return Err(timeout_text(patience * MOST_TIMEOUTS)),
        }
    };
    call_off.id = None;
    match response {
        Ok(Ok(result)) => final_result(result),
        Ok(Err(error)) => Err(error_text(&error)),
        Err(_) => Err(error_text(&ServiceError::TransportClosed)),
    }
}

/// Calls off a request that is still open when this is dropped.
struct CancelOnDrop<'a> {
    peer: &'a Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            let reason = "the caller no longer waits for the result".to_owned();
            let told = CancelledNotificationParam::new(Some(id), Some(reason));
            // Polled once, it is handed to the connection; whether it is delivered need not be awaited.
            let _ = self.peer.notify_cancelled(told).now_or_never();
        }
    }
}

fn final_result(result: ServerResult) -> Result<CallToolResult, String> {
    match result {
        ServerResult::CallToolResult(result) => Ok(result),
        ServerResult::InputRequiredResult(_) => Err("it asked for input from a person or a model, which is \
                not supported; pass all it needs in the arguments"
            .to_owned()),
        ServerResult::CreateTaskResult(_) => {
            Err("it answered with a deferred task, which is not supported".to_owned())
        }
        _ => Err("its answer was not a tool result".to_owned()),
    }
}

fn timeout_text(time: Duration) -> String {
    format!(
        "it did not answer within {} s and the call was canceled; it may or may not have taken effect",
        time.as_secs_f64()
    )
}

fn error_text(error: &ServiceError) -> String {
    match error {
        ServiceError::McpError(error) => {
            format!(
                "it refused the call: {} ({})",
                strip_hidden(head(&error.message, ERROR_BYTES)),
                error.code.0
            )
        }
        ServiceError::TransportClosed | ServiceError::Cancelled { .. } => {
            "it ended before it answered; the call may or may not have taken effect".to_owned()
        }
        other => format!("the call failed: {}", strip_hidden(head(&other.to_string(), ERROR_BYTES))),
    }
}
