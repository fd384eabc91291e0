//! How the git repositories of workspaces stand, in the words of the tool `git_status`. It runs git in a sandbox, which takes
//! tens of milliseconds, and the first answer of a new session does not wait for that: the look begins when the session
//! is created, what can be read without git is told at once, and the rest as soon as it is there.

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ostler_context::{ContextMessage, GatheredSectionKind};
use ostler_runner::{Tool, ToolContext};
use ostler_types::SessionId;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::gather::{GatherRequest, GatherSources, ReadCheckedOut};
use crate::prompts;
use crate::repository_shape::{cut_to_budget, read_only_tool};
use crate::single_flight::SingleFlight;

/// The tool that is asked.
const GIT_STATUS_TOOL: &str = "git_status";
/// New sessions of which it is remembered that they are new. One that is forgotten waits for git in its first turn.
const MAX_SESSIONS: usize = 256;
/// Looks at once, beyond which none is begun for a session that has no prompt yet.
const MAX_PREPARED_QUERIES: usize = 4;
/// The least time between two looks that are begun for new sessions of one workspace: many may be created, and never used.
const PREPARE_INTERVAL: Duration = Duration::from_secs(1);
/// The age at which a look no longer says how the repository stands.
const MAX_AGE: Duration = Duration::from_secs(60);
/// Tokens of an answer that are kept, which is more than any budget has.
const MAX_TOKENS: u64 = 4_000;

/// The looks at repositories, and the sessions that they are for.
#[derive(Default)]
pub(crate) struct GitStates {
    single_flight: Arc<SingleFlight<PathBuf, String>>,
    state: Mutex<PendingGitQueries>,
}

#[derive(Default)]
struct PendingGitQueries {
    /// Sessions that are new, or whose model was told that more follows; each with its look, if one was begun.
    sessions: VecDeque<(SessionId, Option<GitQuery>)>,
    /// When a look was last begun for a new session, by workspace.
    prepared: HashMap<PathBuf, Instant>,
    /// The looks that are under way. They end with this.
    tasks: JoinSet<()>,
}

/// A look at a repository, under way or over.
#[derive(Clone)]
struct GitQuery {
    began: Instant,
    seen: watch::Receiver<Option<GitStateSnapshot>>,
}

/// What was seen.
#[derive(Clone, Default)]
struct GitStateSnapshot {
    /// What was checked out when the look began.
    checked_out: Option<String>,
    /// What the tool said; nothing where there is no repository, or git failed.
    text: String,
}

/// Asks how a repository stands.
pub(crate) struct GitStateRequest {
    session: SessionId,
    workspace: PathBuf,
    deadline: Duration,
    tool: Arc<dyn Tool>,
    checked_out: Arc<ReadCheckedOut>,
}

impl GitStateRequest {
    /// The question of a session; none where nobody may be asked.
    pub(crate) fn from_gather_request(
        request: &GatherRequest,
        sources: &GatherSources,
    ) -> Option<GitStateRequest> {
        let tool =
            read_only_tool(&sources.tools, GIT_STATUS_TOOL, &json!({})).filter(|_| request.budget.git > 0)?;
        let (session, workspace, deadline) = (request.session, request.workspace.clone(), request.deadline);
        let (tool, checked_out) = (Arc::clone(tool), Arc::clone(&sources.checked_out));
        Some(GitStateRequest { session, workspace, deadline, tool, checked_out })
    }
}

/// A look that a first bundle is to be told of.
pub(crate) struct FirstGitQuery {
    request: GitStateRequest,
    query: GitQuery,
    asked: Instant,
    /// Whether the session is new, so that nobody waits for git.
    is_new: bool,
}

impl GitStates {
    /// Notes that a session is new, and begins to look for it, unless others are looked for already.
    pub(crate) fn prepare(&self, question: GitStateRequest) {
        let mut state = self.state();
        state.reap();
        let is_recent = |begun: &Instant| begun.elapsed() < PREPARE_INTERVAL;
        let begins = state.tasks.len() < MAX_PREPARED_QUERIES
            && !state.prepared.get(&question.workspace).is_some_and(is_recent);
        let session = question.session;
        let look = begins.then(|| {
            state.prepared.retain(|_, begun| is_recent(begun));
            state.prepared.insert(question.workspace.clone(), Instant::now());
            self.begin(&mut state, question)
        });
        state.remember(session, look);
    }

    /// The look for a first bundle: the one that was prepared, unless it is too old.
    pub(crate) fn first_query(&self, question: GitStateRequest) -> FirstGitQuery {
        let (mut state, asked) = (self.state(), Instant::now());
        state.reap();
        let prepared = state.query_of(question.session);
        let is_new = prepared.is_some();
        let current = prepared.flatten().filter(|look| look.began.elapsed() < MAX_AGE);
        let look = current.unwrap_or_else(|| self.begin(&mut state, question.again()));
        FirstGitQuery { request: question, query: look, asked, is_new }
    }

    /// Adds the state of the repository to a first bundle, or what is known of it by now. `checked_out` is what can be
    /// read without git.
    pub(crate) async fn add_first(
        &self,
        bundle: &mut ContextMessage,
        first: FirstGitQuery,
        checked_out: Option<String>,
        budget: u64,
    ) {
        let FirstGitQuery { request: question, query: mut look, asked, is_new } = first;
        let session = question.session;
        let mut seen = look.seen.borrow().clone();
        if seen.as_ref().is_some_and(|seen| seen.checked_out != checked_out) {
            (look, seen) = (self.begin(&mut self.state(), question), None);
        }
        match (seen, checked_out) {
            (None, Some(checked_out)) if is_new => {
                self.state().remember(session, Some(look));
                bundle.shown.awaits_git = Some(true);
                bundle.push(
                    GatheredSectionKind::Repository,
                    prompts::GIT_HEADING,
                    checked_out + prompts::GIT_PENDING_NOTE,
                );
            }
            (seen, _) => {
                self.state().forget(session);
                let is_older = look.began < asked;
                let seen = match seen {
                    Some(seen) => seen,
                    None => look.wait().await,
                };
                let note = if is_older && !seen.text.is_empty() { prompts::GIT_STALE_NOTE } else { "" };
                bundle.push(
                    GatheredSectionKind::Repository,
                    prompts::GIT_HEADING,
                    with_note(&seen.text, budget, note),
                );
            }
        }
    }

