//! Third-party agents: what the configuration names becomes programs that run turns, and that clients are told of. How
//! they are spoken to is left to `agent-acp`.

mod confinement;
mod installation;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, join_all};
use ostler_acceptance::Baselines;
use ostler_acp::{McpDescription, McpTransport};
use ostler_agent::Agent;
use ostler_agent_acp::{
    AcpAgent, AgentLaunch, AgentPreset, AgentProgram, AgentSettings, AgentSpawnFn, AgentStatus, NotPrepared,
    PreparedChild, ProcessState,
};
use ostler_process::{Invocation, Program, ProgramFinder, child_environment};
use ostler_runner::{
    AdoptSession, AdoptedAgentSession, BeginSession, Runner, ThirdPartyAgents, unknown_agent,
};
use ostler_sandbox::Sandbox;
use ostler_types::{AgentDescription, AgentLink, AgentProcess, AgentSession, AgentState, Clock, Failure};
use tokio::sync::watch;

use self::confinement::ConfinedAgentLaunch;
pub use self::confinement::expand;
use ostler_config::with_variables;
use ostler_config::{AgentConfinement, AgentSection, Config, Environment, McpSection};

/// What agents of others are made of, besides what each is.
#[derive(Clone)]
pub struct AgentDependencies {
    /// The environment, of which each gets what it is to get.
    pub environment: Environment,
    /// Confines those that are to be confined.
    pub sandbox: Option<Sandbox>,
    /// Finds their programs.
    pub programs: ProgramFinder,
    /// Does what they have us do.
    pub runner: Arc<dyn Runner>,
    /// Contents that turns wrote into the files that define checks.
    pub baselines: Option<Arc<Baselines>>,
    /// The clock of what is taken over from them.
    pub clock: Arc<dyn Clock>,
}

/// The agents of others that are configured. They end with it.
pub struct ConfiguredAgents {
    agents: BTreeMap<String, ConfiguredAgent>,
    /// Those of whoever embeds the daemon. They have no process and no settings.
    embedded: BTreeMap<String, Arc<dyn Agent>>,
    clock: Arc<dyn Clock>,
}

struct ConfiguredAgent {
    agent: Arc<AcpAgent>,
    command: AgentSection,
    program: AgentProgram,
}

impl ConfiguredAgents {
    /// Those of a configuration, and those of whoever embeds the daemon. Nothing is started.
    pub fn from_config(
        config: &Config,
        parts: &AgentDependencies,
        embedded: &BTreeMap<String, Arc<dyn Agent>>,
    ) -> ConfiguredAgents {
        let with_own = |(name, server): (&String, &McpSection)| {
            (name.clone(), with_variables(server.clone(), &parts.environment))
        };
        let servers = config.mcp.iter().map(with_own).collect();
        let configured = config.agents.iter().map(|(name, command)| {
            let program = program(name, command, &servers);
            let agent = Arc::new(acp_agent(program.clone(), AgentSettings::default(), command, parts));
            (name.clone(), ConfiguredAgent { agent, command: command.clone(), program })
        });
        ConfiguredAgents {
            agents: configured.collect(),
            embedded: embedded.clone(),
            clock: Arc::clone(&parts.clock),
        }
    }

    /// Ends all their processes, and waits until they are gone.
    pub async fn stop(&self) {
        join_all(self.agents.values().map(|configured| configured.agent.stop())).await;
    }

    fn find(&self, name: &str) -> Result<&ConfiguredAgent, Failure> {
        self.agents.get(name).ok_or_else(|| unknown_agent(name))
    }
}

impl ThirdPartyAgents for ConfiguredAgents {
    fn named_agents(&self) -> Vec<(String, Arc<dyn Agent>)> {
        let configured = self.agents.iter().map(|(name, configured)| {
            let agent: Arc<dyn Agent> = configured.agent.clone();
            (name.clone(), agent)
        });
        let embedded = self.embedded.iter().map(|(name, agent)| (name.clone(), Arc::clone(agent)));
        configured.chain(embedded).collect()
    }

    fn descriptions(&self) -> Vec<AgentDescription> {
        self.agents.iter().map(|(name, configured)| configured.description(name)).collect()
    }

    fn statuses(&self) -> Vec<(String, AgentLink)> {
        self.agents.iter().map(|(name, configured)| (name.clone(), configured.best_process_link())).collect()
    }

