//! A daemon in this process: an engine over files, a scripted agent, and the http door on loopback and
//! on a Unix socket. Every answer that goes through it is checked for what all answers must have.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};
use ostler_agent::Agent;
use ostler_documents::FileDocuments;
use ostler_door_kit::{
    AuthThrottleLimits, ChangePreview, ContextMeter, DaemonToken, DoorContext, DoorSettings, ListenerAccess,
    Listeners, Logins, ModelChoices, ToolServers, serve, serve_tcp,
};
use ostler_doors::acp::AcpDoor;
use ostler_doors::gateway::{GatewayDoor, GatewayLimits, GatewaySettings};
use ostler_engine::{Engine, EngineConfig, SystemClock};
use ostler_eventlog::{Disk, FileLog, OpenError, RealDisk};
use ostler_http_api::HttpDoor;
use ostler_index::SqliteIndex;
use ostler_local_runner::LocalRunner;
use ostler_types::{
    Ability, Brought, Clock, ContextKind, ContextSection, FileChange, Message, ModelInfo, ModelPolicy,
    Policy, Refusal, Resolution, ResolvedBy, Role, Secrets, Session, ToolKind, ToolSpec,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::message_driven_agent::MessageDrivenAgent;
use crate::raw_http::{RawConnection, RawRequest, RawResponse, RawResponseHead};
use crate::stream::SseTestStream;

pub(crate) struct DoorTestDaemon {
    pub(crate) address: SocketAddr,
    pub(crate) engine: Engine,
    pub(crate) context: DoorContext,
    /// Lets a turn go on that waits.
    pub(crate) gate: Arc<Semaphore>,
    pub(crate) gateway: GatewayDoor,
    /// Where the gateway has its own port.
    pub(crate) gateway_address: SocketAddr,
    stop: CancellationToken,
    served: JoinHandle<()>,
    gateway_served: JoinHandle<()>,
    dir: TempDir,
    logins: Arc<Logins>,
}

/// What a daemon is made of, where it matters.
pub(crate) struct DoorTestOptions {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) idle_after: Duration,
    pub(crate) clock: Arc<dyn Clock>,
    /// Runs turns in place of the agent that does what the message says.
    pub(crate) agent: Option<Arc<dyn Agent>>,
    pub(crate) limits: GatewayLimits,
    /// Agents besides the native one, which do the same.
    pub(crate) more_agents: Vec<&'static str>,
    /// How fast wrong tokens are answered. At once unless it matters: many tests show many.
    pub(crate) throttle: AuthThrottleLimits,
    /// Whether a token is asked for.
    pub(crate) auth: bool,
    /// What an earlier daemon left behind.
    pub(crate) dir: Option<TempDir>,
}

impl Default for DoorTestOptions {
    fn default() -> DoorTestOptions {
        DoorTestOptions {
            disk: Arc::new(RealDisk),
            idle_after: Duration::from_secs(600),
            clock: Arc::new(SystemClock),
            agent: None,
            limits: GatewayLimits::default(),
            more_agents: Vec::new(),
            throttle: AuthThrottleLimits { burst: 10_000, ..AuthThrottleLimits::default() },
            auth: true,
            dir: None,
        }
    }
}

impl DoorTestDaemon {
    pub(crate) async fn start() -> DoorTestDaemon {
        DoorTestDaemon::start_with(Duration::from_secs(600)).await
    }

    /// One in which sessions go to sleep when they have been idle for so long.
    pub(crate) async fn start_with(idle_after: Duration) -> DoorTestDaemon {
        DoorTestDaemon::start_on(Arc::new(RealDisk), idle_after).await
    }

    /// One whose log is on this disk.
    pub(crate) async fn start_on(disk: Arc<dyn Disk>, idle_after: Duration) -> DoorTestDaemon {
        DoorTestDaemon::start_at(disk, idle_after, Arc::new(SystemClock)).await
    }

    /// One with this clock.
    pub(crate) async fn start_at(
        disk: Arc<dyn Disk>,
        idle_after: Duration,
        clock: Arc<dyn Clock>,
    ) -> DoorTestDaemon {
        DoorTestDaemon::start_as(DoorTestOptions { disk, idle_after, clock, ..DoorTestOptions::default() })
            .await
    }

