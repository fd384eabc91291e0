//! `ostler agents`: which agents sessions can have, and whether those that others wrote work on this machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use ostler_agent_acp::{AcpAgentInfo, AgentPreset, AgentSettings, presets};
use ostler_api_types::CreateSession;
use ostler_config::{AgentConfinement, AgentSection};
use ostler_daemon::programs::program_finder;
use ostler_daemon::sandbox;
use ostler_engine::SystemClock;
use ostler_local_runner::{AgentDependencies, LocalRunner, acp_agent, program};
use ostler_process::Program;
use ostler_types::{AgentState, Failure, LoginMethod, SessionId};
use serde::Serialize;

use super::CommandContext;
use crate::args::AgentsCommand;
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::render::sanitize;

pub(super) async fn agents(setting: CommandContext, command: AgentsCommand) -> anyhow::Result<CliExit> {
    match command {
        AgentsCommand::List { json } => list(&setting, json).await,
        AgentsCommand::Doctor { names, workspace, json } => doctor(&setting, &names, workspace, json).await,
        AgentsCommand::Sessions { name, workspace, json } => sessions(&setting, &name, workspace, json).await,
        AgentsCommand::Adopt { name, id, workspace } => adopt(&setting, name, id, workspace).await,
        AgentsCommand::Login { name, method } => login(&setting, &name, &method).await,
    }
}

/// A directory as it really is; the current one when none is named.
fn real_directory(workspace: Option<PathBuf>) -> anyhow::Result<PathBuf> {
    let workspace = workspace.unwrap_or_else(|| PathBuf::from("."));
    workspace.canonicalize().with_context(|| format!("{} cannot be used", workspace.display()))
}

async fn sessions(
    setting: &CommandContext,
    name: &str,
    workspace: Option<PathBuf>,
    json: bool,
) -> anyhow::Result<CliExit> {
    let workspace = real_directory(workspace)?.to_string_lossy().into_owned();
    let config = &setting.loaded.config;
    let reached =
        connect_or_start(&setting.data_dir, config, &setting.environment, DaemonPurpose::Run).await?;
    let listed = reached.client.agent_sessions(name, &workspace).await;
    reached.stop_when_idle().await;
    let listed = listed?;
    if json {
        crate::output::json(&listed)?;
        return Ok(CliExit::Success);
    }
    for session in listed {
        let known = session.session_id.map(|id| format!("  = {id}")).unwrap_or_default();
        let (id, title) = (sanitize(&session.agent_session_id), session.title.unwrap_or_default());
        say!("{id}  {}  {}{known}", sanitize(&session.updated_at.unwrap_or_default()), sanitize(&title));
    }
    Ok(CliExit::Success)
}

async fn adopt(
    setting: &CommandContext,
    name: String,
    id: String,
    workspace: Option<PathBuf>,
) -> anyhow::Result<CliExit> {
    let workspace_path = real_directory(workspace)?.to_string_lossy().into_owned();
    let config = &setting.loaded.config;
    let reached =
        connect_or_start(&setting.data_dir, config, &setting.environment, DaemonPurpose::Run).await?;
    let new =
        CreateSession { workspace_path, agent: Some(name), adopt: Some(id), ..CreateSession::default() };
    let adopted = reached.client.create_session(&new).await;
    reached.stop_when_idle().await;
    say!("{}", adopted?);
    Ok(CliExit::Success)
}

/// Logs in with a process of its own: what an agent knows of its user it keeps in files, where the daemon's processes
/// find it too.
async fn login(setting: &CommandContext, name: &str, method: &str) -> anyhow::Result<CliExit> {
    let (workspace, names) = (real_directory(None)?, [name.to_owned()]);
    let command = commands(setting, &names)?.remove(name).context("the agent was just found")?;
    let parts = agent_dependencies(setting, [&command]).await;
    let program = program(name, &command, &setting.loaded.config.mcp);
    let agent = acp_agent(program, AgentSettings { max_restarts: 0, ..Default::default() }, &command, &parts);
    let done = agent.login(&workspace, method).await;
    agent.stop().await;
    if let Err(failed) = done {
        anyhow::bail!("{}", sanitize(&failed.error.message));
    }
    say!("logged in to {}; restart any process of it that is already running", sanitize(name));
    Ok(CliExit::Success)
}

