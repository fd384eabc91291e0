//! Finds the session, the turn or the call that a person means: by id, by a unique start of one, by its number in the list
//! that was printed last, as the newest one, or without a name where there is only one candidate.

use std::path::Path;

use anyhow::{Context, bail};
use ostler_client::{Client, SessionFilter};
use ostler_types::{PendingApproval, Session, SessionId, TurnId, in_one_line};
use ostler_workspace_fs::{ConcurrentWriters, ReplaceOptions, replace_file};

use crate::args::{SessionRef, TurnRef};

/// The ids of the last printed list, a line each.
const LIST_FILE: &str = "last-list";
/// Pages of sessions that are searched for a prefix, and sessions on a page.
const MAX_PAGES: u32 = 100;
const PAGE_SESSIONS: u32 = 200;
/// Candidates that are named when there are several.
const MAX_CANDIDATES: usize = 10;
/// Characters of a title in a list of candidates.
const TITLE_CHARS: usize = 60;

/// Where a session is looked for.
pub(crate) struct SessionFinder<'a> {
    pub(crate) client: &'a Client,
    pub(crate) data_dir: &'a Path,
    /// Whether the session that was found without a name is not to be mentioned.
    pub(crate) is_quiet: bool,
}

impl SessionFinder<'_> {
    /// The session that was named, or the only one of this directory.
    pub(crate) async fn session_or_only(&self, given: Option<&SessionRef>) -> anyhow::Result<SessionId> {
        match given {
            Some(given) => self.session(given).await,
            None => self.only_session(|_| true, "").await,
        }
    }

    /// The session that was named, or the only one of this directory whose turn runs.
    pub(crate) async fn running_session(&self, given: Option<&SessionRef>) -> anyhow::Result<SessionId> {
        match given {
            Some(given) => self.session(given).await,
            None => self.only_session(|is_running| is_running, "running ").await,
        }
    }

    /// The session that was named.
    pub(crate) async fn session(&self, given: &SessionRef) -> anyhow::Result<SessionId> {
        match given {
            SessionRef::Id(id) => Ok(*id),
            SessionRef::Last => {
                let filter =
                    SessionFilter { archived: Some(false), limit: Some(1), ..SessionFilter::default() };
                let newest = self.client.list_sessions(&filter).await?.sessions.pop();
                newest.map(|listed| listed.session.id).context("there are no sessions yet")
            }
            SessionRef::Number(number) => listed_session(self.data_dir, *number).with_context(|| {
                format!("the last printed list has no number {number}; `ostler sessions` prints one")
            }),
            SessionRef::Prefix(prefix) => self.session_with_prefix(prefix).await,
        }
    }

    async fn session_with_prefix(&self, prefix: &str) -> anyhow::Result<SessionId> {
        let start = format!("sess_{prefix}");
        let filter = SessionFilter { children: true, ..SessionFilter::default() };
        let mut found = self.sessions(filter).await?;
        found.retain(|(session, _)| session.id.to_string().starts_with(&start));
        match found.as_slice() {
            [(session, _)] => Ok(session.id),
            [] => bail!("no session matches `{start}`; `ostler sessions` lists all sessions"),
            several => bail!("{} sessions match `{start}`:\n{}", several.len(), candidates(several)),
        }
    }

    async fn only_session(
        &self,
        is_candidate: impl Fn(bool) -> bool,
        kind: &str,
    ) -> anyhow::Result<SessionId> {
        let here = std::env::current_dir().and_then(|here| here.canonicalize());
        let here = here.context("the current directory cannot be read; name a session")?;
        let filter = SessionFilter {
            workspace: Some(here.to_string_lossy().into_owned()),
            archived: Some(false),
            ..SessionFilter::default()
        };
        let mut found = self.sessions(filter).await?;
        found.retain(|(_, is_running)| is_candidate(*is_running));
        match found.as_slice() {
            [(session, _)] => {
                if !self.is_quiet {
                    report!("using {}", candidate(session));
                }
                Ok(session.id)
            }
            [] => bail!("no {kind}session in {}; name one (`ostler sessions` lists all)", here.display()),
            several => bail!(
                "{} {kind}sessions in {}; name one, or use `last`:\n{}",
                several.len(),
                here.display(),
                candidates(several)
            ),
        }
    }

    /// All sessions that pass a filter, and whether a turn of each is running.
    async fn sessions(&self, mut filter: SessionFilter) -> anyhow::Result<Vec<(Session, bool)>> {
        filter.limit = Some(PAGE_SESSIONS);
        let mut sessions = Vec::new();
        for _ in 0..MAX_PAGES {
            let page = self.client.list_sessions(&filter).await?;
            sessions.extend(
                page.sessions.into_iter().map(|listed| (listed.session, listed.running_turn_id.is_some())),
            );
            match page.next_cursor {
                Some(cursor) => filter.cursor = Some(cursor),
                None => break,
            }
        }
        Ok(sessions)
    }

    /// A turn of a session.
    pub(crate) async fn turn(&self, id: SessionId, given: &TurnRef) -> anyhow::Result<TurnId> {
        let start = match given {
            TurnRef::Id(turn) => return Ok(*turn),
            TurnRef::Number(number) => {
                let turns = self.client.session(id).await?.turns;
                let turn = number.checked_sub(1).and_then(|back| turns.iter().rev().nth(back));
                return turn.map(|turn| turn.id).with_context(|| {
                    format!("there is no turn {number} of {id}; `ostler sessions show {id}` lists its turns")
                });
            }
            TurnRef::Prefix(prefix) => format!("turn_{prefix}"),
        };
        let turns = self.client.session(id).await?.turns;
        let found: Vec<TurnId> =
            turns.iter().map(|turn| turn.id).filter(|turn| turn.to_string().starts_with(&start)).collect();
        match found.as_slice() {
            [turn] => Ok(*turn),
            [] => bail!("no turn of {id} matches `{start}`; `ostler sessions show {id}` lists its turns"),
            several => {
                let names: Vec<String> = several.iter().map(|turn| format!("  {turn}")).collect();
                bail!("{} turns match `{start}`:\n{}", several.len(), names.join("\n"))
            }
        }
    }
}

