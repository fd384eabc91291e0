//! How the editor and the door introduce themselves: what is served here, and how a person gives it a model.

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::schema::{
    AgentCapabilities, AuthMethod, AuthMethodAgent, AuthenticateRequest, AuthenticateResponse, Error,
    Implementation, InitializeRequest, InitializeResponse, McpCapabilities, PromptCapabilities,
    SessionCapabilities, SessionCloseCapabilities, SessionDeleteCapabilities, SessionListCapabilities,
    SessionResumeCapabilities,
};
use ostler_acp::to_plain_line;
use ostler_types::{ModelPolicy, ResolvedBy};
use serde_json::json;

use super::editor_connection::EditorConnection;
use super::errors::{from_refusal, invalid_params};

/// The way to log in that there is: Ostler itself needs none, but its models do.
const LOGIN_METHOD_ID: &str = "provider-key";
/// The code by which the protocol says that a login is missing.
const LOGIN_REQUIRED: i32 = -32000;
/// What to do where no model can be asked.
const LOGIN_HINT: &str = "set a provider's key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY, where the daemon is started, or start \
                   a local server such as Ollama; `ostler models` shows what there is";

impl EditorConnection {
    /// Hears what the editor offers, and says what is served here.
    pub(super) fn initialize(&mut self, request: InitializeRequest) -> InitializeResponse {
        if let Some(client) = &request.client_info {
            let (name, version) = (to_plain_line(&client.name, 100), to_plain_line(&client.version, 100));
            tracing::info!(name, version, "an editor is there");
        }
        self.file_capabilities = request.client_capabilities.fs;
        let prompts = PromptCapabilities::new().image(true).audio(true).embedded_context(true);
        let sessions = SessionCapabilities::new()
            .list(SessionListCapabilities::new())
            .resume(SessionResumeCapabilities::new())
            .close(SessionCloseCapabilities::new())
            .delete(SessionDeleteCapabilities::new());
        let capabilities = AgentCapabilities::new()
            .load_session(true)
            .mcp_capabilities(McpCapabilities::new().http(true))
            .prompt_capabilities(prompts)
            .session_capabilities(sessions);
        let about = Implementation::new("ostler", env!("CARGO_PKG_VERSION")).title("Ostler".to_owned());
        let key = AuthMethodAgent::new(LOGIN_METHOD_ID, "Use a provider's key")
            .description(format!("To have models, {LOGIN_HINT}"));
        // Version 1 is the one that is spoken here, whichever the editor would like.
        InitializeResponse::new(ProtocolVersion::V1)
            .agent_capabilities(capabilities)
            .auth_methods(vec![AuthMethod::Agent(key)])
            .agent_info(about)
    }

    /// Says whether there is a model that can be asked, and what to do where there is none but the demonstration.
    pub(super) async fn authenticate(
        &self,
        request: AuthenticateRequest,
    ) -> Result<AuthenticateResponse, Error> {
        if &*request.method_id.0 != LOGIN_METHOD_ID {
            return Err(invalid_params(format!("there is one way to log in, `{LOGIN_METHOD_ID}`")));
        }
        if self.options.model.is_some() {
            return Ok(AuthenticateResponse::default());
        }
        let chosen =
            self.context.settings.models.choose(&ModelPolicy::default()).await.map_err(from_refusal)?;
        match chosen.reason {
            ResolvedBy::Demo => {
                Err(Error::new(LOGIN_REQUIRED, chosen.detail).data(json!({"hint": LOGIN_HINT})))
            }
            ResolvedBy::Configured
            | ResolvedBy::Policy
            | ResolvedBy::KeyFound
            | ResolvedBy::LocalServer
            | ResolvedBy::Failover => Ok(AuthenticateResponse::default()),
        }
    }
}
