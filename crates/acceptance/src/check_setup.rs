//! How a workspace is checked, as it stood when the turn began. What is written in a turn, and what turns before it have
//! written, decides nothing by itself: a check that it has changed is not run, and the turn's end says so.

use std::collections::BTreeSet;
use std::sync::Arc;

use ostler_agent::TurnContext;
use ostler_runner::{CheckFileScope, FileSums, FindCheckFiles, Runner};
use ostler_types::{Purpose, ToolKind};

use crate::baselines::Baselines;
use crate::checkpoints::CheckpointTracker;

/// The file with the settings of a workspace.
const SETTINGS: &str = ".ostler/config.toml";

/// How a turn is checked.
pub(crate) struct CheckSetup {
    pub(crate) command_lines: Result<Vec<String>, String>,
    /// The file that names the lines, where it is one of the workspace and not the session's owner.
    origin: Option<String>,
    /// The files that decide what is run, as they were; unknown of a turn that was picked up by another process.
    file_sums: Option<FileSums>,
    /// Whether programs are only run after somebody agreed.
    needs_approval: bool,
    /// The command lines of the tool servers that the workspace names.
    servers: Vec<String>,
    /// Files that turns before have written.
    written_before: Vec<String>,
    runner: Arc<dyn Runner>,
    /// What turns have written into these files.
    baselines: Option<Arc<Baselines>>,
}

impl CheckSetup {
    /// Looks at a workspace before the turn changes it, or as it is when the turn is picked up.
    pub(crate) async fn at_turn_start(
        context: &TurnContext,
        runner: Arc<dyn Runner>,
        baselines: Option<Arc<Baselines>>,
    ) -> CheckSetup {
        if !allows_commands(context) {
            let lines = Err("not verified: nothing says how to check this workspace".to_owned());
            return CheckSetup {
                command_lines: lines,
                origin: None,
                file_sums: None,
                needs_approval: true,
                servers: Vec::new(),
                written_before: Vec::new(),
                runner,
                baselines: None,
            };
        }
        let workspace = &context.session.workspace_key();
        let (lines, origin) = configured_commands(context, &*runner).await;
        let servers = match context.trusted {
            true => runner.workspaces().settings(context.session.workspace_path.clone()).await.servers,
            false => Vec::new(),
        };
        let servers = servers.into_iter().map(|server| server.runs).collect();
        let known =
            baselines.as_ref().map(|baselines| baselines.written_names(workspace)).unwrap_or_default();
        let approval = &context.session.policy.approval;
        let by_name =
            approval.require_for_tools.iter().any(|tool| matches!(tool.as_str(), "shell" | "verify"));
        let asks = by_name || approval.require_for_kinds.contains(&ToolKind::Exec);
        let mut start = CheckSetup {
            command_lines: lines,
            origin,
            file_sums: None,
            needs_approval: asks,
            servers,
            written_before: known,
            runner,
            baselines,
        };
        if start.origin.is_none() && start.command_lines.is_ok() && !context.trusted {
            return start;
        }
        let is_new = context.open_turn.steps == 0 && !context.open_turn.changed;
        let begun = || start.baselines.as_ref()?.files_at_turn_start(workspace, context.session.id);
        start.file_sums =
            if is_new { Some(start.current_file_sums(context, Vec::new()).await) } else { begun() };
        if let (true, Some(baselines), Some(sums)) = (is_new, &start.baselines, &start.file_sums) {
            baselines.begin_turn(workspace, context.session.id, sums).await;
        }
        start
    }

    /// The lines to run, or why none is.
    pub(crate) async fn commands(
        &self,
        context: &TurnContext,
        checkpoints: &CheckpointTracker,
    ) -> Result<Vec<String>, String> {
        let lines = match &self.command_lines {
            Ok(lines) => lines,
            Err(why) => return Err(self.no_commands_reason(context, why).await),
        };
        let Some(origin) = self.origin.as_ref().filter(|_| self.needs_approval) else {
            return Ok(lines.clone());
        };
        let changed = checkpoints.changed_paths().await.map_err(|why| {
            format!(
                "not verified: it cannot be told whether the turn changed what `{}` runs: {why}",
                lines.join("; ")
            )
        })?;
        let files = self.check_files(context, CheckFileScope::Lines, changed).await;
        let Ok(mut now) = files else { return Err(unreadable_files_reason()) };
        let is_changed =
            |name: &&String| self.file_sums.as_ref().is_none_or(|sums| sums.get(*name) != now.get(*name));
        let mut changed: BTreeSet<String> = now.keys().filter(is_changed).cloned().collect();
        // Its lines are those of the start, whatever became of it; but an earlier turn may have written them.
        if let Some(sum) = self.file_sums.as_ref().and_then(|sums| sums.get(origin)) {
            now.insert(origin.clone(), sum.clone());
        } else if self.file_sums.is_none() {
            changed.insert(origin.clone());
        }
        if let Some(baselines) = &self.baselines {
            let workspace = context.session.workspace_key();
            changed.extend(baselines.written_by_turns(&workspace, &now).into_iter().map(str::to_owned));
        }
        if changed.is_empty() { Ok(lines.clone()) } else { Err(changed_check_reason(lines, &changed)) }
    }