/// The pending call that was named by its id or the start of one, or the only one.
pub(crate) fn pending_call(
    pending: Vec<PendingApproval>,
    given: Option<&str>,
) -> anyhow::Result<PendingApproval> {
    let exact = |approval: &PendingApproval| given.is_some_and(|given| approval.tool_call_id.0 == given);
    let matches =
        |approval: &PendingApproval| given.is_none_or(|given| approval.tool_call_id.0.starts_with(given));
    let has_exact = pending.iter().any(exact);
    let mut found: Vec<PendingApproval> = pending
        .into_iter()
        .filter(|approval| if has_exact { exact(approval) } else { matches(approval) })
        .collect();
    match (found.len(), given) {
        (1, _) => Ok(found.remove(0)),
        (0, Some(given)) => {
            bail!("no pending call matches `{given}`; `ostler approve` lists pending approvals")
        }
        (0, None) => bail!("no pending approvals"),
        (count, _) => {
            let names = found.iter().take(MAX_CANDIDATES).map(|approval| {
                let summary = in_one_line(&approval.summary, TITLE_CHARS);
                format!("  {} {}  {summary}", approval.session_id, approval.tool_call_id)
            });
            bail!("{count} calls need approval; name one:\n{}", names.collect::<Vec<_>>().join("\n"))
        }
    }
}

fn candidates(sessions: &[(Session, bool)]) -> String {
    let mut lines: Vec<String> = sessions
        .iter()
        .take(MAX_CANDIDATES)
        .map(|(session, _)| format!("  {}", candidate(session)))
        .collect();
    if sessions.len() > MAX_CANDIDATES {
        lines.push(format!("  … and {} more", sessions.len() - MAX_CANDIDATES));
    }
    lines.join("\n")
}

fn candidate(session: &Session) -> String {
    format!("{}  {}", session.id, in_one_line(session.title.as_deref().unwrap_or("(no title)"), TITLE_CHARS))
}

/// Remembers a list that was printed with numbers. Failing to is no reason to fail the command.
pub(crate) fn remember_list(data_dir: &Path, ids: &[SessionId]) {
    let text: String = ids.iter().map(|id| format!("{id}\n")).collect();
    let options = ReplaceOptions { writers: ConcurrentWriters::Several, ..ReplaceOptions::CACHE };
    _ = replace_file(&data_dir.join(LIST_FILE), text.as_bytes(), options);
}

fn listed_session(data_dir: &Path, number: usize) -> Option<SessionId> {
    let text = std::fs::read_to_string(data_dir.join(LIST_FILE)).ok()?;
    text.lines().nth(number.checked_sub(1)?)?.parse().ok()
}
