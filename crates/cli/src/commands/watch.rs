//! `ostler watch`: what all sessions do, as it happens. On a terminal a line for each session, written again and again;
//! in a pipe a line for each record. It outlives the daemon, and misses nothing that happened in between.

mod catch_up;

use std::time::Duration;

use futures_util::StreamExt;
use ostler_client::{Client, ClientError, EventLine, SessionFilter};
use ostler_types::{EventName, Record};

use super::CommandContext;
use super::reconnect::Reconnect;
use crate::args::WatchArgs;
use crate::connect::find_running;
use crate::exit::CliExit;
use crate::output::{OutputStream, draw, json_line, printable_styled, terminal_size, wait_for_closed_stdout};
use crate::render::{Board, BoardSize, record_line};

use catch_up::ShownRecords;

/// Sessions that are asked for when a daemon is found.
pub(super) const MAX_LISTED_SESSIONS: u32 = 200;
/// How long changes are gathered before they are drawn.
const DRAW_AFTER: Duration = Duration::from_millis(100);

pub(super) async fn watch(setting: CommandContext, args: WatchArgs) -> anyhow::Result<CliExit> {
    let is_drawn = !args.json && !setting.output_manner.plain && OutputStream::Stdout.is_terminal();
    let mut patience = Reconnect::new(setting.output_manner);
    let watched = async {
        let mut lines = RecordPrinter { json: args.json, seen: ShownRecords::new() };
        let mut drawing = BoardScreen::new(&setting);
        loop {
            let lost = match is_drawn {
                true => draw_sessions(&setting, &mut drawing, &mut patience).await,
                false => show_records(&setting, &mut lines, &mut patience).await,
            };
            match lost {
                Ok(()) => {}
                Err(error) if is_transient(&error) => {}
                Err(error) => return Err(error),
            }
            patience.wait_for_retry().await;
            drawing.start_anew();
        }
    };
    tokio::select! {
        failed = watched => failed,
        gone = wait_for_closed_stdout() => Err(gone.into()),
        _ = tokio::signal::ctrl_c() => Ok(CliExit::Success),
    }
}

/// Whether a daemon that is there a little later may do better.
fn is_transient(error: &anyhow::Error) -> bool {
    match error.downcast_ref() {
        Some(ClientError::Unreachable { .. }) => true,
        Some(ClientError::Refused { status, .. }) => matches!(status, 429 | 503),
        Some(ClientError::Protocol(_)) | None => false,
    }
}

/// Shows records as lines, as long as this daemon lives.
async fn show_records(
    setting: &CommandContext,
    lines: &mut RecordPrinter,
    patience: &mut Reconnect,
) -> anyhow::Result<()> {
    let client = find_running(&setting.data_dir).await?;
    // The feed is opened first, so that nothing falls between it and what is read from the logs.
    let mut feed = client.feed(EventName::ALL).await?;
    patience.connected();
    for line in lines.seen.missed_records(&client).await? {
        lines.show(&line)?;
    }
    while let Some(line) = feed.next().await {
        lines.show(&line?)?;
    }
    Ok(())
}

/// Records as lines.
struct RecordPrinter {
    json: bool,
    seen: ShownRecords,
}

impl RecordPrinter {
    fn show(&mut self, line: &EventLine) -> anyhow::Result<()> {
        let Ok(record) = serde_json::from_str::<Record>(&line.raw) else { return Ok(()) };
        if !self.seen.is_new(&record) {
            return Ok(());
        }
        if self.json {
            json_line(&line.raw)?;
        } else {
            say!("{}  {}", record.session_id, record_line(&record));
        }
        Ok(())
    }
}

/// Draws sessions, as long as this daemon lives.
async fn draw_sessions(
    setting: &CommandContext,
    drawing: &mut BoardScreen,
    patience: &mut Reconnect,
) -> anyhow::Result<()> {
    let client = find_running(&setting.data_dir).await?;
    let mut feed = client.feed(EventName::ALL).await?;
    patience.connected();
    drawing.list(&client).await?;
    drawing.draw()?;
    loop {
        let Some(line) = feed.next().await else { return Ok(()) };
        drawing.apply_event(&client, &line?).await?;
        let soon = tokio::time::sleep(DRAW_AFTER);
        tokio::pin!(soon);
        loop {
            tokio::select! {
                () = &mut soon => break,
                line = feed.next() => match line {
                    Some(line) => drawing.apply_event(&client, &line?).await?,
                    None => return Ok(()),
                },
            }
        }
        drawing.draw()?;
    }
}

/// A board on a terminal.
struct BoardScreen {
    board: Board,
    color: bool,
    /// Lines that stand there, to be written again.
    drawn: usize,
}

impl BoardScreen {
    fn new(setting: &CommandContext) -> BoardScreen {
        let color = setting.output_manner.color(OutputStream::Stdout.is_terminal(), &setting.environment);
        BoardScreen { board: Board::default(), color, drawn: 0 }
    }

    /// Something else was printed below: what comes next begins there.
    fn start_anew(&mut self) {
        self.drawn = 0;
    }

    async fn list(&mut self, client: &Client) -> anyhow::Result<()> {
        let filter = SessionFilter {
            archived: Some(false),
            limit: Some(MAX_LISTED_SESSIONS),
            ..SessionFilter::default()
        };
        let sessions = client.list_sessions(&filter).await?.sessions;
        let approvals = client.approvals().await?;
        sessions.into_iter().for_each(|listed| self.board.upsert(listed.view(&approvals)));
        Ok(())
    }

    async fn apply_event(&mut self, client: &Client, line: &EventLine) -> anyhow::Result<()> {
        let Ok(record) = serde_json::from_str::<Record>(&line.raw) else { return Ok(()) };
        if !self.board.contains(record.session_id)
            && let Ok(view) = client.session(record.session_id).await
        {
            self.board.upsert(view);
        }
        self.board.apply(&record);
        Ok(())
    }

    /// Writes the lines again over those that stand there.
    fn draw(&mut self) -> std::io::Result<()> {
        let lines = self.board.draw(size(), self.color);
        let mut text = match self.drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}A"),
        };
        for line in &lines {
            text.push_str("\r\x1b[2K");
            text.push_str(&printable_styled(line));
            text.push('\n');
        }
        text.push_str("\x1b[J");
        self.drawn = lines.len();
        draw(&text)
    }
}

/// The size of the terminal; the last line is left for the cursor.
fn size() -> BoardSize {
    let (columns, rows) = terminal_size().unwrap_or((80, 24));
    BoardSize { columns: columns.max(20), lines: rows.max(3) - 1 }
}
