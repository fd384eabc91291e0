//! The shell around the pure core: it waits for keys, time and the daemon, draws, and does what is to be done. What
//! should happen when is not decided here.

mod connection;
mod effects;
mod files;
mod history;
mod requests;
mod terminal;
mod terminal_pictures;

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossterm::event::{Event, EventStream, KeyEventKind, MouseEventKind};
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use ostler_client::{Client, ClientError};
use ostler_types::SessionId;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::input::{TuiEffect, TuiInput};
use crate::model::{DaemonLinkState, PictureRegistry, TuiModel};
use crate::picture::PictureProtocol;
use crate::theme::{ColorDepth, Theme};
use crate::{update, view};
use ostler_process::ProgramFinder;
use requests::DaemonRequests;
use terminal::TerminalScreen;
use terminal_pictures::TerminalPictures;

/// What the terminal client is handed; it reads neither arguments nor the environment.
pub struct TuiOptions {
    /// The directory in which new sessions work, as an absolute path.
    pub workspace: String,
    /// The person's home, for shortening paths.
    pub home: Option<String>,
    /// The name of a theme.
    pub theme: String,
    /// How many colours the terminal has.
    pub depth: ColorDepth,
    /// Whether to listen to the mouse.
    pub mouse: bool,
    /// The session to look at first.
    pub session: Option<SessionId>,
    /// The program in which longer texts are written.
    pub editor: String,
    /// Decides what that program gets of the environment.
    pub programs: ProgramFinder,
    /// Where what was sent is remembered; nowhere when absent.
    pub history: Option<PathBuf>,
    /// How the terminal takes pictures.
    pub pictures: PictureProtocol,
    /// How to reach a daemon.
    pub connector: DaemonConnector,
}

/// How to reach a daemon, or to come by one.
pub struct DaemonConnector {
    /// Finds the one that runs.
    pub find: Box<dyn Fn() -> BoxFuture<'static, Result<Client, ClientError>> + Send + Sync>,
    /// Starts one in the background and waits until it answers; says what there is to say about it.
    pub start: Box<dyn Fn() -> BoxFuture<'static, Result<String, String>> + Send + Sync>,
}

/// How often the screen is drawn while text streams.
const FRAME_INTERVAL: Duration = Duration::from_millis(50);
/// How often time is looked at while something moves, and while nothing does.
const ANIMATION_TICK: Duration = Duration::from_millis(120);
const IDLE_TICK: Duration = Duration::from_millis(1000);
/// How much may wait to be taken in; who brings more waits.
const INPUT_QUEUE: usize = 256;

/// Runs until the person leaves. The terminal is left as it was found, whatever happens.
pub async fn run(options: TuiOptions) -> io::Result<()> {
    let seed = random_seed();
    let mut model = TuiModel::new(options.workspace, Theme::new(&options.theme, options.depth), seed);
    let cell = terminal::cell_size();
    model.pictures = PictureRegistry::new(options.pictures, cell, seed);
    model.home = options.home;
    model.mouse = options.mouse;
    model.focus = options.session;
    model.history = options.history.as_deref().map(history::load).unwrap_or_default();
    let screen = TerminalScreen::enter(options.mouse)?;
    let (sender, receiver) = mpsc::channel(INPUT_QUEUE);
    let network = DaemonRequests::start(options.connector, sender);
    let now = Instant::now();
    let mut shell = TuiShell {
        model,
        screen,
        network,
        receiver,
        keys: Some(EventStream::new()),
        signals: TerminalSignals::new()?,
        started_at: now,
        drawn_at: now,
        draw_at: Some(now),
        editor: options.editor,
        programs: options.programs,
        history: options.history,
        pictures: TerminalPictures::new(options.pictures, cell),
        resumed: false,
    };
    let ended = shell.run().await;
    shell.pictures.remove_all(&mut shell.screen)?;
    ended
}

struct TuiShell {
    model: TuiModel,
    screen: TerminalScreen,
    network: DaemonRequests,
    receiver: mpsc::Receiver<TuiInput>,
    /// Reads keys; not while another program has the terminal.
    keys: Option<EventStream>,
    signals: TerminalSignals,
    started_at: Instant,
    drawn_at: Instant,
    /// When to draw next, if something has changed.
    draw_at: Option<Instant>,
    editor: String,
    programs: ProgramFinder,
    history: Option<PathBuf>,
    pictures: TerminalPictures,
    /// Whether it has just gone on after it suspended itself.
    resumed: bool,
}