    pub(crate) async fn start_as(options: DoorTestOptions) -> DoorTestDaemon {
        let DoorTestOptions { disk, idle_after, clock, agent, limits, more_agents, throttle, auth, dir } =
            options;
        let dir = dir.unwrap_or_else(|| tempfile::tempdir().unwrap());
        std::fs::create_dir_all(dir.path().join("workspace")).unwrap();
        let data = dir.path().join("data");
        let log = Arc::new(open_log(&data, disk).await);
        let (index, index_opened) = SqliteIndex::open(&data.join("index.db")).unwrap();
        let token = Arc::new(DaemonToken::open(&data.join("token")).unwrap().with_throttle(throttle));
        let gate = Arc::new(Semaphore::new(0));
        let agent: Arc<dyn Agent> =
            agent.unwrap_or_else(|| Arc::new(MessageDrivenAgent { gate: gate.clone() }));
        let named = |name: &str| (name.to_owned(), Arc::clone(&agent));
        let agents: HashMap<_, _> = more_agents.into_iter().chain(["native"]).map(named).collect();
        let engine = Engine::start(EngineConfig {
            log,
            index: Arc::new(index),
            index_opened,
            documents: Arc::new(FileDocuments::new(&data)),
            data_dir: data.clone(),
            agents,
            clock: clock.clone(),
            runner: Arc::new(LocalRunner::new(data.clone())),
            rules: Vec::new(),
            secrets: Secrets::default(),
            idle_after,
            turns_disabled: false,
        })
        .await;
        let gateway = GatewayDoor::new(engine.clone(), gateway_settings(&dir), limits);
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listeners = Listeners::bind(Some(any_port), &data.join("ostler.sock")).unwrap();
        let address = listeners.address().unwrap();
        let documents = Arc::new(FileDocuments::new(&data));
        let logins = Logins::open(documents, token.clone(), clock, Some(address)).await;
        let (logins, asked) = (Arc::new(logins), auth.then_some(token));
        let context = DoorContext::new(engine.clone(), settings(&dir));
        let http = HttpDoor::new(context.clone()).with_page(crate::page::file, logins.clone());
        let acp = AcpDoor::new(context.clone());
        let router = |access: ListenerAccess| {
            let access = access.with_logins(logins.clone());
            let foreign = ostler_doors::routes(&context, &acp, Some(&gateway), &access);
            http.routes().merge(foreign).guarded(access)
        };
        let tcp = router(ListenerAccess::tcp(address, asked.clone()));
        let unix = router(ListenerAccess::unix(asked.clone()));
        let stop = CancellationToken::new();
        let served = tokio::spawn(serve(listeners, tcp, unix, stop.clone()));
        let listener = tokio::net::TcpListener::bind(any_port).await.unwrap();
        let gateway_address = listener.local_addr().unwrap();
        let router = gateway.router(ListenerAccess::tcp(gateway_address, asked));
        let gateway_served = tokio::spawn(serve_tcp(listener, router, stop.clone()));
        DoorTestDaemon {
            address,
            engine,
            context,
            gate,
            gateway,
            gateway_address,
            stop,
            served,
            gateway_served,
            dir,
            logins,
        }
    }