/// What agents are made of that are only looked at.
async fn agent_dependencies<'a>(
    setting: &CommandContext,
    commands: impl IntoIterator<Item = &'a AgentSection>,
) -> AgentDependencies {
    let is_confined = commands.into_iter().any(|command| command.sandbox != AgentConfinement::Off);
    let sandbox = match is_confined {
        true => {
            let CommandContext { loaded, environment, data_dir, .. } = setting;
            sandbox(&loaded.config, environment, data_dir, Some(Program::current_executable()), false).await
        }
        false => None,
    };
    let programs =
        program_finder(&setting.loaded.config, &setting.environment, &setting.data_dir, sandbox.as_ref());
    AgentDependencies {
        environment: setting.environment.clone(),
        sandbox,
        programs,
        runner: Arc::new(LocalRunner::new(setting.data_dir.clone())),
        baselines: None,
        clock: Arc::new(SystemClock),
    }
}

async fn list(setting: &CommandContext, json: bool) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let listed = reached.client.agent_infos().await;
    reached.stop_when_idle().await;
    let listed = listed?;
    if json {
        crate::output::json(&listed)?;
        return Ok(CliExit::Success);
    }
    let mut text = String::new();
    for agent in &listed {
        let program = agent.program.as_deref().map(sanitize).unwrap_or_default();
        let configured = setting.loaded.config.agents.get(&agent.name);
        let confined = configured.map(|agent| confinement(agent.sandbox)).unwrap_or_default();
        let (name, status) = (sanitize(&agent.name), agent.status.as_str());
        let line = format!("{name:<16}  {status:<12}  {confined:<11}  {program}");
        _ = writeln!(text, "{}", line.trim_end());
    }
    let configuration = &setting.loaded.config;
    let configured = &configuration.agents;
    let is_used = |preset: &&AgentPreset| {
        !configured.values().any(|agent| agent.preset().is_some_and(|used| used.name == preset.name))
    };
    let others: Vec<&AgentPreset> = presets().iter().filter(is_used).collect();
    if !others.is_empty() {
        text.push_str(
            "\nNot configured; a section such as `[agents.claude]` with `preset = \"claude\"` adds one:\n",
        );
    }
    let finder = program_finder(configuration, &setting.environment, &setting.data_dir, None);
    for preset in others {
        let found = finder.find(preset.command[0]);
        let how = found.map_or_else(
            |_| preset.install.to_owned(),
            |found| format!("installed: {}", found.path().display()),
        );
        _ = writeln!(text, "{:<16}  {:<12}  {how}", preset.name, preset.title);
    }
    put!("{text}");
    Ok(CliExit::Success)
}

/// Whether an agent is confined, in words.
fn confinement(sandbox: AgentConfinement) -> &'static str {
    match sandbox {
        AgentConfinement::On | AgentConfinement::Landlock => "confined",
        AgentConfinement::Off => "unconfined",
    }
}

/// What was found out about an agent.
#[derive(Debug, Serialize)]
struct AgentReport {
    name: String,
    /// Whether its process is confined.
    sandbox: AgentConfinement,
    /// Whether a session could be begun.
    ok: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// What it can do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    abilities: Vec<&'static str>,
    /// How a person can log in, by its own words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    login: Vec<LoginMethod>,
    /// What can be chosen in its sessions, and what is chosen.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    settings: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
}

async fn doctor(
    setting: &CommandContext,
    names: &[String],
    workspace: Option<PathBuf>,
    json: bool,
) -> anyhow::Result<CliExit> {
    let workspace = real_directory(workspace)?;
    let commands = commands(setting, names)?;
    let parts = agent_dependencies(setting, commands.values()).await;
    let mut reports = Vec::new();
    for (name, command) in &commands {
        if !json {
            report!("starting {name}…");
        }
        reports.push(examine_agent(setting, name, command, &parts, &workspace).await);
    }
    if json {
        crate::output::json(&reports)?;
    } else if reports.is_empty() {
        say!("No third-party agent is configured or installed; `ostler agents list` shows how to add one");
    } else {
        put!("{}", reports.iter().map(AgentReport::text).collect::<Vec<_>>().join("\n"));
    }
    Ok(if reports.iter().all(|report| report.ok) { CliExit::Success } else { CliExit::Failure })
}

/// The agents to be looked at.
fn commands(setting: &CommandContext, names: &[String]) -> anyhow::Result<BTreeMap<String, AgentSection>> {
    let configured = &setting.loaded.config.agents;
    let like = |preset: &AgentPreset| AgentSection {
        preset: Some(preset.name.to_owned()),
        ..AgentSection::default()
    };
    if names.is_empty() {
        let finder = program_finder(&setting.loaded.config, &setting.environment, &setting.data_dir, None);
        let installed = presets().iter().filter(|preset| {
            let is_used = configured.values().any(|agent| agent.preset() == Some(*preset));
            !is_used && finder.find(preset.command[0]).is_ok()
        });
        let installed = installed.map(|preset| (preset.name.to_owned(), like(preset)));
        return Ok(installed.chain(configured.clone()).collect());
    }
    let find = |name: &String| {
        let known = configured.get(name).cloned().or_else(|| AgentPreset::find(name).map(like));
        let known =
            known.with_context(|| format!("no agent called `{}` is configured or known", sanitize(name)))?;
        Ok((name.clone(), known))
    };
    names.iter().map(find).collect()
}