/// What wakes the shell.
enum ShellWakeup {
    Key(Option<io::Result<Event>>),
    Input(Option<TuiInput>),
    Signal(SignalRequest),
    Draw,
    Time,
}

/// What a signal asks for.
#[derive(Clone, Copy)]
enum SignalRequest {
    Leave,
    Suspend,
    Continue,
}

impl TuiShell {
    async fn run(&mut self) -> io::Result<()> {
        self.take_in(TuiInput::Tick { now: 0, unix: unix_seconds() }).await?;
        loop {
            match self.wait().await {
                ShellWakeup::Key(Some(Ok(event))) => {
                    self.tick().await?;
                    let mut next = Some(event);
                    let mut left = INPUT_QUEUE;
                    while let Some(event) = next.take() {
                        if matches!(event, Event::Resize(..)) {
                            self.pictures.note_screen_cleared();
                        }
                        if let Some(input) = from_terminal_event(event)
                            && self.take_in(input).await?
                        {
                            return Ok(());
                        }
                        left -= 1;
                        next = if left > 0 { self.ready_event() } else { None };
                    }
                    // A key is answered at once, and many of them together.
                    self.draw().await?;
                }
                // Without a terminal there is nobody.
                ShellWakeup::Key(Some(Err(_)) | None) => return Ok(()),
                ShellWakeup::Input(Some(input)) => {
                    let (link, focus) = (self.model.link.clone(), self.model.focus);
                    self.schedule_draw();
                    if self.take_in(input).await? || self.take_in_ready().await? {
                        return Ok(());
                    }
                    // What somebody waits for is not held back for the sake of what streams.
                    if link != self.model.link || focus != self.model.focus {
                        self.draw_at = Some(Instant::now());
                    }
                }
                ShellWakeup::Input(None) => return Err(io::Error::other("the connection task has ended")),
                ShellWakeup::Signal(SignalRequest::Leave) => return Ok(()),
                ShellWakeup::Signal(SignalRequest::Suspend) => self.suspend()?,
                // Whoever suspended itself has the terminal again already.
                ShellWakeup::Signal(SignalRequest::Continue) if std::mem::take(&mut self.resumed) => {
                    self.schedule_draw()
                }
                ShellWakeup::Signal(SignalRequest::Continue) => self.resume()?,
                ShellWakeup::Draw => self.draw().await?,
                ShellWakeup::Time => {
                    let notice = self.model.notice.is_some();
                    self.tick().await?;
                    if self.is_animating() || notice {
                        self.schedule_draw();
                    }
                }
            }
        }
    }

