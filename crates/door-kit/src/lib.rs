//! What all doors share: who may come in, listeners and connections, lines and WebSockets, and making sessions. A
//! door translates a wire into the engine's words and back; no wire is known here, neither the native nor a foreign one.

#![warn(clippy::wildcard_enum_match_arm)]

mod access;
mod choices;
mod context;
mod directories;
mod error;
mod event_framing;
mod guard;
mod imported;
pub mod lines;
mod listen;
mod login;
mod new_session;
mod places;
mod refusals;
mod request;
mod serve;
mod third_party;
mod token;
mod upgrade;
mod upgraded;
pub mod websocket;

pub use access::{AccessDenied, AccessGrant, AllowedPages, ListenerAccess, TOKEN_PROTOCOL};
pub use choices::{ChangePreview, ContextMeter, ModelChoices, ToolServers};
pub use context::{DoorContext, DoorSettings};
pub use directories::{existing_directory, refuse_own_data};
pub use error::{DoorError, ErrorBody, failure, wrong_method};
pub use event_framing::Framing;
pub use guard::{Admission, GuardedRouter, PublicFiles, Routes, too_many_refusals};
pub use imported::imported_records;
pub use listen::listen_tcp;
pub use login::{LoginLink, Logins};
pub use new_session::{SessionMode, SessionRequest, check_name, make_session};
pub use places::{ConnectionSlot, ConnectionSlots};
pub use refusals::{AuthThrottleLimits, TooManyAuthFailures};
pub use request::{MAX_BODY, is_json, late, read_body, requester, too_large, unreadable};
pub use serve::{Listeners, ServeError, serve, serve_tcp};
pub use third_party::{NATIVE, changed_settings, kept_sessions};
pub use token::{DaemonToken, SecretDigest, TokenError, hex};
pub use upgrade::{SwitchedConnection, switch};
