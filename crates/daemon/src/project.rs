//! What a workspace says in its own files, `.ostler/config.toml` and `.mcp.json`: how it is checked, what is
//! asked about, which servers of tools it has. It counts only where the owner trusts the workspace; whether
//! they do is known elsewhere and comes in.
//!
//! The files are read anew each time that they are needed, so that a change counts at once. Reading them runs
//! nothing. They choose no provider, no address of one, no key, no door, and cannot open the sandbox.

mod accepted;
mod file;
mod mcp_json;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use ostler_documents::Documents;
use ostler_local_runner::FindApproval;
use ostler_mcp::{ServerConfig, Transport};
use ostler_turn_care::{Baselines, OwnChecks, SettingsChecks, WorkspaceChecks};
use ostler_types::{ApprovalPolicy, Brought, BroughtRule, BroughtServer, Rule, shell_word};

use accepted::Accepted;
use settings::Settings;

/// Where the settings of a workspace lie in it.
const SETTINGS: &str = ".ostler/config.toml";
/// Where the servers of a workspace lie in it, in the format that other agents read too.
const SERVERS: &str = ".mcp.json";
/// How many servers a workspace may bring.
const MAX_SERVERS: usize = 16;
/// How many workspaces are remembered whose files were found wrong.
const MAX_WARNED: usize = 1000;

/// What workspaces say of themselves.
pub struct Projects {
    /// The rules that the owner has seen and trusted.
    accepted: Accepted,
    /// What turns have written into files that decide what checks run.
    baselines: Arc<Baselines>,
    /// The workspaces that are trusted no longer, so that a turn that began before starts nothing more.
    revoked: Mutex<BTreeSet<PathBuf>>,
    /// What was last found wrong where, so that it is logged once.
    warned: Mutex<BTreeMap<PathBuf, Vec<String>>>,
}

/// What one workspace says.
#[derive(Debug, Clone, Default, PartialEq)]
struct Project {
    settings: Settings,
    /// Each with the file that names it.
    servers: Vec<(&'static str, ServerConfig)>,
    /// What cannot be used, and why.
    problems: Vec<String>,
    /// Whether the settings themselves are among that.
    has_bad_settings: bool,
}

impl Projects {
    /// Those of a daemon with this data directory.
    pub async fn open(data_dir: &Path, documents: Arc<dyn Documents>) -> Projects {
        let accepted = Accepted::load(documents).await;
        let baselines = Arc::new(Baselines::load(data_dir.join("workspace-checks.json")));
        Projects { accepted, baselines, revoked: Mutex::default(), warned: Mutex::default() }
    }

    /// The servers that a workspace brings, if it is trusted.
    pub async fn servers(self: &Arc<Projects>, workspace: &Path, trusted: bool) -> Vec<ServerConfig> {
        if !trusted || self.is_revoked(workspace) {
            return Vec::new();
        }
        let project = self.read(workspace.to_owned()).await;
        project.servers.into_iter().map(|(_, server)| server).collect()
    }

    /// Whether trust was taken back since the daemon started, and not given again.
    pub fn is_revoked(&self, workspace: &Path) -> bool {
        lock(&self.revoked).contains(workspace)
    }

    /// Takes note that a workspace is to be trusted, with the rules that it has now, or is not any more.
    pub async fn trust(self: &Arc<Projects>, workspace: PathBuf, trusted: bool) -> std::io::Result<()> {
        if !trusted {
            lock(&self.revoked).insert(workspace.clone());
        }
        let rules = if trusted { self.read(workspace.clone()).await.settings.rules } else { Vec::new() };
        self.accepted.set(&workspace, rules).await.map_err(std::io::Error::other)?;
        let projects = Arc::clone(self);
        let noted = tokio::task::spawn_blocking(move || {
            projects.baselines.accept(&workspace);
            if trusted {
                lock(&projects.revoked).remove(&workspace);
            }
        });
        noted.await.map_err(std::io::Error::other)
    }

    /// What a workspace says, for people: nothing of it is done.
    pub async fn brought(self: &Arc<Projects>, workspace: PathBuf, trusted: bool) -> Brought {
        let projects = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || projects.describe(&workspace, trusted));
        read.await.unwrap_or_default()
    }

    /// As the runner asks for it, of workspaces that are trusted.
    pub fn approval(self: &Arc<Projects>) -> FindApproval {
        let projects = Arc::clone(self);
        Arc::new(move |workspace| {
            let projects = Arc::clone(&projects);
            async move {
                let workspace = PathBuf::from(workspace);
                let settings = projects.read(workspace.clone()).await.settings;
                let rules = projects.accepted.among(&workspace, settings.rules);
                let asks = settings.asks;
                let says_nothing = rules.is_empty() && asks.is_empty();
                let policy = ApprovalPolicy {
                    require_for_kinds: asks.kinds,
                    require_for_tools: asks.tools,
                    safe_commands: asks.safe_commands,
                    rules,
                };
                (!says_nothing).then_some(policy)
            }
            .boxed()
        })
    }

