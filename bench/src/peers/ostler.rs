//! Our own daemon, driven in the same way as the peers.

use std::collections::HashMap;

use anyhow::{Context, Result};
use tempfile::TempDir;

use super::BenchPeer;
use super::environment::PeerEnvironment;
use crate::answer::AnswerPlan;
use crate::client::DaemonClient;
use crate::daemon::{DaemonStarter, MeasuredDaemon};
use crate::load::{self, LoadOutcome};

pub(super) struct Ostler {
    daemon: MeasuredDaemon,
    _data: TempDir,
    clients: HashMap<String, DaemonClient>,
}

impl BenchPeer for Ostler {
    async fn start(site: &PeerEnvironment) -> Result<Ostler> {
        let data = tempfile::Builder::new().prefix("data-").tempdir_in(site.home.path())?;
        let daemon = DaemonStarter::new(&site.programs, site.mock, site.home.path())?.start(data.path())?;
        Ok(Ostler { daemon, _data: data, clients: HashMap::new() })
    }

    fn processes(&self) -> Vec<u32> {
        vec![self.daemon.id()]
    }

    async fn open(&mut self, site: &PeerEnvironment, count: usize) -> Result<Vec<String>> {
        let workspace = site.workspace.display().to_string();
        let made = load::clients(&self.daemon.endpoint, &workspace, count).await?;
        let names: Vec<String> = made.iter().map(|client| client.session_id.clone()).collect();
        self.clients.extend(names.iter().cloned().zip(made));
        Ok(names)
    }

    async fn stream(&mut self, sessions: &[String], plan: AnswerPlan) -> Result<LoadOutcome> {
        let taken = sessions.iter().map(|name| self.clients.remove(name).context("a session is not known"));
        let mut clients = taken.collect::<Result<Vec<DaemonClient>>>()?;
        let outcome = load::through_daemon(&mut clients, plan).await?;
        self.clients.extend(clients.into_iter().map(|client| (client.session_id.clone(), client)));
        Ok(outcome)
    }

    async fn stop(self) -> Result<()> {
        self.daemon.stop()
    }
}
