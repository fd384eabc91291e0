//! Waiting for a daemon that is gone, by commands that stay: a little longer each time, and said once.

use std::time::Duration;

use crate::output::OutputManner;

/// The first wait, and the longest.
const FIRST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(2);

/// How a command waits.
pub(super) struct Reconnect {
    quiet: bool,
    wait: Duration,
    /// Whether a person has been told that there is no daemon.
    told: bool,
}

impl Reconnect {
    pub(super) fn new(manner: OutputManner) -> Reconnect {
        Reconnect { quiet: manner.quiet, wait: FIRST, told: false }
    }

    /// There is one.
    pub(super) fn found(&mut self) {
        self.wait = FIRST;
        if std::mem::take(&mut self.told) && !self.quiet {
            aside!("note: the daemon is there again");
        }
    }

    /// There is none: waits before the next try.
    pub(super) async fn lost(&mut self) {
        if !std::mem::replace(&mut self.told, true) && !self.quiet {
            aside!("note: no daemon answers; waiting for one (`ostler serve` starts it, Ctrl-C ends this)");
        }
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(LONGEST);
    }
}
