//! How a workspace is checked, as it stood when the turn began. What is written in a turn, and what turns before it have
//! written, decides nothing by itself: a check that it has changed is not run, and the turn's end says so.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::BoxFuture;
use ostler_agent::TurnContext;
use ostler_types::{Purpose, ToolKind};

use crate::baselines::Baselines;
use crate::project;
use crate::recipes::{self, Sums};

/// Where a daemon finds out how trusted workspaces are checked.
pub struct WorkspaceChecks {
    /// Finds the commands that the settings of a trusted workspace name; none where they say nothing. An error says why
    /// they cannot be used.
    pub settings: SettingsChecks,
    /// What turns have written into the files that decide what checks run.
    pub baselines: Arc<Baselines>,
}

/// Reads the settings of a workspace.
pub type SettingsChecks =
    Arc<dyn Fn(PathBuf) -> BoxFuture<'static, Result<Vec<String>, String>> + Send + Sync>;

/// How a turn is checked.
pub(crate) struct Start {
    pub(crate) lines: Result<Vec<String>, String>,
    /// The file that names the lines, where it is one of the workspace and not the session's owner.
    origin: Option<&'static str>,
    /// The files that decide what is run, as they were; unknown of a turn that was picked up by another process.
    sums: Option<Sums>,
    /// Whether programs are only run after somebody agreed.
    asks: bool,
    own: Option<Arc<WorkspaceChecks>>,
}

impl Start {
    /// Looks at a workspace before the turn changes it, or as it is when the turn is picked up.
    pub(crate) async fn of(context: &TurnContext, own: Option<Arc<WorkspaceChecks>>) -> Start {
        if !may_run(context) {
            let lines = Err("not verified: nothing says how to check this workspace".to_owned());
            return Start { lines, origin: None, sums: None, asks: true, own: None };
        }
        let (lines, origin) = lines(context, own.as_deref()).await;
        let approval = &context.session.policy.approval;
        let by_name =
            approval.require_for_tools.iter().any(|tool| matches!(tool.as_str(), "shell" | "verify"));
        let asks = by_name || approval.require_for_kinds.contains(&ToolKind::Exec);
        let mut start = Start { lines, origin, sums: None, asks, own };
        if !context.session.policy.verify.commands.is_empty() {
            return start;
        }
        let workspace = PathBuf::from(&context.session.workspace_path);
        let is_new = context.open.steps == 0 && !context.open.changed;
        let begun = || start.own.as_ref()?.baselines.begun(&workspace, context.session.id);
        start.sums = if is_new { Some(start.now(&workspace).await) } else { begun() };
        if let (true, Some(own), Some(sums)) = (is_new, &start.own, &start.sums) {
            own.baselines.begin(&workspace, context.session.id, sums);
        }
        start
    }

    /// The lines to run, or why none is.
    pub(crate) async fn commands(&self, context: &TurnContext) -> Result<Vec<String>, String> {
        let lines = match &self.lines {
            Ok(lines) => lines,
            Err(why) => return Err(self.why_none(context, why).await),
        };
        let Some(origin) = self.origin.filter(|_| self.asks) else { return Ok(lines.clone()) };
        let workspace = PathBuf::from(&context.session.workspace_path);
        let looked_at = {
            let (workspace, lines) = (workspace.clone(), lines.clone());
            tokio::task::spawn_blocking(move || deciding(&workspace, &lines))
        };
        let Ok(mut now) = looked_at.await else { return Err(unreadable()) };
        let is_changed =
            |name: &&String| self.sums.as_ref().is_none_or(|sums| sums.get(*name) != now.get(*name));
        let mut changed: BTreeSet<String> = now.keys().filter(is_changed).cloned().collect();
        // Its lines are those of the start, whatever became of it; but an earlier turn may have written them.
        if let Some(sum) = self.sums.as_ref().and_then(|sums| sums.get(origin)) {
            now.insert(origin.to_owned(), sum.clone());
        } else if self.sums.is_none() {
            changed.insert(origin.to_owned());
        }
        if let Some(own) = &self.own {
            changed.extend(own.baselines.written(&workspace, &now).into_iter().map(str::to_owned));
        }
        if changed.is_empty() { Ok(lines.clone()) } else { Err(not_run(lines, &changed)) }
    }

    /// The turn is over: what it wrote is no owner's word.
    pub(crate) async fn end(&self, context: &TurnContext) {
        let Some((own, before)) = self.own.as_ref().zip(self.sums.as_ref()) else { return };
        let workspace = PathBuf::from(&context.session.workspace_path);
        let now = self.now(&workspace).await;
        own.baselines.end(&workspace, context.session.id, before, &now);
    }

    async fn now(&self, workspace: &Path) -> Sums {
        let (workspace, lines) = (workspace.to_owned(), self.lines.clone().unwrap_or_default());
        let sums = tokio::task::spawn_blocking(move || recipes::of_workspace(&workspace, &lines));
        sums.await.unwrap_or_default()
    }

    /// A file that came in this turn may say how to check; it is named, so that nobody wonders.
    async fn why_none(&self, context: &TurnContext, why: &str) -> String {
        let workspace = PathBuf::from(&context.session.workspace_path);
        let found = tokio::task::spawn_blocking(move || project::checks(&workspace)).await.ok().flatten();
        match found {
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
fn may_run(context: &TurnContext) -> bool {
    let is_named = !context.session.policy.verify.commands.is_empty();
    (is_named || context.trusted) && context.open.purpose == Purpose::Answer
}

/// The commands that a turn of this session is checked with, and the file of the workspace that names them.
async fn lines(
    context: &TurnContext,
    own: Option<&WorkspaceChecks>,
) -> (Result<Vec<String>, String>, Option<&'static str>) {
    let policy = &context.session.policy.verify;
    if !policy.commands.is_empty() {
        return (Ok(policy.commands.clone()), None);
    }
    let workspace = PathBuf::from(&context.session.workspace_path);
    if let Some(own) = own {
        match (own.settings)(workspace.clone()).await {
            Ok(lines) if lines.is_empty() => {}
            Ok(lines) => return (Ok(lines), Some(".ostler/config.toml")),
            Err(why) => return (Err(format!("not verified: {why}")), None),
        }
    }
    let found = tokio::task::spawn_blocking(move || project::checks(&workspace)).await.ok().flatten();
    match found {
        Some(checks) => (Ok(checks.commands), Some(checks.file)),
        None => (Err("not verified: nothing says how to check this workspace".to_owned()), None),
    }
}

/// The files that decide what these lines run, as they are now. Blocks.
fn deciding(workspace: &Path, lines: &[String]) -> Sums {
    lines.iter().flat_map(|line| recipes::of_line(workspace, line)).collect()
}

fn not_run(lines: &[String], changed: &BTreeSet<String>) -> String {
    let files = changed.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    format!(
        "not verified: `{}` was not run, because a turn changed {files}, which decides what it does; look at the change, \
         then run it yourself, or accept it with `ostler trust`",
        lines.join("; ")
    )
}

fn unreadable() -> String {
    "not verified: the files that say how to check this workspace cannot be read".to_owned()
}