    fn status_changes(&self) -> Vec<watch::Receiver<u64>> {
        self.agents.values().map(|configured| configured.agent.status_changes()).collect()
    }

    fn connect<'a>(&'a self, agent: &'a str, workspace: PathBuf) -> BoxFuture<'a, Result<(), Failure>> {
        async move {
            if self.embedded.contains_key(agent) {
                return Ok(());
            }
            let probed = self.find(agent)?.agent.probe(&workspace).await;
            probed.map(drop).map_err(|failed| failed.error)
        }
        .boxed()
    }

    fn default_settings(&self, agent: &str) -> BTreeMap<String, String> {
        self.agents.get(agent).map(|configured| configured.command.settings.clone()).unwrap_or_default()
    }

    fn begin_session<'a>(
        &'a self,
        agent: &'a str,
        new: BeginSession,
    ) -> BoxFuture<'a, Result<AgentState, Failure>> {
        async move {
            if self.embedded.contains_key(agent) {
                return Ok(AgentState::default());
            }
            let agent = &self.find(agent)?.agent;
            let begun = agent.begin(new.session_id, &new.workspace, &new.settings).await;
            begun.map_err(|failed| failed.error)
        }
        .boxed()
    }

    fn list_sessions<'a>(
        &'a self,
        agent: &'a str,
        workspace: PathBuf,
    ) -> BoxFuture<'a, Result<Vec<AgentSession>, Failure>> {
        async move {
            let listed = self.find(agent)?.agent.sessions(&workspace).await.map_err(|failed| failed.error)?;
            let session = |session: ostler_agent_acp::AcpSessionInfo| AgentSession {
                agent_session_id: session.id,
                title: session.title,
                updated_at: session.updated_at,
                session_id: None,
            };
            Ok(listed.into_iter().map(session).collect())
        }
        .boxed()
    }

    fn adopt_session<'a>(
        &'a self,
        agent: &'a str,
        adopt: AdoptSession,
    ) -> BoxFuture<'a, Result<AdoptedAgentSession, Failure>> {
        async move {
            let AdoptSession { session_id, workspace, agent_session_id } = adopt;
            let agent = &self.find(agent)?.agent;
            let adopted = agent.adopt(session_id, &workspace, &agent_session_id, &*self.clock).await;
            let ostler_agent_acp::AdoptedHistory { state, records, files } =
                adopted.map_err(|failed| failed.error)?;
            Ok(AdoptedAgentSession { state, records, files })
        }
        .boxed()
    }
}

impl ConfiguredAgent {
    fn description(&self, name: &str) -> AgentDescription {
        let processes = self.agent.statuses().into_iter().map(|status| AgentProcess {
            workspace: status.workspace.display().to_string(),
            status: process_link(status.state),
            error: status.error,
            stderr: status.stderr_tail,
        });
        AgentDescription {
            name: name.to_owned(),
            kind: "acp".to_owned(),
            title: self.command.preset().map(|preset| preset.title.to_owned()),
            program: Some(self.program.program.clone()),
            status: self.best_process_link(),
            install: self.program.install.clone(),
            login: self.program.login.clone(),
            settings: self.command.settings.clone(),
            processes: processes.collect(),
        }
    }

    /// How its best process stands.
    fn best_process_link(&self) -> AgentLink {
        let rank = |link: &AgentLink| match link {
            AgentLink::Connected => 4,
            AgentLink::Starting => 3,
            AgentLink::Reconnecting => 2,
            AgentLink::Disconnected => 1,
            AgentLink::Idle => 0,
        };
        let links = self.agent.statuses().into_iter().map(|status: AgentStatus| process_link(status.state));
        links.max_by_key(rank).unwrap_or(AgentLink::Idle)
    }
}

fn process_link(state: ProcessState) -> AgentLink {
    match state {
        ProcessState::Starting => AgentLink::Starting,
        ProcessState::Connected => AgentLink::Connected,
        ProcessState::Reconnecting => AgentLink::Reconnecting,
        ProcessState::Idle => AgentLink::Idle,
        ProcessState::Disconnected => AgentLink::Disconnected,
    }
}

