//! A daemon inside another program: it is started with an agent of this program's own, asked a question over its HTTP
//! API, and stopped. `cargo run -p ostler-examples -- "good morning"` prints `GOOD MORNING`.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::Context;
use ostler_agent::Agent;
use ostler_api_types::{CreateSession, SendMessage};
use ostler_client::{Client, DaemonEndpoint};
use ostler_config::{Auth, Config, Environment};
use ostler_daemon::{Daemon, DaemonConfig, socket_path};
use upper_case_agent::UpperCaseAgent;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let prompt = std::env::args().nth(1).context("what is the prompt?")?;
    let place = tempfile::tempdir()?;
    let (data_dir, workspace) = (place.path().join("data"), place.path().join("workspace"));
    std::fs::create_dir(&workspace)?;

    let mut config = Config::default();
    // Only the user of this process can reach the socket in the data directory.
    config.server.auth = Auth::Off;
    let agent: Arc<dyn Agent> = Arc::new(UpperCaseAgent);
    let daemon = Daemon::start(DaemonConfig {
        agents: BTreeMap::from([("upper-case".to_owned(), agent)]),
        ..DaemonConfig::new(data_dir.clone(), config, Environment::default())
    })
    .await?;

    let client = Client::connect(DaemonEndpoint::Unix(socket_path(&data_dir)), None).await?;
    let session = CreateSession {
        workspace_path: workspace.canonicalize()?.display().to_string(),
        agent: Some("upper-case".to_owned()),
        ..CreateSession::default()
    };
    let session = client.create_session(&session).await?;
    client.send_message(session, &SendMessage::prompt(prompt)).await?;
    daemon.wait_until_idle().await;
    let page = client.messages(session, None, None).await?;
    let answer = page.messages.last().context("the session has no message")?;
    println!("{}", answer.text());
    daemon.stop().await;
    Ok(())
}
