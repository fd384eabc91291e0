//! The gateway's keys: where it listens, where its sessions work, and how much its clients may ask of it.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::{address, loopback};

/// The gateway door.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GatewaySection {
    /// Whether there is one.
    pub enabled: bool,
    /// Where it listens.
    #[serde(with = "address")]
    pub listen: SocketAddr,
    /// The directory that its sessions work in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Bytes of one frame that a client sends.
    pub max_frame_bytes: u32,
    /// Sockets at the same time.
    pub max_sockets: u32,
    /// Sockets that have not shown the token yet.
    pub max_unauthenticated: u32,
    /// How long a socket may take to show it.
    pub auth_timeout_seconds: u32,
    /// How often a silent client is asked whether it is there.
    pub ping_seconds: u32,
}

impl Default for GatewaySection {
    fn default() -> GatewaySection {
        GatewaySection {
            enabled: true,
            listen: loopback(18789),
            workspace: None,
            max_frame_bytes: 1 << 20,
            max_sockets: 16_384,
            max_unauthenticated: 64,
            auth_timeout_seconds: 10,
            ping_seconds: 30,
        }
    }
}

impl GatewaySection {
    /// The numbers that must lie between two others: each key, its value, the least and the most.
    pub(crate) fn ranges(&self) -> [(&'static str, u32, u32, u32); 5] {
        [
            ("gateway.max_frame_bytes", self.max_frame_bytes, 64 << 10, 1 << 20),
            ("gateway.max_sockets", self.max_sockets, 1, 1_000_000),
            ("gateway.max_unauthenticated", self.max_unauthenticated, 1, 10_000),
            ("gateway.auth_timeout_seconds", self.auth_timeout_seconds, 1, 300),
            ("gateway.ping_seconds", self.ping_seconds, 1, 3600),
        ]
    }
}
