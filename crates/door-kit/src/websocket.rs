//! WebSockets: how one begins, its frames, and its bytes in both directions. What the messages mean is for the doors
//! that speak through one.

pub mod connection;
pub mod framing;
pub mod handshake;
mod outgoing_frames;

pub use connection::{WebSocketConnection, WebSocketEvent};
pub use framing::{WebSocketIncoming, WebSocketMessage, WebSocketViolation};
pub use outgoing_frames::OutgoingFrames;
