//! The foreign wires: doors for clients of other programs. Each translates its wire into the engine's words and back,
//! holds no session state, and names neither another wire nor the native API.

#![warn(clippy::wildcard_enum_match_arm)]

pub mod acp;
pub mod gateway;
mod ide;
pub mod jsonl;
mod pool;

use ostler_door_kit::{Admission, DoorContext, ListenerAccess, Routes};

use acp::AcpDoor;
use gateway::GatewayDoor;
use jsonl::JsonlDoor;

/// The routes of all foreign wires, for a listener with these rules.
pub fn routes(
    context: &DoorContext,
    acp: &AcpDoor,
    gateway: Option<&GatewayDoor>,
    access: &ListenerAccess,
) -> Routes {
    // Without a gateway as well: then its clients, which cannot show their token yet, hear that there is none rather
    // than that their token is wrong.
    let routes = gateway.map_or_else(Routes::default, |gateway| gateway.routes(access));
    routes
        .admit(gateway::PATH, Admission::FirstFrame)
        .merge(pool::routes(context.clone()))
        .merge(JsonlDoor::new(context.clone()).routes())
        .merge(acp.routes())
        .merge(ide::routes(context.clone()))
}
