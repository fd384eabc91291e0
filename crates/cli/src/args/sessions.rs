//! The arguments of `ostler sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ostler_types::SessionStatus;

use super::SessionRef;

/// Sessions in a list, unless another number is said.
const LIMIT: u32 = 50;

/// `ostler sessions`.
#[derive(Debug, Clone, Subcommand)]
pub enum SessionsCommand {
    /// List sessions, newest activity first.
    List(ListSessions),
    /// Show a session and its state.
    Show {
        /// The session: id, start of an id, `last` or list number [default: the only one here]
        #[arg(value_name = "ID")]
        id: Option<SessionRef>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Search the messages of all sessions.
    Search {
        /// The words to look for
        #[arg(value_name = "QUERY")]
        query: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Archive a session: lists leave it out.
    Archive {
        /// The session: id, start of an id, `last` or list number
        #[arg(value_name = "ID")]
        id: SessionRef,
        /// Restore it
        #[arg(long)]
        undo: bool,
    },
    /// Close a session permanently; its files are kept.
    Close {
        /// The session: id, start of an id, `last` or list number
        #[arg(value_name = "ID")]
        id: SessionRef,
    },
    /// Close a session, and with `--purge` remove its files.
    Rm {
        /// The session: id, start of an id, `last` or list number
        #[arg(value_name = "ID")]
        id: SessionRef,
        /// Remove its files as well; this cannot be undone
        #[arg(long)]
        purge: bool,
        /// Do not ask for confirmation
        #[arg(short, long)]
        yes: bool,
    },
    /// Export a session's records as JSON lines.
    Export {
        /// The session: id, start of an id, `last` or list number [default: the only one here]
        #[arg(value_name = "ID")]
        id: Option<SessionRef>,
        /// Write to this file instead of stdout
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

impl Default for SessionsCommand {
    fn default() -> SessionsCommand {
        SessionsCommand::List(ListSessions {
            status: None,
            workspace: None,
            archived: false,
            limit: LIMIT,
            json: false,
        })
    }
}

/// `ostler sessions list`.
#[derive(Debug, Clone, Args)]
pub struct ListSessions {
    /// Filter by status: running, needs-approval, idle, failed or closed
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    pub status: Option<SessionStatusFilter>,
    /// Only sessions in this directory
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Archived sessions only
    #[arg(long)]
    pub archived: bool,
    /// Maximum number
    #[arg(long, value_name = "N", default_value_t = LIMIT, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// States that a list can be limited to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionStatusFilter {
    /// A turn is running.
    Running,
    /// Nothing is running, and nothing waits.
    Idle,
    /// A status as the daemon stores it.
    Stored(SessionStatus),
}

impl SessionStatusFilter {
    /// The status that the daemon filters by, if it can.
    pub fn stored_status(self) -> Option<SessionStatus> {
        match self {
            SessionStatusFilter::Running | SessionStatusFilter::Idle => None,
            SessionStatusFilter::Stored(status) => Some(status),
        }
    }
}

fn parse_status(text: &str) -> Result<SessionStatusFilter, String> {
    let words = [
        ("running", SessionStatusFilter::Running),
        ("idle", SessionStatusFilter::Idle),
        ("needs-approval", SessionStatusFilter::Stored(SessionStatus::WaitingApproval)),
        ("closed", SessionStatusFilter::Stored(SessionStatus::Completed)),
    ];
    let stored = [
        SessionStatus::Failed,
        SessionStatus::Active,
        SessionStatus::WaitingApproval,
        SessionStatus::Completed,
        SessionStatus::Canceled,
    ];
    let stored = stored.map(|status| (status.as_str(), SessionStatusFilter::Stored(status)));
    let mut all = words.iter().chain(&stored);
    all.clone().find(|(word, _)| *word == text).map(|(_, filter)| *filter).ok_or_else(|| {
        let names: Vec<&str> = all.by_ref().map(|(word, _)| *word).collect();
        format!("expected one of {}", names.join(", "))
    })
}
