//! The table of routes: what there is, who answers, and how it is described.

use axum::Json;
use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::routing::{delete, get, patch, post, put};
use ostler_api_types::{
    AddProject, AgentList, AgentSessionList, ApprovalAnswerBody, ApprovalAnswered, ApprovalDiff, Approvals,
    CancelRequest, Canceled, ChangeQueued, ContextView, CreateSession, Created, DirectoryList, FileList,
    ForkSession, FoundFiles, Health, LoginCode, LoginRequest, MessagePage, MessageQueue, MessageWithdrawn,
    ModelList, PlanRequest, ProjectList, ProjectRemoved, ProjectView, SendMessage, Sent, SessionClosed,
    SessionPage, SessionWithContext, SettingsView, Started, StoredFile, ToolList, TrustWorkspace, TurnDiff,
    UndoTurn, Undone, UpdateSession, UsageTable, WorkspaceTrust,
};
use ostler_door_kit::{DoorContext, DoorError};
use ostler_engine::EngineError;
use serde_json::json;

use super::openapi::{Api, Operation};
use super::{
    agents, approvals, artifacts, attachments, branch, context, create_session, directories, events, export,
    import, login, messages, models_and_tools, projects, sessions, settings, trust, turn_diff, undo, usage,
    workspace_files,
};

const OK: StatusCode = StatusCode::OK;
const CREATED: StatusCode = StatusCode::CREATED;
const ACCEPTED: StatusCode = StatusCode::ACCEPTED;

/// Needs no token at all.
pub(super) const HEALTH: &str = "/healthz";
/// Where a page shows its code, before it has anything else to show.
pub(super) const LOGIN: &str = "/v1/login";

/// Every route of this door.
pub(super) fn api() -> Api {
    let api = Api::new()
        .route(&Method::GET, HEALTH, get(health), |g| {
            Operation::new::<Health>(g, "health", "Whether the daemon is there", OK).public()
        })
        .route(&Method::GET, "/openapi.json", get(document), |g| {
            Operation::new::<serde_json::Map<String, serde_json::Value>>(g, "openapi", "This document", OK)
        })
        .route(&Method::GET, "/v1/agents", get(agents::list), |g| {
            Operation::new::<AgentList>(g, "list_agents", "The agents that sessions can have", OK)
        })
        .route(&Method::GET, "/v1/agents/{agent}/sessions", get(agents::sessions), |g| {
            let summary = "The sessions that an agent of others keeps itself";
            Operation::new::<AgentSessionList>(g, "list_agent_sessions", summary, OK)
                .query::<agents::WorkspaceParams>()
        })
        .route(&Method::GET, "/v1/models", get(models_and_tools::models), |g| {
            Operation::new::<ModelList>(g, "list_models", "The models that sessions can have", OK)
                .query::<models_and_tools::ModelParams>()
        })
        .route(&Method::GET, "/v1/trust", get(trust::show), |g| {
            Operation::new::<WorkspaceTrust>(g, "get_trust", "Whether a workspace is trusted", OK)
                .query::<trust::TrustParams>()
        })
        .route(&Method::PUT, "/v1/trust", put(trust::set), |g| {
            Operation::new::<WorkspaceTrust>(g, "set_trust", "Trust a workspace, or no longer", OK)
                .body::<TrustWorkspace>(g)
        })
        .route(&Method::GET, "/v1/tools", get(models_and_tools::tools), |g| {
            Operation::new::<ToolList>(g, "list_tools", "The tools of the native agent", OK)
                .query::<models_and_tools::ToolParams>()
        })
        .route(&Method::GET, "/v1/usage", get(usage::usage), |g| {
            Operation::new::<UsageTable>(g, "usage", "What models were used for, and its cost", OK)
                .query::<usage::UsageParams>()
        });
    let api = project_routes(login_routes(api));
    file_routes(branch_routes(turn_routes(message_routes(session_routes(api)))))
}

fn login_routes(api: Api) -> Api {
    api.route(&Method::POST, LOGIN, post(login::log_in), |g| {
        Operation::empty("log_in", "Trade a one-time code for a cookie").body::<LoginRequest>(g).public()
    })
    .route(&Method::POST, "/v1/login/code", post(login::create_login_code), |g| {
        Operation::new::<LoginCode>(g, "make_login_code", "An address that lets a browser in", CREATED)
    })
    .route(&Method::GET, "/v1/settings", get(settings::show), |g| {
        Operation::new::<SettingsView>(g, "get_settings", "How the daemon is set up", OK)
    })
    .route(&Method::POST, "/v1/logout", post(login::log_out), |_| {
        Operation::empty("log_out", "Make the cookie void")
    })
}