/// An agent that is ready to be asked.
pub fn acp_agent(
    program: AgentProgram,
    settings: AgentSettings,
    command: &AgentSection,
    parts: &AgentDependencies,
) -> AcpAgent {
    let agent = AcpAgent::new(program, settings, process_spawner(command, parts), Arc::clone(&parts.runner));
    match &parts.baselines {
        Some(baselines) => agent.with_baselines(Arc::clone(baselines)),
        None => agent,
    }
}

/// The program that a section of the configuration describes.
pub fn program(name: &str, command: &AgentSection, servers: &BTreeMap<String, McpSection>) -> AgentProgram {
    let mut program = command.preset().map_or_else(
        || AgentProgram::new(name, "", [""; 0]).with_network(),
        |preset: &AgentPreset| AgentProgram { name: name.to_owned(), ..preset.program() },
    );
    if let Some((first, rest)) = command.command.split_first() {
        (program.program, program.arguments) = (first.clone(), rest.to_vec());
    }
    program.env.clone_from(&command.env);
    program.pass_env.extend(command.pass_env.iter().cloned());
    let handed_on = |server: &String| {
        let described = servers.get(server)?;
        let transport = match &described.url {
            Some(url) => McpTransport::Http { url: url.clone(), headers: described.headers.clone() },
            None => McpTransport::Stdio { command: described.command.clone(), env: described.env.clone() },
        };
        Some(McpDescription { name: server.clone(), transport })
    };
    program.mcp_servers = command.mcp_servers.iter().filter_map(handed_on).collect();
    program
}

/// Prepares its process: with a program that no sandboxed command can have changed, with little of the daemon's
/// environment, and confined unless its owner wants it in the open.
fn process_spawner(command: &AgentSection, parts: &AgentDependencies) -> AgentSpawnFn {
    let (command, parts) = (command.clone(), parts.clone());
    Arc::new(move |launch: &AgentLaunch| {
        let program = parts.programs.find(&launch.program).map_err(|error| error.to_string())?;
        let all: Vec<(OsString, OsString)> = parts.environment.variables().collect();
        let is_named = |name: &OsString| launch.pass_env.iter().any(|wanted| name == wanted.as_str());
        let mut variables = child_environment(all.iter().cloned());
        let mut named: Vec<_> = all.into_iter().filter(|(name, _)| is_named(name)).collect();
        if command.sandbox == AgentConfinement::Off {
            variables = parts.programs.environment(variables);
            named = parts.programs.without_writable_values(named);
        }
        variables.push(("PATH".into(), parts.programs.path()));
        variables.extend(named);
        variables.extend(launch.env.iter().map(|(name, value)| (name.into(), value.into())));
        match command.sandbox {
            AgentConfinement::Off => {
                Ok(prepare_unconfined(program, launch, parts.sandbox.as_ref(), variables)?)
            }
            AgentConfinement::On | AgentConfinement::Landlock => {
                prepare_confined(&program, launch, &command, &parts, variables)
            }
        }
    })
}

/// Unconfined; where the sandbox's helper is used at all, it sees to it that nothing of an agent outlives the daemon.
fn prepare_unconfined(
    program: Program,
    launch: &AgentLaunch,
    sandbox: Option<&Sandbox>,
    variables: Vec<(OsString, OsString)>,
) -> Result<PreparedChild, String> {
    if let Some(sandbox) = sandbox {
        let attended = sandbox.unconfined_command(&launch.workspace, &program, &launch.arguments);
        let attended = attended.map_err(|error| error.to_string())?;
        let (command, confinement) = attended.envs(variables).prepare();
        return Ok(PreparedChild { command, keep_alive: Box::new(confinement) });
    }
    let invocation = Invocation::new(program).args(&launch.arguments).current_dir(&launch.workspace);
    Ok(PreparedChild { command: invocation.envs(variables).prepare(), keep_alive: Box::new(()) })
}

