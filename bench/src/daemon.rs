//! The daemon under measurement: started as a child of this process, asked over TCP, and gone when
//! its handle is.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::agent;
use crate::http_connection::HttpConnection;
use crate::process::{self, ProcessMemory, ResidentMemory};

/// How long a daemon may take to be there.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How long a daemon does next to nothing when it has settled.
const IDLE_TIME: Duration = Duration::from_millis(200);
/// What the threads are called that serve clients.
const SERVING_THREAD_NAME: &str = "tokio-rt-worker";
/// How long it may take to go when it is asked to.
const STOP_LIMIT: Duration = Duration::from_secs(60);
/// Between two looks whether it is there.
const POLL_INTERVAL: Duration = Duration::from_micros(200);

/// How daemons are started.
pub struct DaemonStarter {
    binary: PathBuf,
    mock: SocketAddr,
    /// Where configuration and output go.
    work: PathBuf,
}

/// A daemon that answers. Dropping it kills it; [`MeasuredDaemon::stop`] asks it to go.
pub struct MeasuredDaemon {
    /// The way in.
    pub endpoint: BenchEndpoint,
    /// How long it took from its start to its first answer.
    pub started_in: Duration,
    child: Child,
}

/// Where a daemon listens, and what it wants to be shown.
#[derive(Clone)]
pub struct BenchEndpoint {
    address: SocketAddr,
    token: String,
}

impl BenchEndpoint {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it wants to be shown.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// A connection of its own.
    pub async fn connect(&self) -> Result<HttpConnection> {
        HttpConnection::open(self.address, Some(&self.token)).await
    }

    /// A connection that has become something else than HTTP.
    pub async fn upgrade(&self, path: &str, protocol: &str) -> Result<tokio::net::TcpStream> {
        let mut stream = tokio::net::TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\nconnection: upgrade\r\nupgrade: {protocol}\r\n\r\n",
            self.address, self.token
        );
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        ensure!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
        Ok(stream)
    }
}

impl DaemonStarter {
    /// Starts this binary, with a model server at `mock`, and keeps its files in `work`.
    pub fn new(binary: &Path, mock: SocketAddr, work: &Path) -> Result<DaemonStarter> {
        ensure!(binary.is_file(), "there is no {}; build it with `cargo build --release`", binary.display());
        Ok(DaemonStarter { binary: binary.to_owned(), mock, work: work.to_owned() })
    }

    /// The program that is started.
    pub fn binary(&self) -> &Path {
        &self.binary
    }

    /// Where the configuration of the daemons lies.
    pub fn config_file(&self) -> PathBuf {
        self.work.join("config.toml")
    }

    /// Writes the configuration for a daemon that somebody else starts.
    pub fn write_config(&self) -> Result<()> {
        Ok(std::fs::write(self.config_file(), self.config(free_address()?))?)
    }

    /// Starts a daemon on a data directory and waits for its first answer.
    pub fn start(&self, data: &Path) -> Result<MeasuredDaemon> {
        self.start_with(data, "")
    }