    /// Adds what a first bundle said would follow, if it is there.
    pub(crate) fn add_late(
        &self,
        bundle: &mut ContextMessage,
        session: SessionId,
        question: Option<GitStateRequest>,
        budget: u64,
    ) {
        let mut state = self.state();
        state.reap();
        let text = match (state.query_of(session).flatten(), question) {
            (Some(look), _) => match &*look.seen.borrow() {
                Some(seen) => seen.text.clone(),
                None if look.seen.has_changed().is_ok() => return,
                // Whoever looked is gone.
                None => String::new(),
            },
            // As after a restart.
            (None, Some(question)) => {
                let look = self.begin(&mut state, question);
                return state.remember(session, Some(look));
            }
            (None, None) => String::new(),
        };
        state.forget(session);
        let text = if text.is_empty() {
            prompts::GIT_UNKNOWN_NOTE.to_owned()
        } else {
            with_note(&text, budget, prompts::GIT_STALE_NOTE)
        };
        bundle.shown.awaits_git = Some(false);
        bundle.push(GatheredSectionKind::Repository, prompts::GIT_HEADING, text);
    }

    /// Waits until no look is under way.
    pub(crate) async fn wait_until_idle(&self) {
        loop {
            let looks: Vec<GitQuery> =
                self.state().sessions.iter().filter_map(|(_, look)| look.clone()).collect();
            let is_under_way =
                |look: &GitQuery| look.seen.borrow().is_none() && look.seen.has_changed().is_ok();
            let mut under_way = looks.into_iter().filter(is_under_way);
            let Some(look) = under_way.next() else { return };
            look.wait().await;
        }
    }

    fn begin(&self, state: &mut PendingGitQueries, question: GitStateRequest) -> GitQuery {
        let (sender, seen) = watch::channel(None);
        let shared = Arc::clone(&self.single_flight);
        state.tasks.spawn(async move {
            let seen = query_git(&shared, question).await;
            // Nobody may want to know any more.
            let _ = sender.send(Some(seen));
        });
        GitQuery { began: Instant::now(), seen }
    }

    fn state(&self) -> MutexGuard<'_, PendingGitQueries> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl GitStateRequest {
    fn again(&self) -> GitStateRequest {
        GitStateRequest {
            session: self.session,
            workspace: self.workspace.clone(),
            deadline: self.deadline,
            tool: Arc::clone(&self.tool),
            checked_out: Arc::clone(&self.checked_out),
        }
    }
}

impl GitQuery {
    /// What was seen, once it is. A look that ended without a word has seen nothing.
    async fn wait(mut self) -> GitStateSnapshot {
        let seen = self.seen.wait_for(Option::is_some).await;
        seen.ok().and_then(|seen| seen.clone()).unwrap_or_default()
    }
}

impl PendingGitQueries {
    fn query_of(&self, session: SessionId) -> Option<Option<GitQuery>> {
        self.sessions.iter().find(|(id, _)| *id == session).map(|(_, look)| look.clone())
    }

    fn remember(&mut self, session: SessionId, look: Option<GitQuery>) {
        self.forget(session);
        if self.sessions.len() >= MAX_SESSIONS {
            self.sessions.pop_front();
        }
        self.sessions.push_back((session, look));
    }

    fn forget(&mut self, session: SessionId) {
        self.sessions.retain(|(id, _)| *id != session);
    }

    fn reap(&mut self) {
        while self.tasks.try_join_next().is_some() {}
    }
}

/// Looks at a repository, together with all who ask for the same at once. Each look keeps to the deadline, and nobody
/// waits for more than two.
async fn query_git(shared: &SingleFlight<PathBuf, String>, question: GitStateRequest) -> GitStateSnapshot {
    let (read, place) = (Arc::clone(&question.checked_out), question.workspace.clone());
    let checked_out = tokio::task::spawn_blocking(move || read(&place)).await.ok().flatten();
    let deadline = question.deadline;
    let look = shared.run(question.workspace.clone(), || run_git_status(&question));
    let text = timeout(2 * deadline, look)
        .await
        .unwrap_or_else(|_| prompts::tool_timed_out(GIT_STATUS_TOOL, deadline));
    GitStateSnapshot { checked_out, text }
}

async fn run_git_status(question: &GitStateRequest) -> String {
    let context = ToolContext::new(question.workspace.clone(), question.session, Arc::new(|_, _| {}));
    match timeout(question.deadline, question.tool.run(json!({}), context)).await {
        Ok(outcome) if outcome.ok => cut_to_budget(&outcome.text, MAX_TOKENS),
        // Why it came to nothing is only of use where the model asked for it.
        Ok(_) => String::new(),
        Err(_) => prompts::tool_timed_out(GIT_STATUS_TOOL, question.deadline),
    }
}

/// A text within a budget, with a note beneath it.
fn with_note(text: &str, budget: u64, note: &str) -> String {
    let text = cut_to_budget(text, budget);
    if note.is_empty() { text } else { format!("{text}\n{note}") }
}
