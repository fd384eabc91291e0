//! WebSockets: how one begins, its frames, and its bytes in both directions. What the messages mean is for the doors
//! that speak through one.

pub(crate) mod connection;
pub(crate) mod framing;
pub(crate) mod handshake;
mod outgoing;

pub(crate) use connection::{Connection, Happened};
pub(crate) use framing::Incoming;
pub(crate) use outgoing::Outgoing;
