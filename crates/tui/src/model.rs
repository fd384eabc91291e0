//! What the terminal client knows and shows. It is changed by [`crate::update`] alone, and drawn by [`crate::view`],
//! which adds nothing but where things stand on the screen.

mod approval_panel;
mod overlay;
mod pictures;
mod review;
mod session;

use std::collections::HashMap;

use ostler_api_types::SendMessage;
use ostler_types::{Session, SessionId, SessionStatus, View};
use ratatui::layout::Rect;

use crate::composer::Composer;
use crate::theme::Theme;
use crate::transcript::Tone;
use crate::view::ClickTarget;

pub use approval_panel::{
    ApprovalAnswer, ApprovalPanel, GRACE_MS, approval_answers, is_merge, is_small_screen,
};
pub(crate) use overlay::match_score;
pub use overlay::{Overlay, Picker, PickerItem, PickerKind};
pub use pictures::PictureRegistry;
pub use review::{FileReviewState, RejectedHunks, hunk_count};
pub use session::{FollowedSession, OutboxMessage, QueuedMessageEdit, ScrollPosition};

/// How many sessions are followed at once; the others are opened again when they are looked at.
pub const MAX_OPEN: usize = 6;
/// How many messages are remembered for the history.
pub const MAX_HISTORY: usize = 500;
/// How many drafts are kept.
const MAX_DRAFTS: usize = 100;
/// How long a notice is shown, in milliseconds.
const NOTICE_MS: u64 = 6000;
/// How long a notice is shown at least, before a key clears it.
const MIN_NOTICE_MS: u64 = 1500;

/// Everything.
#[derive(Debug)]
pub struct TuiModel {
    /// The directory that it was opened in.
    pub workspace: String,
    /// The person's home, for shortening paths.
    pub home: Option<String>,
    /// Columns and rows.
    pub size: (u16, u16),
    /// Milliseconds since some moment.
    pub now: u64,
    /// Seconds since 1970.
    pub unix_seconds: i64,
    /// The colours.
    pub theme: Theme,
    /// Whether there is a daemon.
    pub link: DaemonLinkState,
    /// The sessions that there are.
    pub list: Vec<SessionListEntry>,
    /// The sessions that are followed.
    pub open: Vec<FollowedSession>,
    /// The session that is looked at; none while a new one is being begun.
    pub focus: Option<SessionId>,
    /// What keys go to.
    pub area: FocusArea,
    /// What lies over everything.
    pub overlay: Option<Overlay>,
    /// What could complete the word at the cursor.
    pub completion: Option<Completion>,
    /// The last thing worth a line.
    pub notice: Option<Notice>,
    /// What was sent before.
    pub history: Vec<String>,
    /// What the next session is to be made with.
    pub next: NextSession,
    /// The first message of a session that is being made.
    pub creating: Option<PendingSession>,
    /// Whether sessions are listed beside the transcript, once somebody has said so.
    pub sidebar: Option<bool>,
    /// Whether the mouse is listened to.
    pub mouse: bool,
    /// What is searched for in the transcript.
    pub find: String,
    /// The entry that was found last.
    pub found: Option<u64>,
    /// What was last searched for in all sessions.
    pub searched: String,
    /// Pictures that are shown.
    pub pictures: PictureRegistry,
    /// When leaving was last asked for.
    pub leave_pressed_at: Option<u64>,
    /// When stopping was last asked for.
    pub stop_pressed_at: Option<u64>,
    /// What can be clicked on the screen as it was last drawn.
    pub(crate) click_targets: Vec<(Rect, ClickTarget)>,
    composers: HashMap<Option<SessionId>, Composer>,
    /// What makes keys unlike those of other clients.
    seed: u64,
    counter: u64,
}

/// Whether there is a daemon.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DaemonLinkState {
    /// Not yet.
    Connecting,
    /// Yes.
    Live,
    /// Not any more.
    Lost {
        /// Why.
        why: String,
        /// Whether one is being started.
        starting: bool,
    },
}

/// What keys go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FocusArea {
    /// The text that is being written.
    Composer,
    /// The question that waits.
    Approval,
    /// What was said, where the entry of this key is chosen.
    Transcript(u64),
}

/// A session in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionListEntry {
    /// The session, as far as a list and what happened since tell of it.
    pub view: View,
    /// Whether something happened that nobody has looked at.
    pub unread: bool,
}

/// Something worth a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// The line.
    pub text: String,
    /// How it is to be taken.
    pub tone: Tone,
    /// Until when it is shown.
    pub until: u64,
}

/// What the next session is to be made with; what is absent is the daemon's to choose.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NextSession {
    /// Its model.
    pub model: Option<String>,
    /// Its agent.
    pub agent: Option<String>,
}

/// A session that is being made.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingSession {
    /// The key by which asking twice makes one.
    pub key: String,
    /// What it begins with.
    pub first: FirstContent,
    /// The session, once it is made.
    pub session: Option<SessionId>,
    /// Whether there was no daemon to take it.
    pub held: bool,
}

/// What a session begins with.
#[derive(Debug, Clone, PartialEq)]
pub enum FirstContent {
    /// A message.
    Message(SendMessage),
    /// A file that goes with its first message, which is still to be written.
    File(String),
}

/// What could complete the word at the cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Completion {
    /// Where the word begins in the raw text.
    pub from: usize,
    /// The word, with what marks it.
    pub word: String,
    /// What could stand there instead, and what it is.
    pub items: Vec<(String, String)>,
    /// Which one is chosen.
    pub selected: usize,
}