fn project_routes(api: Api) -> Api {
    api.route(&Method::GET, "/v1/projects", get(projects::list), |g| {
        Operation::new::<ProjectList>(g, "list_projects", "The registered workspaces", OK)
    })
    .route(&Method::POST, "/v1/projects", post(projects::add), |g| {
        Operation::new::<ProjectView>(g, "add_project", "Register a workspace", CREATED).body::<AddProject>(g)
    })
    .route(&Method::GET, "/v1/directories", get(directories::list), |g| {
        Operation::new::<DirectoryList>(g, "list_directories", "Where a workspace could be", OK)
            .query::<directories::DirectoryParams>()
    })
    .route(&Method::DELETE, "/v1/projects/{project_id}", delete(projects::remove), |g| {
        Operation::new::<ProjectRemoved>(g, "remove_project", "Take a project off the list", OK)
    })
}

fn session_routes(api: Api) -> Api {
    api.route(&Method::POST, "/v1/sessions", post(create_session::create), |g| {
        Operation::new::<Created>(g, "create_session", "Make a session", CREATED).body::<CreateSession>(g)
    })
    .route(&Method::GET, "/v1/sessions", get(sessions::list), |g| {
        Operation::new::<SessionPage>(g, "list_sessions", "List sessions, newest activity first", OK)
            .query::<sessions::SessionListParams>()
    })
    .route(&Method::GET, "/v1/sessions/{session_id}", get(sessions::show), |g| {
        Operation::new::<SessionWithContext>(g, "get_session", "A session and its latest state", OK)
            .query::<sessions::SessionParams>()
    })
    .route(&Method::PATCH, "/v1/sessions/{session_id}", patch(sessions::update), |g| {
        Operation::new::<SessionWithContext>(
            g,
            "update_session",
            "Change title, archive flag, model, effort, policy or settings of its agent",
            OK,
        )
        .body::<UpdateSession>(g)
    })
    .route(&Method::DELETE, "/v1/sessions/{session_id}", delete(sessions::close), |g| {
        Operation::new::<SessionClosed>(g, "close_session", "Close a session, and remove it if asked to", OK)
            .query::<sessions::CloseParams>()
    })
    .route(&Method::GET, "/v1/sessions/{session_id}/events", get(events::session_events), |_| {
        Operation::stream("session_events", "History, then live")
            .query::<events::SessionEventParams>()
            .header("Last-Event-ID", &last_event_id_schema(), "Go on after this seq; it beats `after`")
    })
    .route(&Method::GET, "/v1/events", get(events::feed_events), |_| {
        Operation::stream("all_events", "What happens in every session").query::<events::FeedParams>().header(
            "Last-Event-ID",
            &last_event_id_schema(),
            "Go on after this cursor; it beats `after`",
        )
    })
}

fn message_routes(api: Api) -> Api {
    api.route(&Method::POST, "/v1/sessions/{session_id}/messages", post(messages::send), |g| {
        Operation::new::<Sent>(g, "send_message", "Add a message and answer it", ACCEPTED)
            .body::<SendMessage>(g)
    })
    .route(&Method::GET, "/v1/sessions/{session_id}/messages", get(messages::list), |g| {
        Operation::new::<MessagePage>(g, "list_messages", "The conversation, from its end backwards", OK)
            .query::<messages::MessagePageParams>()
    })
    .route(&Method::GET, "/v1/sessions/{session_id}/queue", get(messages::queue), |g| {
        Operation::new::<MessageQueue>(g, "list_queue", "The messages that wait for their turn", OK)
    })
    .route(&Method::DELETE, "/v1/sessions/{session_id}/queue/{message_id}", delete(messages::withdraw), |g| {
        Operation::new::<MessageWithdrawn>(g, "withdraw_message", "Take back a waiting message", OK)
    })
    .route(
        &Method::PATCH,
        "/v1/sessions/{session_id}/queue/{message_id}",
        patch(messages::requeue),
        |g| {
            Operation::new::<MessageQueue>(g, "change_queued", "Edit, move or steer a waiting message", OK)
                .body::<ChangeQueued>(g)
        },
    )
}