/// Starts an agent, has it begin a session, and ends it.
async fn examine_agent(
    setting: &CommandContext,
    name: &str,
    command: &AgentSection,
    parts: &AgentDependencies,
    workspace: &Path,
) -> AgentReport {
    let program = program(name, command, &setting.loaded.config.mcp);
    let settings = AgentSettings { max_restarts: 0, ..Default::default() };
    let agent = acp_agent(program, settings, command, parts);
    let mut report = AgentReport::new(name, command.sandbox);
    match agent.probe(workspace).await {
        Ok(info) => report.take(info),
        Err(failed) => report.error = Some(failed.error),
    }
    if report.error.is_none() {
        let session = SessionId::new(ostler_types::Clock::uuid(&ostler_engine::SystemClock));
        match agent.begin(session, workspace, &command.settings).await {
            Ok(state) => report.begun(&state),
            Err(failed) => report.error = Some(failed.error),
        }
    }
    agent.stop().await;
    report
}

impl AgentReport {
    fn new(name: &str, sandbox: AgentConfinement) -> AgentReport {
        AgentReport {
            name: name.to_owned(),
            sandbox,
            ok: false,
            title: None,
            version: None,
            abilities: Vec::new(),
            login: Vec::new(),
            settings: BTreeMap::new(),
            error: None,
        }
    }

    fn take(&mut self, info: AcpAgentInfo) {
        self.title = Some(info.name).filter(|name| !name.is_empty());
        self.version = Some(info.version).filter(|version| !version.is_empty());
        self.abilities = [
            (info.loads_sessions, "loads earlier sessions with their history"),
            (info.resumes_sessions, "resumes sessions"),
            (info.lists_sessions, "lists its sessions"),
            (info.accepts.images, "accepts images"),
            (info.accepts.audio, "accepts audio"),
            (info.accepts.files, "accepts files"),
            (info.mcp_over_http, "uses tool servers over HTTP"),
        ]
        .into_iter()
        .filter_map(|(can, what)| can.then_some(what))
        .collect();
        self.login = info.login;
    }

    fn begun(&mut self, state: &AgentState) {
        self.ok = true;
        let chosen = state.settings.iter().map(|setting| {
            let choices: Vec<&str> = setting.choices.iter().map(|choice| choice.id.as_str()).collect();
            let current = setting.current.as_deref().unwrap_or("–");
            (setting.id.clone(), format!("{current} (of {})", choices.join(", ")))
        });
        self.settings = chosen.collect();
    }

    fn text(&self) -> String {
        let what = self.title.as_deref().map(sanitize).unwrap_or_default();
        let version = self.version.as_deref().map(sanitize).unwrap_or_default();
        let state = if self.ok { "works" } else { "does not work" };
        let who = format!("{what} {version}");
        let who = who.trim();
        let who = if who.is_empty() { String::new() } else { format!(" ({who})") };
        let mut text = format!("{}{who}: {state}\n", sanitize(&self.name));
        let rights = match self.sandbox {
            AgentConfinement::On | AgentConfinement::Landlock => {
                "it can write the workspace and its own state, and cannot read the rest of your home directory"
            }
            AgentConfinement::Off => {
                "it runs unsandboxed with your full rights, and so does everything it starts"
            }
        };
        _ = writeln!(text, "  {}: {rights}", confinement(self.sandbox));
        if let Some(error) = &self.error {
            _ = writeln!(text, "  why: {}", sanitize(&error.message));
            if let Some(hint) = &error.hint {
                _ = writeln!(text, "  what to do: {}", sanitize(hint));
            }
        }
        if !self.abilities.is_empty() {
            _ = writeln!(text, "  it {}", self.abilities.join(", "));
        }
        for (setting, choices) in &self.settings {
            _ = writeln!(text, "  {}: {}", sanitize(setting), sanitize(choices));
        }
        if !self.login.is_empty() {
            let ways: Vec<String> = self
                .login
                .iter()
                .map(|way| format!("{} ({})", sanitize(&way.id), sanitize(&way.name)))
                .collect();
            _ = writeln!(text, "  login methods: {}", ways.join(", "));
        }
        text
    }
}