    /// Stops as the real one does.
    pub(crate) async fn stop(self) -> TempDir {
        self.engine.stop().await;
        self.gateway.close().await;
        self.context.close_upgraded().await;
        self.stop.cancel();
        self.served.await.unwrap();
        self.gateway_served.await.unwrap();
        self.dir
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// A code that lets one browser in.
    pub(crate) fn code(&self) -> String {
        let invitation = self.logins.create_login_link().unwrap().unwrap();
        let start = format!("http://{}/#code=", self.address);
        invitation.address.strip_prefix(&start).unwrap().to_owned()
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.data().join("ostler.sock")
    }

    pub(crate) fn workspace(&self) -> String {
        self.dir.path().join("workspace").display().to_string()
    }

    pub(crate) fn token(&self) -> String {
        std::fs::read_to_string(self.data().join("token")).unwrap().trim().to_owned()
    }

    /// A request with all that it takes to be let in.
    pub(crate) fn request(&self, method: &str, target: &str) -> RawRequest {
        RawRequest::new(method, target)
            .add("host", &self.address.to_string())
            .add("authorization", &format!("Bearer {}", self.token()))
    }

    pub(crate) async fn connect(&self) -> RawConnection {
        RawConnection::tcp(self.address).await
    }

    /// Sends a request on a connection of its own.
    pub(crate) async fn send(&self, request: &RawRequest) -> RawResponse {
        let request = request.clone().set("connection", "close");
        let answer = self.connect().await.exchange(&request.bytes()).await;
        check_answer(&answer);
        answer
    }

    pub(crate) async fn get(&self, target: &str) -> RawResponse {
        self.send(&self.request("GET", target)).await
    }

    pub(crate) async fn post(&self, target: &str, body: &Value) -> RawResponse {
        self.send(&self.request("POST", target).json(body)).await
    }

    pub(crate) async fn delete(&self, target: &str) -> RawResponse {
        self.send(&self.request("DELETE", target)).await
    }

    /// A session in the workspace.
    pub(crate) async fn session(&self) -> String {
        let body = json!({"workspace_path": self.workspace(), "model": "test:one"});
        let answer = self.post("/v1/sessions", &body).await;
        assert_eq!(answer.status(), 201, "{}", answer.text());
        answer.json()["session_id"].as_str().unwrap().to_owned()
    }

    /// Says something, and returns the ids of the message and the turn.
    pub(crate) async fn say(&self, session: &str, text: &str) -> (String, String) {
        let answer = self.post(&format!("/v1/sessions/{session}/messages"), &message_body(text)).await;
        assert_eq!(answer.status(), 202, "{}", answer.text());
        let answer = answer.json();
        let id = |name: &str| answer[name].as_str().unwrap().to_owned();
        (id("message_id"), id("turn_id"))
    }

    /// The data of the first event of this name, once there is one.
    pub(crate) async fn until(&self, session: &str, name: &str) -> Value {
        let mut stream = self.follow(&format!("/v1/sessions/{session}/events?types={name}")).await;
        stream.until(name).await
    }

    /// Waits for the end of a turn.
    pub(crate) async fn until_over(&self, session: &str, turn: &str) {
        let types = "turn_completed,turn_failed,turn_canceled";
        let mut stream = self.follow(&format!("/v1/sessions/{session}/events?types={types}")).await;
        while !stream.frame().await.unwrap().contains(&format!("\"turn_id\":\"{turn}\"")) {}
    }

    /// An event stream, as SSE.
    pub(crate) async fn follow(&self, target: &str) -> SseTestStream {
        SseTestStream::open(self.connect().await, &self.request("GET", target)).await
    }

    /// The records of a session's log, as they are on disk. A space after one says that it was appended
    /// together with the next, and is not part of it.
    pub(crate) fn log(&self, session: &str) -> Vec<String> {
        let path = self.data().join("sessions").join(session).join("events.ndjson");
        std::fs::read_to_string(path).unwrap().lines().map(|line| line.trim_end().to_owned()).collect()
    }

    /// All that is recorded: each session's folder and its log.
    pub(crate) fn recorded(&self) -> BTreeMap<String, Vec<u8>> {
        let folders = std::fs::read_dir(self.data().join("sessions")).unwrap();
        let folder = |folder: std::fs::DirEntry| {
            let log = std::fs::read(folder.path().join("events.ndjson")).unwrap_or_default();
            (folder.file_name().into_string().unwrap(), log)
        };
        folders.map(|entry| folder(entry.unwrap())).collect()
    }
}

/// The body of a message.
pub(crate) fn message_body(text: &str) -> Value {
    json!({"role": "user", "parts": [{"type": "text", "text": text}]})
}

/// What every answer has, whoever gave it.
pub(crate) fn check_answer(answer: &RawResponse) {
    check_headers(&answer.head);
    if answer.status() >= 400 && !answer.body.is_empty() {
        assert_eq!(answer.head.header("content-type"), Some("application/json"));
        let error = &answer.json()["error"];
        assert!(error["code"].as_str().is_some_and(|code| !code.is_empty()), "{}", answer.text());
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{}", answer.text());
    }
    assert!(answer.status() < 500, "{}", answer.text());
}

pub(crate) fn check_headers(head: &RawResponseHead) {
    // A file is kept by its reader, and has no business with anything around it.
    let (kept, policy) = match head.header("content-disposition") {
        Some(_) => ("private", "sandbox; default-src 'none'; frame-ancestors 'none'"),
        None => ("no-store", "default-src 'none'; frame-ancestors 'none'"),
    };
    for (name, value) in [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("x-frame-options", "DENY"),
        ("cache-control", kept),
        ("content-security-policy", policy),
        ("cross-origin-resource-policy", "same-origin"),
    ] {
        assert_eq!(head.header(name), Some(value), "{head:?}");
    }
    assert!(!head.names().any(|name| name.starts_with("access-control-")), "{head:?}");
    assert_eq!(head.header("www-authenticate").is_some(), head.status == 401, "{head:?}");
}

pub(crate) fn exists(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok()
}

fn settings(dir: &TempDir) -> DoorSettings {
    DoorSettings {
        policy: Policy::default(),
        fallback_models: Vec::new(),
        raw_log: false,
        verbose_log: false,
        workspace: dir.path().join("workspace"),
        context_meter: Arc::new(ByteContextMeter),
        previews: Arc::new(NoPreviews),
        models: Arc::new(TwoModels),
        tools: Vec::new(),
        servers: Arc::new(NoServers),
    }
}

fn gateway_settings(dir: &TempDir) -> GatewaySettings {
    GatewaySettings {
        workspace: dir.path().join("workspace"),
        policy: Policy::default(),
        fallback_models: Vec::new(),
        raw_log: false,
        verbose_log: false,
        models: Arc::new(TwoModels),
    }
}

/// Can tell of no call what it would change.
struct NoPreviews;

impl ChangePreview for NoPreviews {
    fn preview<'a>(
        &'a self,
        _session: &'a Session,
        _tool: &'a str,
        _input: &'a Value,
    ) -> BoxFuture<'a, Option<Vec<FileChange>>> {
        std::future::ready(None).boxed()
    }
}

