//! Where a connection becomes the protocol of editors: `GET /acp` with `Upgrade: ostler-acp`. Who may come in has
//! been checked before, as everywhere; what the lines mean is `acp`'s.

use axum::Extension;
use axum::extract::{Request, State};
use axum::response::Response;

use super::HttpDoor;
use super::jsonl::switch;
use crate::access::Pass;
use crate::acp::{AcpDoor, UPGRADE};

pub(super) async fn upgrade(
    State(door): State<HttpDoor>,
    Extension(pass): Extension<Pass>,
    request: Request,
) -> Response {
    let served = AcpDoor::new(door.clone());
    switch(&door, request, UPGRADE, "`ostler acp` does that for you", async move |connection| {
        let (reader, writer) = tokio::io::split(connection);
        served.serve_upgraded(reader, writer, pass).await;
    })
}
