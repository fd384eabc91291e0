//! A small agent on the protocol's own SDK, the counterpart of the one in `tests/acp/agent.mjs`: whatever it is
//! told, it says back; `call` makes a call, `ask` asks first, `write` and `run` have the client do something, `wait`
//! waits until it is canceled.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use agent_client_protocol::v1::schema::{
    AgentCapabilities, CancelNotification, ContentBlock, ContentChunk, CreateTerminalRequest,
    InitializeRequest, InitializeResponse, NewSessionRequest, NewSessionResponse, PermissionOption,
    PermissionOptionKind, PromptRequest, PromptResponse, ReadTextFileRequest, ReleaseTerminalRequest,
    RequestPermissionOutcome, RequestPermissionRequest, SessionNotification, SessionUpdate, StopReason,
    TerminalOutputRequest, ToolCall, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
    WaitForTerminalExitRequest, WriteTextFileRequest,
};
use agent_client_protocol::{Agent, Client, Lines, Result, on_receive_notification, on_receive_request, v1};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tokio::sync::Notify;

type Sessions = Arc<Mutex<HashMap<String, Arc<Notify>>>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let sessions: Sessions = Arc::default();
    let (prompted, canceled) = (Arc::clone(&sessions), sessions);
    let lines = futures_util::stream::unfold(tokio::io::BufReader::new(tokio::io::stdin()).lines(), next);
    let write = async |mut stdout: tokio::io::Stdout, line: String| {
        stdout.write_all(format!("{line}\n").as_bytes()).await?;
        stdout.flush().await?;
        Ok::<_, std::io::Error>(stdout)
    };
    let writer = futures_util::sink::unfold(tokio::io::stdout(), write);
    Agent
        .v1()
        .on_receive_request(
            async move |initialize: InitializeRequest, responder, _| {
                let abilities = AgentCapabilities::new();
                responder.respond(
                    InitializeResponse::new(initialize.protocol_version).agent_capabilities(abilities),
                )
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |_: NewSessionRequest, responder, _| {
                let id = format!("rust-{:?}", std::time::Instant::now());
                responder.respond(NewSessionResponse::new(id))
            },
            on_receive_request!(),
        )
        .on_receive_request(
            async move |request: PromptRequest, responder, client: v1::ConnectionTo<Client>| {
                let stop = Arc::new(Notify::new());
                prompted
                    .lock()
                    .expect("nobody panics")
                    .insert(request.session_id.0.to_string(), Arc::clone(&stop));
                // The loop that calls this handler must go on while the turn does.
                tokio::spawn(async move {
                    let reason = prompt(&client, &request, &stop).await.unwrap_or(StopReason::Refusal);
                    responder.respond(PromptResponse::new(reason))
                });
                Ok(())
            },
            on_receive_request!(),
        )
        .on_receive_notification(
            async move |cancel: CancelNotification, _| {
                let sessions = canceled.lock().expect("nobody panics");
                sessions.get(&*cancel.session_id.0).iter().for_each(|stop| stop.notify_one());
                Ok(())
            },
            on_receive_notification!(),
        )
        .connect_to(Lines::new(Box::pin(writer), Box::pin(lines)))
        .await
}

async fn next(
    mut lines: tokio::io::Lines<tokio::io::BufReader<tokio::io::Stdin>>,
) -> Option<(std::io::Result<String>, tokio::io::Lines<tokio::io::BufReader<tokio::io::Stdin>>)> {
    Some((lines.next_line().await.transpose()?, lines))
}

async fn prompt(
    client: &v1::ConnectionTo<Client>,
    request: &PromptRequest,
    stop: &Notify,
) -> Result<StopReason> {
    let id = request.session_id.clone();
    let tell = |update| client.send_notification(SessionNotification::new(id.clone(), update));
    let say =
        |words: String| tell(SessionUpdate::AgentMessageChunk(ContentChunk::new(ContentBlock::from(words))));
    let words = request.prompt.iter().map(|block| match block {
        ContentBlock::Text(text) => text.text.as_str(),
        _ => "",
    });
    let text = words.collect::<Vec<_>>().join(" ");
    let call = format!("call-{}", text.len());
    let ended = |status, words: &str| {
        let fields = ToolCallUpdateFields::new().status(status).content(vec![words.to_owned().into()]);
        tell(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.clone(), fields)))
    };
    say(format!("You said: {text}"))?;
    let (calls, asks) = (text.contains("call"), text.contains("ask"));
    if calls || asks {
        let made = ToolCall::new(call.clone(), "Look around").kind(ToolKind::Execute);
        tell(SessionUpdate::ToolCall(made.raw_input(serde_json::json!({"command": "ls"}))))?;
    }
    if asks {
        let options = vec![
            PermissionOption::new("go", "Go on", PermissionOptionKind::AllowOnce),
            PermissionOption::new("stop", "Stop", PermissionOptionKind::RejectOnce),
        ];
        let about = ToolCallUpdate::new(call.clone(), ToolCallUpdateFields::new());
        let asked = RequestPermissionRequest::new(id.clone(), about, options);
        match client.send_request(asked).block_task().await?.outcome {
            RequestPermissionOutcome::Selected(chosen) if &*chosen.option_id.0 == "go" => {}
            RequestPermissionOutcome::Selected(_) => {
                ended(ToolCallStatus::Failed, "not allowed")?;
                return Ok(StopReason::EndTurn);
            }
            _ => return Ok(StopReason::Cancelled),
        }
    }
    if calls || asks {
        ended(ToolCallStatus::Completed, "a.txt b.txt")?;
    }
    if text.contains("write") {
        let path = std::env::current_dir().unwrap_or_default().join("by-sdk.txt");
        let write = WriteTextFileRequest::new(id.clone(), path.clone(), "written\n");
        client.send_request(write).block_task().await?;
        let read = client.send_request(ReadTextFileRequest::new(id.clone(), path)).block_task().await?;
        say(format!("It holds {}", read.content))?;
    }
    if text.contains("run") {
        say(run(client, &id).await?)?;
    }
    if text.contains("wait") {
        stop.notified().await;
        return Ok(StopReason::Cancelled);
    }
    Ok(StopReason::EndTurn)
}

async fn run(
    client: &v1::ConnectionTo<Client>,
    id: &agent_client_protocol::v1::schema::SessionId,
) -> Result<String> {
    let create = CreateTerminalRequest::new(id.clone(), "echo").args(vec!["it's me".to_owned()]);
    let terminal = client.send_request(create).block_task().await?.terminal_id;
    let wait = WaitForTerminalExitRequest::new(id.clone(), terminal.clone());
    let status = client.send_request(wait).block_task().await?.exit_status;
    let output = TerminalOutputRequest::new(id.clone(), terminal.clone());
    let output = client.send_request(output).block_task().await?.output;
    client.send_request(ReleaseTerminalRequest::new(id.clone(), terminal)).block_task().await?;
    Ok(format!("{}: {output}", status.exit_code.unwrap_or(99)))
}