impl TuiModel {
    /// What is known at first.
    pub fn new(workspace: impl Into<String>, theme: Theme, seed: u64) -> TuiModel {
        TuiModel {
            workspace: workspace.into(),
            home: None,
            size: (80, 24),
            now: 0,
            unix_seconds: 0,
            theme,
            link: DaemonLinkState::Connecting,
            list: Vec::new(),
            open: Vec::new(),
            focus: None,
            area: FocusArea::Composer,
            overlay: None,
            completion: None,
            notice: None,
            history: Vec::new(),
            next: NextSession::default(),
            creating: None,
            sidebar: None,
            mouse: false,
            find: String::new(),
            found: None,
            searched: String::new(),
            pictures: PictureRegistry::default(),
            leave_pressed_at: None,
            stop_pressed_at: None,
            click_targets: Vec::new(),
            composers: HashMap::new(),
            seed,
            counter: 0,
        }
    }

    /// The session that is looked at, if it is open.
    pub fn focused(&self) -> Option<&FollowedSession> {
        self.session(self.focus?)
    }

    /// The same, to be changed.
    pub fn focused_mut(&mut self) -> Option<&mut FollowedSession> {
        self.session_mut(self.focus?)
    }

    /// An open session.
    pub fn session(&self, id: SessionId) -> Option<&FollowedSession> {
        self.open.iter().find(|session| session.id == id)
    }

    /// The same, to be changed.
    pub fn session_mut(&mut self, id: SessionId) -> Option<&mut FollowedSession> {
        self.open.iter_mut().find(|session| session.id == id)
    }

    /// A session of the list.
    pub fn listed_mut(&mut self, id: SessionId) -> Option<&mut SessionListEntry> {
        self.list.iter_mut().find(|listed| listed.session().id == id)
    }

    /// What is being written in the place that is looked at.
    pub fn composer(&self) -> &Composer {
        static NOTHING: std::sync::LazyLock<Composer> = std::sync::LazyLock::new(Composer::default);
        self.composers.get(&self.focus).unwrap_or(&NOTHING)
    }

    /// The same, to be changed.
    pub fn composer_mut(&mut self) -> &mut Composer {
        self.composers.entry(self.focus).or_default()
    }

    /// What is being written in a session.
    pub fn draft(&self, id: Option<SessionId>) -> Option<&Composer> {
        self.composers.get(&id).filter(|composer| !composer.is_empty())
    }

    /// The draft of a session, to be changed.
    pub fn draft_mut(&mut self, id: Option<SessionId>) -> &mut Composer {
        self.composers.entry(id).or_default()
    }

    /// Forgets drafts that hold nothing, and some when there are very many.
    pub fn tidy_drafts(&mut self) {
        let focus = self.focus;
        self.composers.retain(|id, composer| *id == focus || !composer.is_empty());
        while self.composers.len() > MAX_DRAFTS {
            let Some(id) = self.composers.keys().find(|id| **id != focus).copied() else { return };
            self.composers.remove(&id);
        }
    }

    /// Where new work is done: the workspace of the session that is looked at, or the one it was opened in.
    pub fn current_workspace(&self) -> String {
        let focused = self.focused().map(|session| session.view.session().workspace_path.clone());
        focused.unwrap_or_else(|| self.workspace.clone())
    }

    /// What a session is called; one without a title by what was said first in it, where that is known.
    pub fn title_of(&self, session: &Session) -> String {
        let named = session.title.is_some() || session.name.is_some();
        let open = self.session(session.id).filter(|_| !named);
        match open.and_then(|open| open.transcript.first_words()) {
            Some(words) => crate::text::sanitize::sanitize_line(words, 80),
            None => title(session),
        }
    }

    /// Shows a line for a while.
    pub fn notify(&mut self, tone: Tone, text: impl Into<String>) {
        let text = crate::text::sanitize::sanitize_line(&text.into(), 400);
        self.notice = Some(Notice { text, tone, until: self.now + NOTICE_MS });
    }

    /// Clears a line that has been shown for long enough, because the person goes on working.
    pub fn clear_seen_notice(&mut self) {
        let earliest_end = self.now + NOTICE_MS - MIN_NOTICE_MS;
        if self.notice.as_ref().is_some_and(|notice| notice.until <= earliest_end) {
            self.notice = None;
        }
    }

    /// A key under which something is asked for once.
    pub fn new_key(&mut self) -> String {
        self.counter += 1;
        format!("tui-{:x}-{}", self.seed, self.counter)
    }

    /// Whether sessions are listed beside the transcript.
    pub fn shows_sidebar(&self) -> bool {
        self.size.0 >= 70 && self.sidebar.unwrap_or(self.size.0 >= 120)
    }
}

impl SessionListEntry {
    /// A session that nobody has to look at.
    pub fn new(view: View) -> SessionListEntry {
        SessionListEntry { view, unread: false }
    }

    /// The session.
    pub fn session(&self) -> &Session {
        self.view.session()
    }

    /// Whether a turn runs.
    pub fn is_running(&self) -> bool {
        self.view.running_turn_id().is_some()
    }

    /// Whether a call waits for an answer.
    pub fn needs_approval(&self) -> bool {
        self.waiting() > 0 || self.session().status == SessionStatus::WaitingApproval
    }

    /// How many calls wait for an answer.
    pub fn waiting(&self) -> usize {
        self.view.pending_approvals().count()
    }
}

/// What a session is called.
pub fn title(session: &Session) -> String {
    let title = session.title.as_deref().or(session.name.as_deref()).unwrap_or("untitled");
    crate::text::sanitize::sanitize_line(title, 200)
}
