//! Draws the model. It changes nothing in it but where things stand on the screen: what was laid out, how far the
//! transcript is scrolled, what can be clicked.

mod approval_panel;
mod entries;
mod layout_cache;
mod overlay;
mod pages;
mod review;
mod sidebar;
mod status_bar;
mod transcript;

use ostler_types::SessionId;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::text::Line;

use crate::model::TuiModel;
use crate::picture::{PictureProtocol, take_placed};

pub(crate) use layout_cache::LayoutCache;
pub(crate) use pages::{HELP, context_lines, undo_lines};
pub(crate) use sidebar::status_mark;

/// Something that was clicked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClickTarget {
    /// A session of the list.
    Session(SessionId),
    /// An entry of the transcript.
    Entry(u64),
}

/// How wide the list of sessions is.
const SIDEBAR: u16 = 30;
/// How wide a transcript may be; longer lines are hard to read.
const MAX_TRANSCRIPT_WIDTH: u16 = 120;

/// Draws everything.
pub fn view(model: &mut TuiModel, frame: &mut Frame<'_>) {
    let area = frame.area();
    model.size = (area.width, area.height);
    model.click_targets.clear();
    if area.width < 10 || area.height < 4 {
        put_line(frame.buffer_mut(), area, 0, &Line::from("terminal too small"));
        return;
    }
    let (side, main) = columns(model, area);
    if let Some(side) = side {
        sidebar::draw(model, side, frame.buffer_mut());
    }
    let rows = status_bar::status_bar_layout(model, main);
    let header = Rect { height: 1, ..main };
    let body = Rect { y: main.y + 1, height: rows.top.saturating_sub(main.y + 1), ..main };
    sidebar::draw_header(model, header, frame.buffer_mut());
    if model.focused().is_some() {
        transcript::draw(model, body, frame.buffer_mut());
    } else {
        pages::welcome(model, body, frame.buffer_mut());
    }
    let cursor = status_bar::draw(model, &rows, frame.buffer_mut());
    let cursor = overlay::draw(model, area, frame.buffer_mut()).unwrap_or(cursor);
    if let Some(cursor) = cursor {
        frame.set_cursor_position(cursor);
    }
    // Kitty draws pictures by itself; for the others their places are left empty.
    if matches!(model.pictures.protocol, PictureProtocol::Iterm | PictureProtocol::Sixel) {
        model.pictures.placed = take_placed(frame.buffer_mut(), |number| model.pictures.shown(number));
    }
}

/// What stands at a place of the screen.
pub(crate) fn click_target(model: &TuiModel, column: u16, row: u16) -> Option<ClickTarget> {
    let at = Position { x: column, y: row };
    model.click_targets.iter().rev().find(|(area, _)| area.contains(at)).map(|(_, clicked)| *clicked)
}

/// How many cells a line of the composer has.
pub(crate) fn composer_cells(model: &TuiModel) -> usize {
    let area = Rect { x: 0, y: 0, width: model.size.0, height: model.size.1 };
    usize::from(columns(model, area).1.width.saturating_sub(3)).max(2)
}

/// The list of sessions, if there is room and wish for it, and the rest.
fn columns(model: &TuiModel, area: Rect) -> (Option<Rect>, Rect) {
    if !model.shows_sidebar() {
        return (None, area);
    }
    let side = Rect { width: SIDEBAR, ..area };
    let main = Rect { x: area.x + SIDEBAR, width: area.width - SIDEBAR, ..area };
    (Some(side), main)
}

/// Writes a line into a row of an area; what does not fit is left out.
fn put_line(buffer: &mut Buffer, area: Rect, row: u16, line: &Line<'_>) {
    if row < area.height {
        buffer.set_line(area.x, area.y + row, line, area.width);
    }
}
