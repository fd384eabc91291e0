//! What a workspace says in its own files, `.ostler/config.toml` and `.mcp.json`: how it is checked, what is
//! asked about, which tool servers it has. It counts only where the owner trusts the workspace; whether
//! they do is known elsewhere.
//!
//! The files are read anew each time that they are needed, so that a change counts at once. Reading them runs
//! nothing. They choose no provider, no address of one, no key, no door, and cannot open the sandbox.

mod mcp_json;
mod plain_file;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use ostler_mcp::{ServerConfig, Transport};
use ostler_runner::WorkspaceSettings;
use ostler_tools::reveal_line;
use ostler_types::{BroughtServer, shell_word};

use settings::WorkspaceConfig;

/// Where the settings of a workspace lie in it.
const SETTINGS_FILE: &str = ".ostler/config.toml";
/// Where the servers of a workspace lie in it, in the format that other agents read too.
const SERVERS_FILE: &str = ".mcp.json";
/// How many servers a workspace may bring.
const MAX_SERVERS: usize = 16;
/// How many workspaces are remembered whose files were found wrong.
const MAX_WARNED_WORKSPACES: usize = 1000;

/// Reads what workspaces say of themselves.
#[derive(Clone, Default)]
pub(crate) struct WorkspaceSettingsReader {
    /// What was last found wrong where, so that it is logged once.
    warned: Arc<Mutex<BTreeMap<PathBuf, Vec<String>>>>,
}

/// What one workspace says.
#[derive(Debug, Clone, Default, PartialEq)]
struct ParsedWorkspaceSettings {
    settings: WorkspaceConfig,
    /// Each with the file that names it.
    servers: Vec<(&'static str, ServerConfig)>,
    /// What cannot be used, and why.
    problems: Vec<String>,
    /// Whether the settings themselves are among that.
    has_bad_settings: bool,
}

impl WorkspaceSettingsReader {
    /// What a workspace sets.
    pub(crate) async fn settings(&self, workspace: &Path) -> WorkspaceSettings {
        self.read(workspace).await.into_settings()
    }

    /// The servers that a workspace brings.
    pub(crate) async fn servers(&self, workspace: &Path) -> Vec<ServerConfig> {
        self.read(workspace).await.servers.into_iter().map(|(_, server)| server).collect()
    }

    async fn read(&self, workspace: &Path) -> ParsedWorkspaceSettings {
        let read = tokio::task::spawn_blocking({
            let workspace = workspace.to_owned();
            move || ParsedWorkspaceSettings::read(&workspace)
        });
        let project = read.await.unwrap_or_default();
        self.warn(workspace, &project.problems);
        project
    }

    /// Logs what is wrong with a workspace's files, when that is new.
    fn warn(&self, workspace: &Path, problems: &[String]) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        if warned.len() > MAX_WARNED_WORKSPACES {
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
}

impl ParsedWorkspaceSettings {
    /// Reads a workspace's files. Blocks.
    fn read(workspace: &Path) -> ParsedWorkspaceSettings {
        let mut project = ParsedWorkspaceSettings::default();
        match plain_file::read_plain_file(workspace, SETTINGS_FILE)
            .and_then(|text| settings::parse(workspace, text.as_deref()))
        {
            Ok((settings, servers)) => {
                project.settings = settings;
                project.servers.extend(servers.into_iter().map(|server| (SETTINGS_FILE, server)));
            }
            Err(problem) => {
                project.has_bad_settings = true;
                project.problems.push(problem);
            }
        }
        match plain_file::read_plain_file(workspace, SERVERS_FILE) {
            Ok(Some(text)) => {
                let (servers, problems) = mcp_json::parse(&text);
                let taken: BTreeSet<String> =
                    project.servers.iter().map(|(_, server)| server.name.clone()).collect();
                let new = servers.into_iter().filter(|server| !taken.contains(&server.name));
                project.servers.extend(new.map(|server| (SERVERS_FILE, server)));
                project.problems.extend(problems);
            }
            Ok(None) => {}
            Err(problem) => project.problems.push(problem),
        }
        if project.servers.len() > MAX_SERVERS {
            let left = project.servers.split_off(MAX_SERVERS).len();
            project.problems.push(format!(
                "{left} servers are left out: a workspace may name {MAX_SERVERS}, in {SETTINGS_FILE} and {SERVERS_FILE} together"
            ));
        }
        project
    }

    fn into_settings(self) -> WorkspaceSettings {
        let ParsedWorkspaceSettings { settings, servers, problems, has_bad_settings } = self;
        let verify_commands = match problems.first().filter(|_| has_bad_settings) {
            Some(problem) => Err(problem.clone()),
            None => Ok(settings.verify_commands),
        };
        let described = |(file, server): (&str, ServerConfig)| BroughtServer {
            // Who trusts the workspace must see the very words that will run.
            runs: reveal_line(&command_or_address(&server.transport)),
            name: server.name,
            file: file.to_owned(),
        };
        let servers = servers.into_iter().map(described).collect();
        WorkspaceSettings { verify_commands, asks: settings.asks, rules: settings.rules, servers, problems }
    }
}

/// A server's command line or address, without what may be secret.
fn command_or_address(transport: &Transport) -> String {
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
