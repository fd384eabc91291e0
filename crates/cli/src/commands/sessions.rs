//! `ostler sessions`: list, show, search, put away, remove, export; and `ostler cancel`.

use std::io::Write;

use anyhow::Context;
use futures_util::StreamExt;
use ostler_api_types::UpdateSession;
use ostler_client::{Client, SessionFilter};
use ostler_types::{Cost, Session, SessionId, SessionView};

use super::CommandContext;
use crate::args::{ListSessions, SessionsCommand};
use crate::connect::{DaemonPurpose, connect_or_start};
use crate::exit::CliExit;
use crate::output::FileOutput;
use crate::render::money;

pub(super) async fn sessions(setting: CommandContext, command: SessionsCommand) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let done = run_sessions_command(&reached.client, command, setting.output_manner.quiet).await;
    reached.stop_when_idle().await;
    done.map(|()| CliExit::Success)
}

pub(super) async fn cancel(setting: CommandContext, id: SessionId) -> anyhow::Result<CliExit> {
    let reached = connect_or_start(
        &setting.data_dir,
        &setting.loaded.config,
        &setting.environment,
        DaemonPurpose::Look,
    )
    .await?;
    let done = reached.client.cancel(id).await;
    reached.stop_when_idle().await;
    let was_running = done?;
    if !setting.output_manner.quiet {
        say!("{}", if was_running { "canceled" } else { "nothing was running" });
    }
    Ok(CliExit::Success)
}

async fn run_sessions_command(
    client: &Client,
    command: SessionsCommand,
    is_quiet: bool,
) -> anyhow::Result<()> {
    match command {
        SessionsCommand::List(list) => show_list(client, filter(&list)?, list.json).await,
        SessionsCommand::Search { query, json } => {
            show_list(client, SessionFilter { q: Some(query), ..SessionFilter::default() }, json).await
        }
        SessionsCommand::Show { id, json } => {
            let view = client.session(id).await?;
            if json {
                crate::output::json(&view)?;
            } else {
                put!("{}", session_text(&view));
            }
            Ok(())
        }
        SessionsCommand::Archive { id, undo } => {
            let change = UpdateSession { archived: Some(!undo), ..UpdateSession::default() };
            client.update(id, &change).await?;
            if !is_quiet {
                say!("{}", if undo { "it is in the list again" } else { "put away; --undo brings it back" });
            }
            Ok(())
        }
        SessionsCommand::Rm { id, purge } => {
            client.delete(id, purge).await?;
            if !is_quiet {
                say!("{}", if purge { "removed, with its log" } else { "closed; its log is kept" });
            }
            Ok(())
        }
        SessionsCommand::Export { id, output } => export(client, id, output.as_deref()).await,
    }
}

fn filter(list: &ListSessions) -> anyhow::Result<SessionFilter> {
    let workspace = match &list.workspace {
        Some(path) => {
            let path = path.canonicalize().with_context(|| format!("{} cannot be used", path.display()))?;
            Some(path.to_string_lossy().into_owned())
        }
        None => None,
    };
    let (status, limit) = (list.status, Some(list.limit));
    Ok(SessionFilter { status, workspace, archived: Some(list.archived), limit, ..SessionFilter::default() })
}

async fn show_list(client: &Client, filter: SessionFilter, json: bool) -> anyhow::Result<()> {
    let page = client.list_sessions(&filter).await?;
    if json {
        let sessions: Vec<&Session> = page.sessions.iter().map(|listed| &listed.session).collect();
        crate::output::json(&sessions)?;
        return Ok(());
    }
    if page.sessions.is_empty() {
        say!("no sessions");
    }
    for listed in &page.sessions {
        say!("{}", session_line(&listed.session));
        if let Some(snippet) = &listed.snippet {
            say!("    {}", snippet.escape_debug());
        }
    }
    if page.next_cursor.is_some() {
        say!("there are more; raise --limit to see them");
    }
    Ok(())
}

fn session_line(session: &Session) -> String {
    let title: String =
        session.title.as_deref().unwrap_or("(no title)").chars().filter(|c| !c.is_control()).collect();
    let at = session.updated_at.to_string();
    let at = at.get(..16).unwrap_or(&at).replace('T', " ");
    let cost = match session.usage.cost_usd {
        Some(cost) if cost > Cost::default() => format!("  {}", money(cost)),
        Some(_) | None => String::new(),
    };
    format!("{}  {at}  {:<16}  {title}{cost}", session.id, session.status.as_str())
}

fn session_text(view: &SessionView) -> String {
    let session = &view.session;
    let mut text = format!("{}\n", session_line(session));
    let mut row = |name: &str, value: String| text.push_str(&format!("  {name:<10} {value}\n"));
    row("workspace", session.workspace_path.clone());
    row("agent", format!("{} with {}", session.agent, session.model));
    row(
        "turns",
        format!(
            "{}, the newest {}",
            view.turns.len(),
            session.last_turn_id.map_or("none".to_owned(), |id| id.to_string())
        ),
    );
    row("tokens", format!("{} in, {} out", session.usage.input_tokens, session.usage.output_tokens));
    if let Some(cost) = session.usage.cost_usd {
        row("cost", money(cost));
    }
    row("queue", view.queue.len().to_string());
    for approval in &view.pending_approvals {
        row(
            "waits",
            format!("{} {}: {}", approval.tool_call_id, approval.tool, approval.summary.escape_debug()),
        );
    }
    text
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
