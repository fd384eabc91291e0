//! Where a connection becomes the protocol of editors: `GET /acp` with `Upgrade: ostler-acp`. Who may come in has
//! been checked before, as everywhere.

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use ostler_door_kit::{AccessGrant, switch_protocol};

use super::{AcpDoor, UPGRADE};

pub(super) async fn upgrade(
    State(door): State<AcpDoor>,
    Extension(pass): Extension<AccessGrant>,
    request: Request,
) -> Response {
    let served = door.clone();
    switch_protocol(
        &door.context,
        request,
        UPGRADE,
        "`ostler acp` does that for you",
        async move |connection| {
            let (reader, writer) = tokio::io::split(connection);
            served.serve_upgraded(reader, writer, pass).await;
        },
    )
}
