//! `ostler sessions`: list, show, search, archive, close, remove, export; and `ostler cancel`.

use std::io::{IsTerminal, Write};

use anyhow::Context;
use futures_util::StreamExt;
use jiff::Timestamp;
use ostler_api_types::UpdateSession;
use ostler_client::{Client, SessionFilter};
use ostler_types::{Session, SessionId, SessionView, TurnStatus};

use super::CommandContext;
use super::confirm::confirm;
use crate::args::{ListSessions, SessionRef, SessionStatusFilter, SessionsCommand};
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::output::{FileOutput, OutputStream, styled, terminal_size};
use crate::render::{SessionRow, SessionState, counted, money, session_line, session_table, title};
use crate::resolve::remember_list;

/// Sessions that are fetched when some of them are filtered out here.
const MAX_FETCHED: u32 = 200;
/// Columns of a terminal that does not tell its size.
const DEFAULT_COLUMNS: usize = 80;
/// Turns that `show` lists.
const MAX_SHOWN_TURNS: usize = 20;

pub(super) async fn sessions(setting: CommandContext, command: SessionsCommand) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let done = run_sessions_command(&setting, &reached.client, command).await;
    reached.stop_when_idle().await;
    done.map(|()| CliExit::Success)
}

pub(super) async fn cancel(setting: CommandContext, id: Option<SessionRef>) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let done = async {
        let id = setting.finder(&reached.client).running_session(id.as_ref()).await?;
        anyhow::Ok(reached.client.cancel(id).await?)
    };
    let done = done.await;
    reached.stop_when_idle().await;
    let was_running = done?;
    if !setting.output_manner.quiet {
        say!("{}", if was_running { "canceled" } else { "nothing was running" });
    }
    Ok(CliExit::Success)
}

async fn run_sessions_command(
    setting: &CommandContext,
    client: &Client,
    command: SessionsCommand,
) -> anyhow::Result<()> {
    let finder = setting.finder(client);
    let is_quiet = setting.output_manner.quiet;
    match command {
        SessionsCommand::List(list) => {
            show_list(setting, client, filter(&list)?, list.status, list.limit, list.json).await
        }
        SessionsCommand::Search { query, json } => {
            let filter = SessionFilter { q: Some(query), ..SessionFilter::default() };
            show_list(setting, client, filter, None, MAX_FETCHED, json).await
        }
        SessionsCommand::Show { id, json } => {
            let view = client.session(finder.session_or_only(id.as_ref()).await?).await?;
            if json {
                crate::output::json(&view)?;
            } else {
                put!("{}", session_text(&view));
            }
            Ok(())
        }
        SessionsCommand::Archive { id, undo } => {
            let id = finder.session(&id).await?;
            let change = UpdateSession { archived: Some(!undo), ..UpdateSession::default() };
            client.update(id, &change).await?;
            if !is_quiet {
                say!("{} {id}", if undo { "unarchived" } else { "archived; `--undo` restores it:" });
            }
            Ok(())
        }
        SessionsCommand::Close { id } => close(client, finder.session(&id).await?, false, is_quiet).await,
        SessionsCommand::Rm { id, purge, yes } => {
            let id = finder.session(&id).await?;
            if purge && !yes && std::io::stdin().is_terminal() && !confirm_purge(client, id).await? {
                anyhow::bail!("nothing was removed");
            }
            close(client, id, purge, is_quiet).await
        }
        SessionsCommand::Export { id, output } => {
            export(client, finder.session_or_only(id.as_ref()).await?, output.as_deref()).await
        }
    }
}

async fn close(client: &Client, id: SessionId, purge: bool, is_quiet: bool) -> anyhow::Result<()> {
    client.delete(id, purge).await?;
    if !is_quiet {
        say!("{} {id}", if purge { "removed, with its log:" } else { "closed; its log is kept:" });
    }
    Ok(())
}

/// Whether a session in this state passes a filter that the daemon does not know.
fn includes(wanted: SessionStatusFilter, state: SessionState) -> bool {
    match wanted {
        SessionStatusFilter::Running => state == SessionState::Running,
        SessionStatusFilter::Idle => state == SessionState::Idle,
        SessionStatusFilter::Stored(_) => true,
    }
}

/// Asks before files are lost.
async fn confirm_purge(client: &Client, id: SessionId) -> anyhow::Result<bool> {
    let session = client.session(id).await?.session;
    let name = title(&session);
    confirm(&format!("Remove \"{name}\" ({id}) and all of its files? This cannot be undone."), false).await
}