fn prepare_confined(
    program: &Program,
    launch: &AgentLaunch,
    command: &AgentSection,
    parts: &AgentDependencies,
    variables: Vec<(OsString, OsString)>,
) -> Result<PreparedChild, NotPrepared> {
    let Some(sandbox) = parts.sandbox.as_ref().filter(|sandbox| sandbox.is_available()) else {
        return Err(sandbox_unavailable(&launch.agent, parts.sandbox.is_some()));
    };
    if command.sandbox == AgentConfinement::On && !sandbox.holds_protected_paths() {
        return Err(settings_not_held(&launch.agent));
    }
    let home = &sandbox.settings().home;
    let home = &home.canonicalize().unwrap_or_else(|_| home.clone());
    let confining = ConfinedAgentLaunch {
        command,
        workspace: &launch.workspace,
        program,
        arguments: &launch.arguments,
        variables: &variables,
        home,
        finder: &parts.programs,
    };
    let profile = confining.profile()?;
    let start = installation::starting_path(program, &parts.programs);
    let confined = sandbox.command(&profile, start, &launch.arguments);
    let confined = confined.map_err(|error| NotPrepared {
        message: error.to_string(),
        hint: Some(format!(
            "`writable` and `readable` in the section `[agents.{}]` name what it needs",
            launch.agent
        )),
    })?;
    let (command, confinement) = confined.envs(variables).prepare();
    Ok(PreparedChild { command, keep_alive: Box::new(confinement) })
}

/// Why an agent is not started where protected settings are only restored when it has ended, hours later.
fn settings_not_held(agent: &str) -> NotPrepared {
    let message = "the sandbox of this machine (Landlock) cannot keep the settings and hooks of git, agents and editors in the \
                   workspace read-only while it runs, only restore them when it has ended";
    let hint = format!(
        "install bubblewrap (`ostler doctor` says what is missing), or set `sandbox = \"landlock\"` in the section \
         `[agents.{agent}]`, which accepts that"
    );
    NotPrepared { message: message.to_owned(), hint: Some(hint) }
}

/// Why an agent that is to be confined is not started, and what its owner can do.
fn sandbox_unavailable(agent: &str, is_wanted: bool) -> NotPrepared {
    let (message, first) = match is_wanted {
        true => (
            "nothing on this machine confines it",
            "install bubblewrap (`ostler doctor` says what is missing)",
        ),
        false => (
            "it is to be confined, and `sandbox.mode` is \"off\"",
            "remove `mode = \"off\"` from `[sandbox]`",
        ),
    };
    let hint = format!(
        "{first}, or set `sandbox = \"off\"` in the section `[agents.{agent}]`, which lets it and what a repository \
         has it run do all that you can do"
    );
    NotPrepared { message: message.to_owned(), hint: Some(hint) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use ostler_config::{AgentSection, McpSection};

    use super::{program, sandbox_unavailable, settings_not_held};

    #[test]
    fn who_cannot_have_a_confined_agent_is_told_what_to_do() {
        for (is_wanted, expected) in [(true, "bubblewrap"), (false, "[sandbox]")] {
            let hint = sandbox_unavailable("work", is_wanted).hint.unwrap();
            assert!(hint.contains(expected) && hint.contains("`[agents.work]`"), "{hint}");
            assert!(hint.contains("`sandbox = \"off\"`"), "{hint}");
        }
        let refused = settings_not_held("work");
        assert!(
            refused.message.contains("Landlock") && refused.hint.unwrap().contains("sandbox = \"landlock\"")
        );
    }

    #[test]
    fn a_preset_is_changed_key_by_key() {
        let command = AgentSection {
            preset: Some("claude".to_owned()),
            env: BTreeMap::from([("A".to_owned(), "b".to_owned())]),
            pass_env: vec!["MINE".to_owned()],
            mcp_servers: vec!["time".to_owned()],
            ..AgentSection::default()
        };
        let server = McpSection { command: vec!["clock".to_owned()], ..McpSection::default() };
        let made = program("work", &command, &BTreeMap::from([("time".to_owned(), server)]));
        assert_eq!((made.name.as_str(), made.program.as_str()), ("work", "claude-agent-acp"));
        assert!(made.pass_env.iter().any(|name| name == "ANTHROPIC_API_KEY"));
        assert!(made.pass_env.iter().any(|name| name == "MINE") && made.install.is_some());
        assert_eq!(made.mcp_servers[0].name, "time");
        let own = AgentSection { command: vec!["/opt/agent".to_owned(), "acp".to_owned()], ..command };
        let made = program("work", &own, &BTreeMap::new());
        assert_eq!((made.program.as_str(), made.arguments), ("/opt/agent", vec!["acp".to_owned()]));
    }
}
