//! Making a session: what a client may say of a new one. What it gets where it says nothing is the same at all doors.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ostler_api_types::{CreateMode, CreateSession, Created};
use ostler_door_kit::{DoorContext, DoorError, SessionMode, SessionRequest, create_session};
use ostler_types::Refusal;

use super::extract::JsonBody;
use super::policy::apply_changes;

pub(super) async fn create(
    State(context): State<DoorContext>,
    JsonBody(mut body): JsonBody<CreateSession>,
) -> Result<(StatusCode, Json<Created>), DoorError> {
    if body.spec_path.as_deref().is_some_and(|path| !path.is_empty()) {
        let message = "there are no sessions that follow a specification file";
        return Err(Refusal::invalid("unsupported", message).hint("leave `spec_path` out").into());
    }
    let policy = apply_changes(context.settings.policy.clone(), body.policy.take().unwrap_or_default())?;
    let session = create_session(&context, to_session_request(body), policy).await?;
    Ok((StatusCode::CREATED, Json(Created { session_id: session.id })))
}

fn to_session_request(body: CreateSession) -> SessionRequest {
    SessionRequest {
        workspace_path: body.workspace_path,
        system_prompt: body.system_prompt,
        auto_run: body.auto_run,
        agent: body.agent,
        model: body.model,
        fallback_models: body.fallback_models,
        effort: body.effort,
        raw_log: body.raw_log,
        verbose_log: body.verbose_log,
        log_dir: body.log_dir,
        title: body.title,
        name: body.name,
        parent_session_id: body.parent_session_id,
        budget: body.budget,
        mode: match body.mode {
            Some(CreateMode::Repl) => SessionMode::Repl,
            Some(CreateMode::Serve) | None => SessionMode::Serve,
            Some(CreateMode::Agent) => SessionMode::Agent,
        },
        idempotency_key: body.idempotency_key,
        agent_settings: body.agent_settings.unwrap_or_default(),
        adopt: body.adopt,
    }
}