    /// As the native agent asks for it, of workspaces that are trusted.
    pub fn checks(self: &Arc<Projects>) -> OwnChecks {
        let projects = Arc::clone(self);
        let settings: SettingsChecks = Arc::new(move |workspace| {
            let projects = Arc::clone(&projects);
            async move {
                let project = projects.read(workspace).await;
                match project.problems.into_iter().next().filter(|_| project.has_bad_settings) {
                    Some(problem) => Err(problem),
                    None => Ok(project.settings.verify_commands),
                }
            }
            .boxed()
        });
        Arc::new(WorkspaceChecks { settings, baselines: Arc::clone(&self.baselines) })
    }

    async fn read(self: &Arc<Projects>, workspace: PathBuf) -> Project {
        let read = tokio::task::spawn_blocking({
            let workspace = workspace.clone();
            move || Project::read(&workspace)
        });
        let project = read.await.unwrap_or_default();
        self.warn(&workspace, &project.problems);
        project
    }

    /// Logs what is wrong with a workspace's files, when that is new.
    fn warn(&self, workspace: &Path, problems: &[String]) {
        let mut warned = lock(&self.warned);
        if warned.len() > MAX_WARNED {
            warned.clear();
        }
        let known = warned.insert(workspace.to_owned(), problems.to_vec());
        drop(warned);
        for problem in
            problems.iter().filter(|problem| known.as_ref().is_none_or(|old| !old.contains(problem)))
        {
            tracing::warn!(workspace = %workspace.display(), problem, "the workspace's own settings");
        }
    }

    fn describe(&self, workspace: &Path, trusted: bool) -> Brought {
        let Project { settings, servers, mut problems, .. } = Project::read(workspace);
        let in_force = self.accepted.among(workspace, settings.rules.clone());
        let rule = |rule: Rule| BroughtRule { in_force: trusted && in_force.contains(&rule), rule };
        let rules: Vec<BroughtRule> = settings.rules.into_iter().map(rule).collect();
        let new = rules.iter().filter(|rule| trusted && !rule.in_force).count();
        if new > 0 {
            problems.push(format!(
                "{new} of the rules in {SETTINGS} came after the workspace was trusted, and do not hold; trust it \
                 again to accept them"
            ));
        }
        let verify_commands = match settings.verify_commands {
            commands if commands.is_empty() => {
                ostler_turn_care::checks(workspace).map(|checks| checks.commands).unwrap_or_default()
            }
            commands => commands,
        };
        let servers = servers.into_iter().map(|(file, server)| BroughtServer {
            runs: runs(&server.transport),
            name: server.name,
            file: file.to_owned(),
        });
        Brought { verify_commands, servers: servers.collect(), rules, asks: settings.asks.words(), problems }
    }
}

impl Project {
    /// Reads a workspace's files. Blocks.
    fn read(workspace: &Path) -> Project {
        let mut project = Project::default();
        match file::read(workspace, SETTINGS).and_then(|text| settings::parse(workspace, text.as_deref())) {
            Ok((settings, servers)) => {
                project.settings = settings;
                project.servers.extend(servers.into_iter().map(|server| (SETTINGS, server)));
            }
            Err(problem) => {
                project.has_bad_settings = true;
                project.problems.push(problem);
            }
        }
        match file::read(workspace, SERVERS) {
            Ok(Some(text)) => {
                let (servers, problems) = mcp_json::parse(&text);
                let taken: BTreeSet<String> =
                    project.servers.iter().map(|(_, server)| server.name.clone()).collect();
                let new = servers.into_iter().filter(|server| !taken.contains(&server.name));
                project.servers.extend(new.map(|server| (SERVERS, server)));
                project.problems.extend(problems);
            }
            Ok(None) => {}
            Err(problem) => project.problems.push(problem),
        }
        if project.servers.len() > MAX_SERVERS {
            let left = project.servers.split_off(MAX_SERVERS).len();
            project.problems.push(format!(
                "{left} servers are left out: a workspace may name {MAX_SERVERS}, in {SETTINGS} and {SERVERS} together"
            ));
        }
        project
    }
}

/// A server's command line or address, without what may be secret.
fn runs(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, env } => {
            let words = command.iter().map(|word| shell_word(word));
            let names = env.keys().map(|name| format!("{name}=…"));
            names.chain(words).collect::<Vec<_>>().join(" ")
        }
        Transport::Http { url, .. } => {
            let plain = url.split(['?', '#']).next().unwrap_or_default();
            match plain.split_once("://") {
                Some((scheme, rest)) => {
                    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                    let host = authority.rsplit('@').next().unwrap_or_default();
                    format!("{scheme}://{host}{path}")
                }
                None => plain.to_owned(),
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