    async fn wait(&mut self) -> ShellWakeup {
        let draw = self.draw_at.map(tokio::time::Instant::from_std);
        let pause = if self.is_animating() { ANIMATION_TICK } else { IDLE_TICK };
        let keys = async {
            match &mut self.keys {
                Some(keys) => keys.next().await,
                None => std::future::pending().await,
            }
        };
        let drawing = async {
            match draw {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            asked = self.signals.next() => ShellWakeup::Signal(asked),
            event = keys => ShellWakeup::Key(event),
            () = drawing => ShellWakeup::Draw,
            input = self.receiver.recv() => ShellWakeup::Input(input),
            () = tokio::time::sleep(pause) => ShellWakeup::Time,
        }
    }

    /// What the terminal has said already.
    fn ready_event(&mut self) -> Option<Event> {
        self.keys.as_mut()?.next().now_or_never()??.ok()
    }

    /// Takes in all that waits, up to a limit, so that a burst is drawn once.
    async fn take_in_ready(&mut self) -> io::Result<bool> {
        for _ in 0..INPUT_QUEUE {
            match self.receiver.try_recv() {
                Ok(input) => {
                    if self.take_in(input).await? {
                        return Ok(true);
                    }
                }
                Err(_) => break,
            }
        }
        Ok(false)
    }

    /// Says whether it is time to leave.
    async fn take_in(&mut self, input: TuiInput) -> io::Result<bool> {
        for effect in update(&mut self.model, input) {
            if effect == TuiEffect::Quit {
                return Ok(true);
            }
            self.perform(effect).await?;
        }
        Ok(false)
    }

    async fn tick(&mut self) -> io::Result<()> {
        let now = u64::try_from(self.started_at.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.take_in(TuiInput::Tick { now, unix: unix_seconds() }).await.map(drop)
    }

    async fn draw(&mut self) -> io::Result<()> {
        // While text streams nothing else wakes us, and the time on the screen goes on all the same.
        self.tick().await?;
        self.draw_at = None;
        self.drawn_at = Instant::now();
        let model = &mut self.model;
        self.screen.draw(|frame| view(model, frame))?;
        if self.pictures.draw_pictures(&mut self.screen, &self.model.pictures.placed, self.drawn_at)? {
            // What is left of a picture that has moved goes only with the whole screen.
            self.screen.redraw()?;
            let model = &mut self.model;
            self.screen.draw(|frame| view(model, frame))?;
        }
        self.draw_at = self.pictures.due();
        self.take_in(TuiInput::ScreenDrawn).await.map(drop)
    }

    /// Draws when the next frame is due.
    fn schedule_draw(&mut self) {
        let next = self.drawn_at + FRAME_INTERVAL;
        self.draw_at = Some(self.draw_at.map_or(next, |at| at.min(next)));
    }

    /// Whether something on the screen moves by itself.
    fn is_animating(&self) -> bool {
        let working = self.model.focused().is_some_and(|session| session.running.is_some());
        working || self.model.link != DaemonLinkState::Live || self.model.notice.is_some()
    }

    /// Lets the shell that started us have the terminal until it lets us go on.
    fn suspend(&mut self) -> io::Result<()> {
        self.keys = None;
        self.screen.leave();
        terminal::stop_process()?;
        self.resumed = true;
        self.resume()
    }

    /// Takes the terminal again.
    fn resume(&mut self) -> io::Result<()> {
        self.screen.reenter()?;
        // Whoever had the terminal meanwhile may have made it forget them.
        self.model.pictures.forget();
        self.pictures.forget();
        self.keys = Some(EventStream::new());
        self.draw_at = Some(Instant::now());
        Ok(())
    }
}

/// What the terminal says, as far as it matters.
#[expect(clippy::wildcard_enum_match_arm, reason = "most of what a mouse does means nothing here")]
fn from_terminal_event(event: Event) -> Option<TuiInput> {
    match event {
        Event::Key(key) if key.kind == KeyEventKind::Release => None,
        Event::Key(key) => Some(TuiInput::Key(key)),
        Event::Paste(text) => Some(TuiInput::Paste(text)),
        Event::Resize(columns, rows) => Some(TuiInput::Resize { columns, rows }),
        Event::Mouse(mouse) => match mouse.kind {
            MouseEventKind::ScrollUp => Some(TuiInput::Wheel { up: true }),
            MouseEventKind::ScrollDown => Some(TuiInput::Wheel { up: false }),
            MouseEventKind::Down(_) => Some(TuiInput::Click { column: mouse.column, row: mouse.row }),
            _ => None,
        },
        Event::FocusGained | Event::FocusLost => None,
    }
}

struct TerminalSignals {
    terminate: Signal,
    hang_up: Signal,
    interrupt: Signal,
    stop: Signal,
    resume: Signal,
}

impl TerminalSignals {
    fn new() -> io::Result<TerminalSignals> {
        let of = |signal: rustix::process::Signal| SignalKind::from_raw(signal.as_raw());
        Ok(TerminalSignals {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            stop: signal(of(rustix::process::Signal::TSTP))?,
            resume: signal(of(rustix::process::Signal::CONT))?,
        })
    }

    async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.terminate.recv() => SignalRequest::Leave,
            _ = self.hang_up.recv() => SignalRequest::Leave,
            _ = self.interrupt.recv() => SignalRequest::Leave,
            _ = self.stop.recv() => SignalRequest::Suspend,
            _ = self.resume.recv() => SignalRequest::Continue,
        }
    }
}

fn unix_seconds() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Makes the keys of this client unlike those of another one.
fn random_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let nanos = u64::try_from(since.as_nanos() & u128::from(u64::MAX)).unwrap_or(0);
    nanos ^ (u64::from(std::process::id()) << 32)
}