/// Takes a byte for a token, and each message for a piece.
struct ByteContextMeter;

impl ContextMeter for ByteContextMeter {
    fn measure(&self, session: &Session, messages: &[Arc<Message>]) -> Vec<ContextSection> {
        let section = |kind, name: &str, messages, tokens: usize| ContextSection {
            kind,
            name: name.to_owned(),
            messages,
            tokens: tokens as u64,
        };
        let prompt =
            session.system_prompt.as_ref().map(|it| section(ContextKind::SystemPrompt, "own", 0, it.len()));
        let message = |message: &Arc<Message>| {
            let kind = match message.role {
                Role::System => ContextKind::System,
                Role::User => ContextKind::User,
                Role::Assistant => ContextKind::Assistant,
                Role::Tool => ContextKind::ToolResults,
            };
            section(kind, message.role.as_str(), 1, message.text().len())
        };
        prompt.into_iter().chain(messages.iter().map(message)).collect()
    }
}

/// The log of a data directory. What is left of a daemon that had it may hold it for a moment longer.
async fn open_log(data: &Path, disk: Arc<dyn Disk>) -> FileLog {
    for _ in 0..1_000 {
        match FileLog::open(data, disk.clone()) {
            Err(OpenError::Locked { .. }) => tokio::time::sleep(Duration::from_millis(10)).await,
            opened => return opened.unwrap(),
        }
    }
    panic!("another daemon has the data directory");
}

struct NoServers;

impl ToolServers for NoServers {
    fn tools(&self, _workspace: PathBuf, _trusted: bool) -> BoxFuture<'_, Vec<(ToolSpec, ToolKind)>> {
        ready(Vec::new()).boxed()
    }

    fn workspace_config(&self, _workspace: PathBuf, _trusted: bool) -> BoxFuture<'_, Brought> {
        ready(Brought::default()).boxed()
    }

    fn trust_changed(&self, _workspace: PathBuf, _trusted: bool) -> BoxFuture<'_, Result<(), Refusal>> {
        ready(Ok(())).boxed()
    }

    fn status(&self) -> Vec<Value> {
        Vec::new()
    }
}

/// Two models, of which the second can see.
struct TwoModels;

impl ModelChoices for TwoModels {
    fn list(&self, _refresh: bool) -> BoxFuture<'_, Vec<ModelInfo>> {
        let two = ModelInfo { abilities: Some(vec![Ability::Vision]), ..ModelInfo::unknown("test:two") };
        ready(vec![ModelInfo::unknown("test:one"), two]).boxed()
    }

    fn choose<'a>(&'a self, policy: &'a ModelPolicy) -> BoxFuture<'a, Result<Resolution, Refusal>> {
        let sees = policy.require.contains(&Ability::Vision) || policy.prefer == ["test:two"];
        let resolution = Resolution {
            model: if sees { "test:two" } else { "test:one" }.to_owned(),
            reason: if sees { ResolvedBy::Policy } else { ResolvedBy::Configured },
            detail: "the test says so".to_owned(),
            instead_of: None,
            error: None,
        };
        let none = Refusal::invalid("no_model", "no model can do that");
        ready(if policy.require.contains(&Ability::Files) { Err(none) } else { Ok(resolution) }).boxed()
    }

    fn check(&self, name: &str) -> Result<(), Refusal> {
        match name {
            // The last one is no longer listed.
            "test:one" | "test:two" | "test:hidden" => Ok(()),
            _ => Err(Refusal::invalid("unknown_model", format!("there is no model `{name}`"))),
        }
    }

    fn info(&self, name: &str) -> ModelInfo {
        let context_window = (name == "test:one").then_some(1000);
        ModelInfo { context_window, ..ModelInfo::unknown(name) }
    }
}
