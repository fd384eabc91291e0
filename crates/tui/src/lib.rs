//! The terminal client: a client of the HTTP server, at home in a terminal.
//!
//! Its core is pure: a [`TuiModel`] that is changed by [`update`] alone, from keys and from what the daemon says, and drawn
//! by [`view`]. Around it is a thin shell that owns the terminal, the connection and the clock. It holds no session
//! state that could not be fetched again: a session is followed by its cursor, whatever happens to the connection.

// A new event must be looked at wherever one is told from another.
#![warn(clippy::wildcard_enum_match_arm)]

pub mod composer;
mod formatting;
pub mod input;
pub mod model;
pub mod picture;
mod shell;
pub mod stream_line;
pub mod text;
pub mod theme;
pub mod transcript;
mod update;
mod view;

pub use input::{DaemonNews, TuiEffect, TuiInput};
pub use model::TuiModel;
pub use picture::PictureProtocol;
pub use shell::{DaemonConnector, TuiOptions, run};
pub use theme::{ColorDepth, THEME_NAMES};
pub use update::{COMMANDS, update};
pub use view::{ClickTarget, view};
