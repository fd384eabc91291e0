//! What workspaces bring in their own files, for the doors: shown to people, and accepted when they trust a workspace.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use ostler_acceptance::{Baselines, changed_servers};
use ostler_door_kit::ToolServers;
use ostler_engine::Engine;
use ostler_runner::{AdditionalApprovals, OfferTools, WorkspaceSettings};
use ostler_types::{Brought, BroughtRule, Refusal, Rule, ToolKind, ToolSpec};

/// The file with the settings of a workspace.
const SETTINGS: &str = ".ostler/config.toml";

/// Trust in workspaces, and the tool servers that it lets start.
pub(crate) struct WorkspaceTrustService {
    pub(crate) engine: Engine,
    /// Contents that turns wrote into the files that define checks.
    pub(crate) baselines: Arc<Baselines>,
}

impl WorkspaceTrustService {
    /// Accepts the workspace as it is now, or takes back what was accepted.
    async fn set(&self, workspace: PathBuf, trusted: bool) -> Result<(), String> {
        let path = workspace.display().to_string();
        let runner = self.engine.runner();
        if !trusted {
            runner.toolbox().set_trusted(path.clone(), false).await;
        }
        let rules = match trusted {
            true => runner.workspaces().settings(path.clone()).await.rules,
            false => Vec::new(),
        };
        self.engine.accept_rules(&path, rules).await.map_err(|error| error.to_string())?;
        self.baselines.accept(&path).await;
        if trusted {
            runner.toolbox().set_trusted(path, true).await;
        }
        Ok(())
    }

    async fn describe(&self, workspace: &Path, trusted: bool) -> Brought {
        let path = workspace.display().to_string();
        let workspaces = self.engine.runner().workspaces();
        let WorkspaceSettings { verify_commands, asks, rules, servers, mut problems } =
            workspaces.settings(path.clone()).await;
        let in_force = self.engine.accepted_rules(&path, rules.clone());
        let rule = |rule: Rule| BroughtRule { in_force: trusted && in_force.contains(&rule), rule };
        let rules: Vec<BroughtRule> = rules.into_iter().map(rule).collect();
        let new = rules.iter().filter(|rule| trusted && !rule.in_force).count();
        if new > 0 {
            problems.push(format!(
                "{new} of the rules in {SETTINGS} came after the workspace was trusted, and do not hold; trust it \
                 again to accept them"
            ));
        }
        for (name, files) in changed_servers(self.engine.runner(), &self.baselines, None, &path).await {
            let why = match files.is_empty() {
                true => "the files that it runs cannot be read".to_owned(),
                false => format!("a turn changed {}", files.join(", ")),
            };
            problems.push(format!(
                "the server `{name}` is not started, because {why}; look at them, then trust the workspace again to \
                 accept them"
            ));
        }
        let verify_commands = match verify_commands.unwrap_or_default() {
            commands if commands.is_empty() => {
                workspaces.documented_checks(path).await.map(|checks| checks.commands).unwrap_or_default()
            }
            commands => commands,
        };
        Brought { verify_commands, servers, rules, asks: asks_in_words(&asks), problems }
    }
}

impl ToolServers for WorkspaceTrustService {
    fn tools(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Vec<(ToolSpec, ToolKind)>> {
        async move {
            let toolbox = self.engine.runner().toolbox();
            let workspace = workspace.display().to_string();
            let held_back = changed_servers(self.engine.runner(), &self.baselines, None, &workspace).await;
            let held_back = held_back.into_iter().map(|(name, _)| name).collect();
            let asked = OfferTools { session: None, workspace, trusted, held_back, tells: false };
            let (built_in, offered) = (toolbox.built_in_tools(), toolbox.offer_tools(asked).await.tools);
            let kinds = offered.kinds().map(|(_, kind)| kind);
            let is_of_server = |(spec, _): &(ToolSpec, ToolKind)| built_in.get(&spec.name).is_none();
            offered.specs().iter().cloned().zip(kinds).filter(is_of_server).collect()
        }
        .boxed()
    }

    fn status(&self) -> Vec<serde_json::Value> {
        self.engine.runner().toolbox().server_statuses()
    }

    fn workspace_config(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Brought> {
        async move { self.describe(&workspace, trusted).await }.boxed()
    }

    fn trust_changed(&self, workspace: PathBuf, trusted: bool) -> BoxFuture<'_, Result<(), Refusal>> {
        async move {
            self.set(workspace, trusted).await.map_err(|error| {
                let message = format!("what the workspace brings cannot be remembered: {error}");
                Refusal::conflict("trust_not_kept", message)
            })
        }
        .boxed()
    }
}

/// What a workspace wants to be asked about, for people.
fn asks_in_words(asks: &AdditionalApprovals) -> Vec<String> {
    let kinds = asks.kinds.iter().map(|kind| format!("every call that can {}", kind_in_words(*kind)));
    let tools = asks.tools.iter().map(|tool| format!("every call of {tool}"));
    let commands = (!asks.safe_commands).then(|| "commands that only read, too".to_owned());
    kinds.chain(tools).chain(commands).collect()
}

fn kind_in_words(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Read => "read",
        ToolKind::Write => "write",
        ToolKind::Exec => "run programs",
        ToolKind::Network => "reach other machines",
    }
}
