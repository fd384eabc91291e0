//! The ways in. A door translates a wire into the engine's words and back, and lets in only whom it
//! may; it holds no session state, and foreign words stay inside it.

mod access;
pub mod acp;
mod agents;
mod choices;
pub mod gateway;
pub mod http;
mod ide;
pub mod jsonl;
mod lines;
mod login;
mod places;
mod pool;
mod refusals;
mod serve;
mod token;
mod websocket;

pub use access::Access;
pub use agents::{
    AdoptSession, Adopted, AgentDescription, AgentLink, AgentLinks, AgentProcess, AgentSession, BeginSession,
};
pub use choices::{
    Brought, BroughtRule, BroughtServer, ChangePreview, ContextGauge, ContextKind, ContextSection,
    ModelChoices, ToolServers,
};
pub use login::{Invitation, Logins};
pub use refusals::RefusalPace;
pub use serve::{Listeners, ServeError, serve, serve_tcp};
pub use token::{Token, TokenError};