fn turn_routes(api: Api) -> Api {
    api.route(&Method::POST, "/v1/sessions/{session_id}/run", post(messages::run), |g| {
        Operation::new::<Started>(g, "run", "Start a turn on what is there", ACCEPTED)
    })
    .route(&Method::POST, "/v1/sessions/{session_id}/turns/{turn_id}/retry", post(messages::retry), |g| {
        Operation::new::<Started>(g, "retry_turn", "Repeat a turn that failed or was canceled", ACCEPTED)
    })
    .route(&Method::GET, "/v1/sessions/{session_id}/turns/{turn_id}/diff", get(turn_diff::show), |g| {
        Operation::new::<TurnDiff>(g, "get_turn_diff", "What a turn changed in the workspace", OK)
    })
    .route(&Method::POST, "/v1/sessions/{session_id}/undo", post(undo::undo), |g| {
        Operation::new::<Undone>(g, "undo", "Bring the workspace back to before a turn", OK)
            .body::<UndoTurn>(g)
    })
    .route(&Method::POST, "/v1/sessions/{session_id}/cancel", post(messages::cancel), |g| {
        Operation::new::<Canceled>(g, "cancel", "Stop the running turn", OK).optional_body::<CancelRequest>(g)
    })
    .route(&Method::POST, "/v1/sessions/{session_id}/approve", post(approvals::answer), |g| {
        Operation::new::<ApprovalAnswered>(g, "answer_approval", "Approve or deny a waiting call", OK)
            .body::<ApprovalAnswerBody>(g)
    })
    .route(
        &Method::GET,
        "/v1/sessions/{session_id}/approvals/{tool_call_id}/diff",
        get(approvals::diff),
        |g| {
            let summary = "What a call would change that waits for an answer";
            Operation::new::<ApprovalDiff>(g, "get_approval_diff", summary, OK)
        },
    )
    .route(&Method::GET, "/v1/approvals", get(approvals::list), |g| {
        Operation::new::<Approvals>(g, "list_approvals", "Every call that waits for an answer", OK)
    })
}

fn branch_routes(api: Api) -> Api {
    api.route(&Method::POST, "/v1/sessions/{session_id}/fork", post(branch::fork), |g| {
        Operation::new::<Created>(g, "fork_session", "Go another way from a turn on", CREATED)
            .optional_body::<ForkSession>(g)
    })
    .route(&Method::POST, "/v1/sessions/{session_id}/compact", post(branch::compact), |g| {
        Operation::new::<Started>(g, "compact", "Make the conversation shorter", ACCEPTED)
    })
    .route(&Method::POST, "/v1/sessions/{session_id}/subtasks", post(branch::subtasks), |g| {
        Operation::new::<Started>(g, "run_subtasks", "Divide work among sessions", ACCEPTED)
            .body::<PlanRequest>(g)
    })
    .route(&Method::GET, "/v1/sessions/{session_id}/context", get(context::show), |g| {
        Operation::new::<ContextView>(g, "get_context", "What the model is shown, and its cost", OK)
    })
    .route(&Method::GET, "/v1/sessions/{session_id}/export", get(export::export), |_| {
        Operation::file("export_session", "A session as one file").query::<export::ExportParams>()
    })
    .route(&Method::POST, "/v1/sessions/import", post(import::import), |g| {
        Operation::new::<Created>(g, "import_session", "Make a session of an exported one", CREATED)
            .query::<import::ImportParams>()
            .raw_body(&import::CONTENT_TYPES)
    })
}

fn file_routes(api: Api) -> Api {
    api.route(&Method::GET, "/v1/sessions/{session_id}/files", get(workspace_files::find), |g| {
        Operation::new::<FoundFiles>(g, "find_files", "Files of the workspace, by a few letters", OK)
            .query::<workspace_files::FileParams>()
    })
    .route(&Method::POST, "/v1/sessions/{session_id}/attachments", post(attachments::upload), |g| {
        Operation::new::<StoredFile>(
            g,
            "attach_file",
            "Keep a file, for the parts of messages to refer to",
            CREATED,
        )
        .body::<attachments::AttachmentBody<'_>>(g)
        .or_form()
    })
    .route(&Method::GET, "/v1/sessions/{session_id}/attachments", get(attachments::list), |g| {
        Operation::new::<FileList>(g, "list_attachments", "The files of a session's messages", OK)
    })
    .route(&Method::GET, "/v1/sessions/{session_id}/attachments/{file}", get(attachments::show), |_| {
        Operation::file("get_attachment", "The content of an attachment")
    })
    .route(&Method::GET, "/v1/sessions/{session_id}/artifacts/{turn_id}", get(artifacts::list), |g| {
        Operation::new::<FileList>(g, "list_artifacts", "The files that a turn made", OK)
    })
    .route(
        &Method::GET,
        "/v1/sessions/{session_id}/artifacts/{turn_id}/{file}",
        get(artifacts::show),
        |_| Operation::file("get_artifact", "The content of a file that a turn made"),
    )
}

/// What `id:` was on the last event; empty is the same as absent.
fn last_event_id_schema() -> serde_json::Value {
    json!({"type": "string", "pattern": "^[0-9]{0,15}$"})
}

/// One that stops is there no longer for whoever looks for it.
async fn health(State(context): State<DoorContext>) -> Result<Json<Health>, DoorError> {
    if *context.engine.stopping().borrow() {
        return Err(EngineError::ShuttingDown.into());
    }
    Ok(Json(Health { status: "ok".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() }))
}

async fn document() -> Json<serde_json::Value> {
    Json(super::openapi())
}
