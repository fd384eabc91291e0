//! What all doors share: who may come in, listeners and connections, lines and WebSockets, and making sessions. A
//! door translates a wire into the engine's words and back; no wire is known here, neither the native nor a foreign one.

#![warn(clippy::wildcard_enum_match_arm)]

mod access;
mod auth_throttle;
mod connection_slots;
mod context;
mod directories;
mod error;
mod event_framing;
mod guard;
mod import;
pub mod line_connection;
mod listen;
mod login;
mod new_session;
mod ports;
mod request;
mod serve;
mod third_party;
mod token;
mod upgrade;
mod upgraded_connections;
pub mod websocket;

pub use access::{AccessDenied, AccessGrant, AllowedPages, ListenerAccess, TOKEN_PROTOCOL};
pub use auth_throttle::{AuthThrottleLimits, TooManyAuthFailures};
pub use connection_slots::{ConnectionSlot, ConnectionSlots};
pub use context::{DoorContext, DoorSettings};
pub use directories::{existing_directory, refuse_own_data};
pub use error::{DoorError, ErrorBody, MissingHint, failure, wrong_method};
pub use event_framing::Framing;
pub use guard::{Admission, GuardedRouter, PublicFiles, Routes, too_many_failures_response};
pub use import::imported_records;
pub use listen::listen_tcp;
pub use login::{LoginLink, Logins};
pub use new_session::{SessionMode, SessionRequest, check_name, create_session};
pub use ports::{ChangePreview, ContextMeter, ModelChoices, ToolServers};
pub use request::{MAX_BODY, body_timed_out, body_too_large, caller, is_json, read_body, unreadable_body};
pub use serve::{Listeners, ServeError, serve, serve_tcp};
pub use third_party::{NATIVE, agent_sessions, changed_settings};
pub use token::{DaemonToken, SecretDigest, TokenError, hex};
pub use upgrade::{SwitchedConnection, switch_protocol};