fn filter(list: &ListSessions) -> anyhow::Result<SessionFilter> {
    let workspace = match &list.workspace {
        Some(path) => {
            let path = path.canonicalize().with_context(|| format!("{} cannot be used", path.display()))?;
            Some(path.to_string_lossy().into_owned())
        }
        None => None,
    };
    let status = list.status.and_then(SessionStatusFilter::stored_status);
    let is_filtered_here = list.status.is_some_and(|status| status.stored_status().is_none());
    let limit = Some(if is_filtered_here { MAX_FETCHED } else { list.limit });
    Ok(SessionFilter { status, workspace, archived: Some(list.archived), limit, ..SessionFilter::default() })
}

async fn show_list(
    setting: &CommandContext,
    client: &Client,
    filter: SessionFilter,
    wanted: Option<SessionStatusFilter>,
    limit: u32,
    json: bool,
) -> anyhow::Result<()> {
    let page = client.list_sessions(&filter).await?;
    let has_more = page.next_cursor.is_some();
    let mut rows: Vec<SessionRow> = page
        .sessions
        .into_iter()
        .map(|listed| SessionRow {
            state: SessionState::new(listed.session.status, listed.running_turn_id.is_some()),
            session: listed.session,
            snippet: listed.snippet,
        })
        .collect();
    rows.retain(|row| wanted.is_none_or(|wanted| includes(wanted, row.state)));
    rows.truncate(limit as usize);
    if json {
        let sessions: Vec<&Session> = rows.iter().map(|row| &row.session).collect();
        crate::output::json(&sessions)?;
        return Ok(());
    }
    if rows.is_empty() {
        say!("no sessions");
        return Ok(());
    }
    // Those that wait for somebody come first; the order is otherwise that of the daemon.
    rows.sort_by_key(|row| row.state != SessionState::NeedsApproval);
    if OutputStream::Stdout.is_terminal() {
        let ids: Vec<SessionId> = rows.iter().map(|row| row.session.id).collect();
        remember_list(&setting.data_dir, &ids);
        let columns = terminal_size().map_or(DEFAULT_COLUMNS, |(columns, _)| columns);
        let color = setting.output_manner.color(true, &setting.environment);
        styled(OutputStream::Stdout, &session_table(&rows, Timestamp::now(), columns, color))?;
    } else {
        for row in &rows {
            say!("{}", session_line(row));
            if let Some(snippet) = &row.snippet {
                say!("    {}", snippet.escape_debug());
            }
        }
    }
    if has_more {
        say!("there are more; raise --limit to see them");
    }
    Ok(())
}

fn session_text(view: &SessionView) -> String {
    let session = &view.session;
    let state = SessionState::new(session.status, view.running_turn_id.is_some());
    let mut text = format!("{}  {}\n", session.id, title(session));
    let mut row = |name: &str, value: String| text.push_str(&format!("  {name:<10} {value}\n"));
    row("state", state.as_str().to_owned());
    row("workspace", session.workspace_path.clone());
    row("agent", format!("{} with {}", session.agent, session.model));
    row("tokens", format!("{} in, {} out", session.usage.input_tokens, session.usage.output_tokens));
    if let Some(cost) = session.usage.cost_usd {
        row("cost", money(cost));
    }
    row("queue", counted(view.queue.len() as u64, "message"));
    for approval in &view.pending_approvals {
        row(
            "pending",
            format!("{} {}: {}", approval.tool_call_id, approval.tool, approval.summary.escape_debug()),
        );
    }
    for (number, turn) in (1..).zip(view.turns.iter().rev().take(MAX_SHOWN_TURNS)) {
        let at = turn.started_at.to_string();
        let at = at.get(..16).unwrap_or(&at).replace('T', " ");
        text.push_str(&format!("  turn {number:<5} {}  {at}  {}\n", turn.id, turn_state(turn.status)));
    }
    text
}

fn turn_state(status: TurnStatus) -> &'static str {
    match status {
        TurnStatus::Running => "running",
        TurnStatus::Completed => "completed",
        TurnStatus::Failed => "failed",
        TurnStatus::Canceled => "canceled",
    }
}

async fn export(client: &Client, id: SessionId, output: Option<&std::path::Path>) -> anyhow::Result<()> {
    let mut out: Box<dyn Write> = match output {
        Some(path) => {
            Box::new(std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?)
        }
        None => Box::new(FileOutput::default()),
    };
    let mut events = client.export(id).await?;
    while let Some(line) = events.next().await {
        writeln!(out, "{}", line?.raw)?;
    }
    Ok(out.flush()?)
}
