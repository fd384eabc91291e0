//! How many connections a thousand answers at once take, where the server speaks HTTP/2.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::BenchSetup;
use crate::number::BenchNumber;
use crate::report::FigureRow;
use crate::samples::seconds;
use crate::tls_server::{STREAMS_EACH, TlsServer};

/// How long the answers may take; one that waits for another waits for ever.
const LIMIT: Duration = Duration::from_secs(60);

pub(super) async fn measure(bench: &BenchSetup) -> Result<Vec<FigureRow>> {
    let streams = bench.count(1000, 20);
    let certificate = bench.work.path().join("certificate.pem");
    let server = TlsServer::start(streams, &certificate).await?;
    let start = Instant::now();
    let mut client = tokio::process::Command::new(std::env::current_exe()?);
    client.args(["ask", &server.base_url(), &streams.to_string()]).stdin(Stdio::null()).kill_on_drop(true);
    client.env("SSL_CERT_FILE", &certificate).env_remove("SSL_CERT_DIR").env("NO_PROXY", "localhost");
    let done = tokio::time::timeout(LIMIT, client.status()).await;
    let status = done.with_context(|| format!("not all of {streams} answers began within {LIMIT:?}"))??;
    ensure!(status.success(), "the client failed");
    let (connections, took) = (server.connections(), start.elapsed());
    // The client leaves a little of each connection free, which takes it a few more than the least.
    let enough = streams.div_ceil(STREAMS_EACH as usize) + 2;
    let figure =
        format!("connections for {streams} answers at once from a server with HTTP/2, 100 streams on each");
    let measured = format!("{connections}, in {}", seconds(took));
    Ok(vec![
        FigureRow::new(figure, format!("≤ {enough}"), measured, connections <= enough)
            .number(BenchNumber::count("opened", connections)),
    ])
}
