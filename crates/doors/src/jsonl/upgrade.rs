//! Where a connection becomes lines of JSON: `GET /jsonl` with `Upgrade: ostler-jsonl`. Who may come in has been
//! checked before, as everywhere.

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;
use ostler_door_kit::{AccessGrant, switch_protocol};

use super::{JsonlDoor, UPGRADE};

pub(super) async fn upgrade(
    State(door): State<JsonlDoor>,
    Extension(pass): Extension<AccessGrant>,
    request: Request,
) -> Response {
    let served = door.clone();
    switch_protocol(
        &door.context,
        request,
        UPGRADE,
        "`ostler rpc` does that for you",
        async move |connection| {
            let (reader, writer) = tokio::io::split(connection);
            served.serve_upgraded(reader, writer, pass).await;
        },
    )
}
