//! The terminal: taken for as long as we draw, and given back however that ends. Knows nothing of what is drawn.

use std::io::{self, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crossterm::cursor::Show;
use crossterm::event::{
    DisableBracketedPaste, DisableMouseCapture, EnableBracketedPaste, EnableMouseCapture,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::execute;
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::backend::CrosstermBackend;
use ratatui::{Frame, Terminal};

/// How much can be put on the clipboard; terminals take no more.
const MAX_CLIPBOARD_BYTES: usize = 74_000;

/// Whether the terminal is ours now, for the hook that gives it back when something breaks.
static IS_TERMINAL_TAKEN: AtomicBool = AtomicBool::new(false);

/// A terminal that is drawn on. Dropping it gives it back.
pub(super) struct TerminalScreen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    mouse: bool,
}

impl TerminalScreen {
    pub(super) fn enter(mouse: bool) -> io::Result<TerminalScreen> {
        restore_on_panic();
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        let mut screen = TerminalScreen { terminal, mouse };
        screen.reenter()?;
        Ok(screen)
    }

    /// Takes the terminal, also when it is ours already but somebody else has changed it.
    pub(super) fn reenter(&mut self) -> io::Result<()> {
        IS_TERMINAL_TAKEN.store(true, Ordering::SeqCst);
        enable_raw_mode()?;
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES;
        // Terminals that do not know the keyboard's finer points pass over that.
        execute!(
            io::stdout(),
            EnterAlternateScreen,
            EnableBracketedPaste,
            PushKeyboardEnhancementFlags(flags)
        )?;
        self.listen_to_mouse(self.mouse)?;
        self.redraw()
    }

    /// Gives the terminal back for a while.
    pub(super) fn leave(&mut self) {
        restore_terminal();
    }

    pub(super) fn listen_to_mouse(&mut self, mouse: bool) -> io::Result<()> {
        self.mouse = mouse;
        if mouse {
            execute!(io::stdout(), EnableMouseCapture)
        } else {
            execute!(io::stdout(), DisableMouseCapture)
        }
    }

    pub(super) fn draw(&mut self, draw: impl FnOnce(&mut Frame<'_>)) -> io::Result<()> {
        self.terminal.draw(draw).map(drop)
    }

    /// Draws everything anew with the next frame. A new terminal remembers nothing of what is on the screen;
    /// clearing the old one would ask where the cursor is, and the answer comes in among the keys.
    pub(super) fn redraw(&mut self) -> io::Result<()> {
        execute!(io::stdout(), Clear(ClearType::All))?;
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        Ok(())
    }

    pub(super) fn bell(&mut self) -> io::Result<()> {
        write_all(b"\x07")
    }

    /// Writes what is no text, such as a picture.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        write_all(bytes)
    }

    /// Writes it at a place of the screen, and leaves the cursor where it was.
    pub(super) fn write_at(&mut self, column: u16, row: u16, bytes: &[u8]) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write!(out, "\x1b7\x1b[{};{}H", row + 1, column + 1)?;
        out.write_all(bytes)?;
        out.write_all(b"\x1b8")?;
        out.flush()
    }

    /// Asks the terminal to put a text on the clipboard; this works through ssh too.
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        let mut end = text.len().min(MAX_CLIPBOARD_BYTES);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        write_all(format!("\x1b]52;c;{}\x07", STANDARD.encode(&text[..end])).as_bytes())
    }
}

impl Drop for TerminalScreen {
    fn drop(&mut self) {
        restore_terminal();
    }
}

/// How many pixels a cell has; a guess where the terminal does not say.
pub(super) fn cell_size() -> (u16, u16) {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    let known = size.filter(|size| size.ws_col > 0 && size.ws_row > 0);
    let cell = known.map(|size| (size.ws_xpixel / size.ws_col, size.ws_ypixel / size.ws_row));
    cell.filter(|(width, height)| *width > 0 && *height > 0).unwrap_or((8, 16))
}

/// Stops this process until somebody continues it.
pub(super) fn stop_process() -> io::Result<()> {
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP)?;
    Ok(())
}

fn write_all(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Puts the terminal back as it was. Nobody is left to hear of it when that fails.
fn restore_terminal() {
    if IS_TERMINAL_TAKEN.swap(false, Ordering::SeqCst) {
        _ = execute!(
            io::stdout(),
            DisableMouseCapture,
            DisableBracketedPaste,
            PopKeyboardEnhancementFlags,
            LeaveAlternateScreen,
            Show
        );
        _ = disable_raw_mode();
    }
}

/// A message about what broke is of no use on a screen that is about to vanish.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore_terminal();
            before(panic);
        }));
    });
}
