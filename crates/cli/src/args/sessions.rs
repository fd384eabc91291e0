//! The arguments of `ostler sessions`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ostler_types::{SessionId, SessionStatus};

/// Sessions in a list, unless another number is said.
const LIMIT: u32 = 50;

/// `ostler sessions`.
#[derive(Debug, Clone, Subcommand)]
pub enum SessionsCommand {
    /// List sessions, newest activity first.
    List(ListSessions),
    /// Show a session and how it stands.
    Show {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Search what was said in sessions.
    Search {
        /// The words to look for
        #[arg(value_name = "QUERY")]
        query: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Put a session away, so that lists leave it out.
    Archive {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
        /// Bring it back
        #[arg(long)]
        undo: bool,
    },
    /// Close a session.
    Rm {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
        /// Remove its files as well; this cannot be undone
        #[arg(long)]
        purge: bool,
    },
    /// Write a session's records as JSON lines.
    Export {
        /// The session
        #[arg(value_name = "ID")]
        id: SessionId,
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
    /// Only those that stand so: active, waiting_approval, failed, completed or canceled
    #[arg(long, value_name = "STATUS", value_parser = parse_status)]
    pub status: Option<SessionStatus>,
    /// Only those that work in this directory
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Those that were put away
    #[arg(long)]
    pub archived: bool,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = LIMIT, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub limit: u32,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

fn parse_status(text: &str) -> Result<SessionStatus, String> {
    let all = [
        SessionStatus::Active,
        SessionStatus::WaitingApproval,
        SessionStatus::Failed,
        SessionStatus::Completed,
        SessionStatus::Canceled,
    ];
    all.into_iter().find(|status| status.as_str() == text).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(|status| status.as_str()).collect();
        format!("expected one of {}", names.join(", "))
    })
}
