//! The protocol's own client, over a pipe: that it understands what it is told.

use std::sync::{Arc, Mutex};

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentBlock, InitializeRequest, ListSessionsRequest, LoadSessionRequest, NewSessionRequest,
    PermissionOptionKind, PromptRequest, RequestPermissionOutcome, RequestPermissionRequest,
    RequestPermissionResponse, SelectedPermissionOutcome, SessionNotification, SessionUpdate, StopReason,
    ToolCallStatus,
};
use agent_client_protocol::{Agent, Client, Lines};
use ostler_door_kit::line_connection::ConnectionEnd;
use ostler_doors::acp::{AcpDoor, AcpOptions};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio_util::sync::CancellationToken;

use crate::daemon::DoorTestDaemon;

fn text(update: &SessionUpdate) -> Option<String> {
    let SessionUpdate::AgentMessageChunk(chunk) = update else { return None };
    let ContentBlock::Text(text) = &chunk.content else { return None };
    Some(text.text.clone())
}

#[tokio::test]
async fn it_prompts_is_asked_and_loads() {
    let daemon = DoorTestDaemon::start().await;
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (reader, writer) = tokio::io::split(far);
    let door = AcpDoor::new(daemon.context.clone());
    let served = tokio::spawn(async move {
        door.serve(AcpOptions::default(), reader, writer, CancellationToken::new()).await
    });
    let (output, input) = tokio::io::split(near);
    let outgoing = futures_util::sink::unfold(input, async |mut input, line: String| {
        input.write_all(format!("{line}\n").as_bytes()).await?;
        Ok::<_, std::io::Error>(input)
    });
    let incoming = futures_util::stream::unfold(BufReader::new(output).lines(), async |mut lines| {
        let line = lines.next_line().await.transpose()?;
        Some((line, lines))
    });
    let heard = Arc::new(Mutex::new(Vec::<SessionUpdate>::new()));
    let (hearing, workspace) = (heard.clone(), daemon.workspace());
    Client
        .v1()
        .on_receive_notification(
            async move |notification: SessionNotification, _| {
                hearing.lock().unwrap().push(notification.update);
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .on_receive_request(
            async move |request: RequestPermissionRequest, responder, _| {
                let option = |option: &&agent_client_protocol::v1::schema::PermissionOption| {
                    option.kind == PermissionOptionKind::AllowOnce
                };
                let id = request.options.iter().find(option).unwrap().option_id.clone();
                let selected = RequestPermissionOutcome::Selected(SelectedPermissionOutcome::new(id));
                responder.respond(RequestPermissionResponse::new(selected))
            },
            agent_client_protocol::on_receive_request!(),
        )
        .connect_with(Lines::new(outgoing, incoming), async |cx: ConnectionTo<Agent>| {
            let told = cx.send_request(InitializeRequest::new(ProtocolVersion::V1)).block_task().await?;
            assert!(told.agent_capabilities.load_session && told.auth_methods.len() == 1);
            let new = cx.send_request(NewSessionRequest::new(&workspace)).block_task().await?;
            for said in ["hello", "ask"] {
                let prompt = PromptRequest::new(new.session_id.clone(), vec![ContentBlock::from(said)]);
                let told = cx.send_request(prompt).block_task().await?;
                assert_eq!(told.stop_reason, StopReason::EndTurn);
            }
            let listed = cx.send_request(ListSessionsRequest::new()).block_task().await?;
            assert_eq!(listed.sessions[0].session_id, new.session_id);
            let before = heard.lock().unwrap().len();
            let load = LoadSessionRequest::new(new.session_id.clone(), &workspace);
            cx.send_request(load).block_task().await?;
            assert!(heard.lock().unwrap().len() > before, "the past is told before the answer");
            Ok(())
        })
        .await
        .unwrap();
    let heard: Vec<SessionUpdate> = heard.lock().unwrap().clone();
    let said: String = heard.iter().filter_map(text).collect();
    assert_eq!(said, "You said: hellodoneYou said: hellodone");
    let is_done = |update: &&SessionUpdate| match update {
        SessionUpdate::ToolCallUpdate(update) => update.fields.status == Some(ToolCallStatus::Completed),
        _ => false,
    };
    assert_eq!(heard.iter().filter(is_done).count(), 2);
    assert!(matches!(served.await.unwrap(), ConnectionEnd::EndOfInput | ConnectionEnd::ClientGone));
}
