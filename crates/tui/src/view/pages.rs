//! Pages of words: the one that begins a session, the keys, what the model is shown, what an undo would do.

use ostler_api_types::{ContextView, InputPart, Undone};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

use super::put_line;
use super::sidebar::status_mark;
use crate::model::{DaemonLinkState, FirstContent, TuiModel};
use crate::text::sanitize::sanitize_line;
use crate::text::wrap::{shorten, wrap};
use crate::theme::StyleRole;

/// The keys, for people.
pub(crate) const HELP: &str = "\
enter         send; while a turn runs: queue
alt+enter     new line (also ctrl+j, shift+enter, \\ enter)
ctrl+t        steer: send before the model's next step
ctrl+x        interrupt: stop the turn and send this instead
esc esc       stop the turn      ctrl+c  clear, stop, quit
tab           focus: composer, approval, transcript
              in the transcript: up/down, enter folds, y copies
ctrl+o        sessions           ctrl+n  new session
alt+up/down   previous or next session
alt+n         next session that needs approval
ctrl+b        toggle the session list
ctrl+p        command palette    /       commands by name
@             files              !       run a shell command
ctrl+f        find in this session
ctrl+g        open an editor
alt+e         expand pasted text
alt+t         fold or unfold thinking
alt+m         approval mode
page up/down  scroll             ctrl+end  to the end
ctrl+z        suspend            ctrl+l  redraw
ctrl+d        quit; sessions keep running

approval:     y once · s this session · a always · n deny
              w deny with a reason · < > scroll · arrows choose
review:       left right files · j k hunks · space reverts
queue:        /queue, then e edit · J K move · s steer · d drop";

/// The page that begins a session.
pub(super) fn welcome(model: &TuiModel, area: Rect, buffer: &mut Buffer) {
    let theme = &model.theme;
    let cells = usize::from(area.width.saturating_sub(4));
    let inner = Rect { x: area.x + 2, width: area.width.saturating_sub(4), ..area };
    let dim = theme.style(StyleRole::Dim);
    let place = crate::formatting::short_path(&model.workspace, model.home.as_deref());
    let mut lines = vec![
        Line::default(),
        Line::from(vec![
            Span::styled("ostler", theme.style(StyleRole::Accent)),
            Span::styled(format!("  in {place}"), dim),
        ]),
        Line::default(),
    ];
    if let Some(creating) = &model.creating {
        let text = match &creating.first {
            FirstContent::Message(message) => {
                message.parts.iter().find_map(InputPart::as_text).map(|text| sanitize_line(text, 300))
            }
            FirstContent::File(path) => Some(sanitize_line(path, 300)),
        };
        let word = if creating.held { "waiting for the connection" } else { "starting" };
        let said = [(format!("{word}: {}", text.unwrap_or_default()), theme.style(StyleRole::User))];
        lines.extend(wrap(&said, cells, &[], &[]));
    } else {
        let hint = match model.link {
            DaemonLinkState::Live => "Describe a task to start a session.",
            DaemonLinkState::Connecting => "Looking for the daemon…",
            DaemonLinkState::Lost { starting: true, .. } => "Starting a daemon in the background…",
            DaemonLinkState::Lost { starting: false, .. } => "No daemon is running. ctrl+r starts one.",
        };
        lines.extend(wrap(&[(hint.to_owned(), theme.style(StyleRole::Text))], cells, &[], &[]));
        lines.push(Line::default());
        lines.extend(recent(model, cells));
    }
    for (row, line) in (0u16..).zip(&lines) {
        put_line(buffer, inner, row, line);
    }
}

/// Sessions that were worked on here before.
fn recent(model: &TuiModel, cells: usize) -> Vec<Line<'static>> {
    let theme = &model.theme;
    let here = model.list.iter().filter(|listed| listed.session().workspace_path == model.workspace);
    let mut lines: Vec<Line<'static>> = here
        .take(8)
        .map(|listed| {
            let ago = crate::formatting::ago(model.unix_seconds - listed.session().updated_at.as_second());
            Line::from(vec![
                Span::styled(format!("{} ", status_mark(listed)), theme.style(StyleRole::Accent)),
                Span::raw(shorten(&model.title_of(listed.session()), cells.saturating_sub(10))),
                Span::styled(format!("  {ago}"), theme.style(StyleRole::Dim)),
            ])
        })
        .collect();
    if !lines.is_empty() {
        let style = theme.style(StyleRole::Dim).add_modifier(Modifier::ITALIC);
        lines.insert(0, Line::styled("Recent sessions here (ctrl+o):", style));
    }
    lines
}

/// What the model is shown, in lines.
pub(crate) fn context_lines(context: &ContextView) -> Vec<String> {
    let window =
        context.window.map(|window| format!(" of {}", crate::formatting::tokens(window))).unwrap_or_default();
    let percent = context.percent.map(|percent| format!(" ({percent:.0} %)")).unwrap_or_default();
    let mut lines = vec![
        format!("{}{window}{percent}", crate::formatting::tokens(context.tokens)),
        format!("{} messages, {}", context.messages, sanitize_line(&context.model, 80)),
        String::new(),
    ];
    lines.extend(context.sections.iter().map(|share| {
        let tokens = crate::formatting::tokens(share.section.tokens);
        format!("{:>5.1} %  {:<28} {tokens}", share.percent, sanitize_line(&share.section.name, 28))
    }));
    lines.push(String::new());
    lines.push("/compact shortens it".to_owned());
    lines
}

/// What an undo would do, in lines.
pub(crate) fn undo_lines(undone: &Undone) -> Vec<String> {
    let mut lines = Vec::new();
    let all = [
        ("will be reverted", &undone.restored),
        ("will be recreated", &undone.recreated),
        ("will be deleted", &undone.deleted),
    ];
    for (word, paths) in all {
        lines.extend(paths.iter().map(|path| format!("{word}: {}", sanitize_line(path, 200))));
    }
    for left in undone.conflicts.iter().chain(&undone.left_out) {
        lines.push(format!(
            "will be skipped: {} ({})",
            sanitize_line(&left.path, 200),
            sanitize_line(&left.why, 200)
        ));
    }
    if lines.is_empty() {
        lines.push("Nothing to revert".to_owned());
    }
    if !undone.note.is_empty() {
        lines.push(sanitize_line(&undone.note, 400));
    }
    lines
}
