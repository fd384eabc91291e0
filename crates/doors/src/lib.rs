//! The ways in. A door translates a wire into the engine's words and back, and lets in only whom it
//! may; it holds no session state, and foreign words stay inside it.

mod access;
mod choices;
pub mod http;
mod serve;
mod token;

pub use access::Access;
pub use choices::{ModelChoices, ToolServers};
pub use serve::{Listeners, ServeError, serve};
pub use token::{Token, TokenError};