    /// The turn is over: what it wrote is no owner's word. Where that cannot be told, the turn stays open, so that
    /// whatever changed since it began counts as written.
    pub(crate) async fn end_turn(&self, context: &TurnContext, checkpoints: &CheckpointTracker) {
        let Some((baselines, before)) = self.baselines.as_ref().zip(self.file_sums.as_ref()) else { return };
        let Ok(changed) = checkpoints.changed_paths().await else { return };
        let now = self.current_file_sums(context, changed).await;
        baselines.end_turn(&context.session.workspace_key(), context.session.id, before, &now).await;
    }

    async fn current_file_sums(&self, context: &TurnContext, changed: Vec<String>) -> FileSums {
        let mut sums =
            self.check_files(context, CheckFileScope::Workspace, changed).await.unwrap_or_default();
        let workspace = context.session.workspace_path.clone();
        let (lines, scope, candidates) = (self.servers.clone(), CheckFileScope::Named, Vec::new());
        let of_servers = FindCheckFiles { workspace, lines, scope, candidates };
        sums.extend(self.runner.workspaces().check_files(of_servers).await.unwrap_or_default());
        sums
    }

    async fn check_files(
        &self,
        context: &TurnContext,
        scope: CheckFileScope,
        changed: Vec<String>,
    ) -> Result<FileSums, String> {
        let workspace = context.session.workspace_path.clone();
        let lines = self.command_lines.clone().unwrap_or_default();
        let candidates = changed.into_iter().chain(self.written_before.iter().cloned()).collect();
        self.runner.workspaces().check_files(FindCheckFiles { workspace, lines, scope, candidates }).await
    }

    /// A file that came in this turn may say how to check; it is named, so that nobody wonders.
    async fn no_commands_reason(&self, context: &TurnContext, why: &str) -> String {
        let workspace = context.session.workspace_path.clone();
        match self.runner.workspaces().documented_checks(workspace).await {
            Some(checks) if context.trusted => format!(
                "not verified: {} came after the turn began, and says nothing of how this turn is checked",
                checks.origin
            ),
            Some(checks) => format!(
                "not verified: {} says how to check this workspace, but the workspace is not trusted (`ostler trust` \
                 changes that)",
                checks.origin
            ),
            None => why.to_owned(),
        }
    }
}

/// Whether anything of the workspace or the session's owner may be run after this turn.
fn allows_commands(context: &TurnContext) -> bool {
    let is_named = !context.session.policy.verify.commands.is_empty();
    (is_named || context.trusted) && context.open_turn.purpose == Purpose::Answer
}

/// The commands that a turn of this session is checked with, and the file of the workspace that names them.
async fn configured_commands(
    context: &TurnContext,
    runner: &dyn Runner,
) -> (Result<Vec<String>, String>, Option<String>) {
    let policy = &context.session.policy.verify;
    if !policy.commands.is_empty() {
        return (Ok(policy.commands.clone()), None);
    }
    let workspace = &context.session.workspace_path;
    match runner.workspaces().settings(workspace.clone()).await.verify_commands {
        Ok(lines) if lines.is_empty() => {}
        Ok(lines) => return (Ok(lines), Some(SETTINGS.to_owned())),
        Err(why) => return (Err(format!("not verified: {why}")), None),
    }
    match runner.workspaces().documented_checks(workspace.clone()).await {
        Some(checks) => (Ok(checks.commands), Some(checks.file)),
        None => (Err("not verified: nothing says how to check this workspace".to_owned()), None),
    }
}

fn changed_check_reason(lines: &[String], changed: &BTreeSet<String>) -> String {
    let files = changed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    format!(
        "not verified: `{}` was not run, because a turn changed {files}, which may decide what it does; look at the change, \
         then run it yourself, or accept it with `ostler trust`",
        lines.join("; ")
    )
}

fn unreadable_files_reason() -> String {
    "not verified: the files that say how to check this workspace cannot be read".to_owned()
}