    /// The same with more lines of configuration.
    pub fn start_with(&self, data: &Path, more: &str) -> Result<MeasuredDaemon> {
        let address = free_address()?;
        let config = self.config_file();
        std::fs::write(&config, self.config(address) + more)?;
        let mut command = Command::new(&self.binary);
        command.args(["serve", "--config"]).arg(&config).arg("--data-dir").arg(data);
        let environment = std::env::vars_os().map(|(name, _)| name);
        for name in environment.filter(|name| name.to_string_lossy().starts_with("OSTLER_")) {
            command.env_remove(name);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(self.errors())?);
        let start = Instant::now();
        let child = command.spawn().with_context(|| format!("cannot start {}", self.binary.display()))?;
        let door = BenchEndpoint { address, token: String::new() };
        let mut daemon = MeasuredDaemon { endpoint: door, started_in: Duration::ZERO, child };
        while !answers(address) {
            if daemon.child.try_wait()?.is_some() || start.elapsed() > START_LIMIT {
                bail!("the daemon did not start: {}", std::fs::read_to_string(self.errors())?);
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        daemon.started_in = start.elapsed();
        daemon.endpoint.token = std::fs::read_to_string(data.join("token"))?.trim().to_owned();
        Ok(daemon)
    }

    fn config(&self, address: SocketAddr) -> String {
        let workspace = self.work.join("workspace").display().to_string();
        let own = std::env::current_exe().unwrap_or_default().display().to_string();
        let command: Vec<String> = std::iter::once(own).chain(agent::arguments()).collect();
        let command = serde_json::json!(command);
        format!(
            "[server]\nlisten = \"{address}\"\n[gateway]\nlisten = \"127.0.0.1:0\"\n\
             workspace = {workspace:?}\n[models]\ndefault = \"mock:bench\"\n\
             [providers.mock]\nkind = \"openai-chat\"\nbase_url = \"http://{}/v1\"\nmodels = [\"bench\"]\n\
             [agents.bench]\ncommand = {command}\n",
            self.mock
        )
    }

    fn errors(&self) -> PathBuf {
        self.work.join("stderr")
    }
}

impl MeasuredDaemon {
    /// Its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Its memory.
    pub fn memory(&self) -> Result<ProcessMemory> {
        process::memory(self.child.id())
    }

    /// Its processor time so far.
    pub fn processor(&self) -> Result<Duration> {
        process::processor_time(self.child.id())
    }

    /// Its memory by what it holds.
    pub fn resident(&self) -> Result<ResidentMemory> {
        process::resident(self.child.id())
    }

    /// How many bytes it has had written to disk so far.
    pub fn written(&self) -> Result<u64> {
        process::written(self.child.id())
    }

    /// What some work costs the threads that serve clients, with what that leaves to do for them: otherwise whoever is
    /// measured next would pay for it. The threads that write records, transcripts and the index do the same
    /// whoever looks on, and would drown the difference between two doors.
    pub async fn cost<T>(&self, work: impl Future<Output = Result<T>>) -> Result<(Duration, T)> {
        self.cost_of_threads(Some(SERVING_THREAD_NAME), work).await
    }

    /// What some work costs all threads, with what it leaves to do. Finer than [`MeasuredDaemon::processor`], which counts in
    /// hundredths of a second, but blind to a thread that ends meanwhile.
    pub async fn whole_cost<T>(&self, work: impl Future<Output = Result<T>>) -> Result<(Duration, T)> {
        self.cost_of_threads(None, work).await
    }

    async fn cost_of_threads<T>(
        &self,
        name: Option<&str>,
        work: impl Future<Output = Result<T>>,
    ) -> Result<(Duration, T)> {
        self.wait_until_idle().await?;
        let before = process::thread_times(self.child.id(), name)?;
        let done = work.await?;
        self.wait_until_idle().await?;
        let after = process::thread_times(self.child.id(), name)?;
        let of_thread =
            |(id, time): (&u32, &Duration)| time.saturating_sub(before.get(id).copied().unwrap_or_default());
        Ok((after.iter().map(of_thread).sum(), done))
    }

    /// Waits until it does next to nothing.
    pub async fn wait_until_idle(&self) -> Result<()> {
        let mut before = self.processor()?;
        loop {
            tokio::time::sleep(IDLE_TIME).await;
            let now = self.processor()?;
            if now - before < IDLE_TIME / 20 {
                return Ok(());
            }
            before = now;
        }
    }

    /// Asks it to go, and waits until it has.
    pub fn stop(mut self) -> Result<()> {
        kill_process(Pid::from_child(&self.child), Signal::TERM)?;
        let start = Instant::now();
        while start.elapsed() < STOP_LIMIT {
            if let Some(status) = self.child.try_wait()? {
                ensure!(status.success(), "the daemon stopped with {status}");
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        bail!("the daemon did not stop")
    }
}

impl Drop for MeasuredDaemon {
    fn drop(&mut self) {
        // It may have gone already, which is as good.
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

/// An address that nobody listens on.
pub fn free_address() -> Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Whether `/healthz` is answered with 200.
fn answers(address: SocketAddr) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(START_LIMIT))?;
        stream.write_all(format!("GET /healthz HTTP/1.1\r\nhost: {address}\r\n\r\n").as_bytes())?;
        let mut answer = [0; 12];
        stream.read_exact(&mut answer)?;
        Ok(&answer == b"HTTP/1.1 200")
    };
    ask().unwrap_or(false)
}
