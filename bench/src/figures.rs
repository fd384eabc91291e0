//! The figures, each in a file of its own, and what they share: the mock, the daemons that they
//! start, and a place for files.

mod acp;
mod all_events;
mod apply_patch;
mod binary;
mod checkpoint;
mod connections;
mod decode;
mod disk;
mod gateway;
mod idle;
mod jsonl;
mod latency;
mod list;
mod log_size;
mod open;
mod pool;
mod repo_map;
mod request;
mod sandbox;
mod search;
mod start;
mod streams;
mod tool_turn;
mod tui;
mod turn;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::daemon::{DaemonStarter, MeasuredDaemon};
use crate::fixture::DataFixture;
use crate::mock::MockModelServer;
use crate::report::FigureRow;
use crate::tree::SourceTree;

/// The names of the figures, in the order of the table.
pub const FIGURES: [&str; 35] = [
    "disk",
    "binary",
    "start",
    "idle",
    "sleeping",
    "fifty",
    "two_hundred",
    "thousand",
    "all_events",
    "latency",
    "first",
    "first_new",
    "turn",
    "delta",
    "tool_turn",
    "jsonl",
    "gateway",
    "acp",
    "fan_out",
    "pool",
    "request",
    "decode",
    "connections",
    "list",
    "open",
    "size",
    "search",
    "repo_map",
    "sandbox",
    "checkpoint",
    "apply_patch",
    "tui_start",
    "tui_stream",
    "tui_key",
    "tui_memory",
];

/// Figures of code that is part of the bench itself. A run with the binary of another revision says nothing of them.
pub const WITHOUT_DAEMON: [&str; 9] = [
    "disk",
    "request",
    "decode",
    "connections",
    "search",
    "repo_map",
    "sandbox",
    "checkpoint",
    "apply_patch",
];

/// What figures are measured with. Its files are removed with it, fixtures that are to be kept excepted.
pub struct BenchSetup {
    mock: MockModelServer,
    starter: DaemonStarter,
    work: TempDir,
    fixtures: PathBuf,
    quick: bool,
}

impl BenchSetup {
    /// Measures this binary, with files below `place`; fixtures are kept if a place is given for them.
    /// A quick one has small counts: it shows that everything works, and its figures mean nothing.
    pub fn new(binary: &Path, place: &Path, fixtures: Option<PathBuf>, quick: bool) -> Result<BenchSetup> {
        let context = || format!("cannot make a directory in {}", place.display());
        let place = place.canonicalize().with_context(context)?;
        let work = tempfile::Builder::new().prefix("bench-").tempdir_in(&place).with_context(context)?;
        let fixtures = fixtures.unwrap_or_else(|| work.path().join("fixtures"));
        std::fs::create_dir(work.path().join("workspace"))?;
        let mock = MockModelServer::start()?;
        let starter = DaemonStarter::new(binary, mock.address, work.path())?;
        Ok(BenchSetup { mock, starter, work, fixtures, quick })
    }

    /// Measures one figure, which may have several rows. Their numbers are named after it.
    pub async fn measure(&self, figure: &str) -> Result<Vec<FigureRow>> {
        let mut rows = self.rows(figure).await?;
        for number in rows.iter_mut().flat_map(|row| &mut row.numbers) {
            number.name = format!("{figure}.{}", number.name);
        }
        Ok(rows)
    }

    async fn rows(&self, figure: &str) -> Result<Vec<FigureRow>> {
        match figure {
            "disk" => disk::measure(self),
            "binary" => binary::size(self),
            "start" => start::measure(self).await,
            "idle" => idle::empty(self),
            "sleeping" => idle::sleeping(self).await,
            "fifty" => streams::fifty(self).await,
            "two_hundred" => streams::two_hundred(self).await,
            "thousand" => streams::thousand(self).await,
            "all_events" => all_events::measure(self).await,
            "latency" => latency::deltas(self).await,
            "first" => latency::first_delta(self).await,
            "first_new" => latency::first_of_session(self).await,
            "turn" => turn::short(self).await,
            "delta" => turn::delta(self).await,
            "tool_turn" => tool_turn::measure(self).await,
            "jsonl" => jsonl::measure(self).await,
            "gateway" => gateway::deltas(self).await,
            "acp" => acp::updates(self).await,
            "fan_out" => gateway::fan_out(self).await,
            "pool" => pool::measure(self).await,
            "request" => request::measure(self),
            "decode" => decode::measure(self).await,
            "connections" => connections::measure(self).await,
            "list" => list::measure(self).await,
            "open" => open::measure(self).await,
            "size" => log_size::measure(self).await,
            "search" => search::measure(self).await,
            "repo_map" => repo_map::measure(self).await,
            "sandbox" => sandbox::measure(self).await,
            "checkpoint" => checkpoint::measure(self),
            "apply_patch" => apply_patch::measure(self).await,
            "tui_start" => tui::start(self),
            "tui_stream" => tui::stream(self).await,
            "tui_key" => tui::key(self).await,
            "tui_memory" => tui::held(self).await,
            _ => bail!("there is no figure `{figure}`; there are {}", FIGURES.join(", ")),
        }
    }

    /// One count for a real run, another for a quick one.
    pub fn count<T>(&self, real: T, quick: T) -> T {
        if self.quick { quick } else { real }
    }

    /// Where files may be made that go with the bench.
    pub fn directory(&self) -> &Path {
        self.work.path()
    }

    /// The daemon's program.
    pub fn binary(&self) -> &Path {
        self.starter.binary()
    }

    /// Where the model server listens.
    pub fn mock_address(&self) -> SocketAddr {
        self.mock.address
    }

    /// Starts a daemon on a new, empty data directory.
    fn start_empty(&self) -> Result<(MeasuredDaemon, TempDir)> {
        let data = tempfile::Builder::new().prefix("data-").tempdir_in(self.work.path())?;
        Ok((self.starter.start(data.path())?, data))
    }

    /// The directory that sessions work in.
    fn workspace(&self) -> String {
        self.work.path().join("workspace").display().to_string()
    }

    async fn fixture(&self, sessions: usize, long: u64) -> Result<DataFixture> {
        DataFixture::make(&self.fixtures, sessions, long).await
    }

    /// The data directory with the most sessions and the longest one.
    async fn largest(&self) -> Result<DataFixture> {
        self.fixture(self.count(100_000, 300), self.count(1_000_000, 20_000)).await
    }

    /// A tree of so many source files of so many bytes; of few, in a quick run.
    fn tree(&self, files: usize, file_bytes: usize) -> Result<SourceTree> {
        SourceTree::make(&self.fixtures, self.count(files, 300), file_bytes)
    }
}
