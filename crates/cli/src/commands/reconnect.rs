//! Waiting for a daemon that is gone, by commands that stay: a little longer each time, and said once.

use std::time::Duration;

use crate::output::OutputManner;

/// The first wait, and the longest.
const FIRST_WAIT: Duration = Duration::from_millis(100);
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// How a command waits.
pub(super) struct Reconnect {
    quiet: bool,
    wait: Duration,
    /// Whether a person has been told that there is no daemon.
    is_announced: bool,
}

impl Reconnect {
    pub(super) fn new(manner: OutputManner) -> Reconnect {
        Reconnect { quiet: manner.quiet, wait: FIRST_WAIT, is_announced: false }
    }

    /// There is one.
    pub(super) fn connected(&mut self) {
        self.wait = FIRST_WAIT;
        if std::mem::take(&mut self.is_announced) && !self.quiet {
            report!("note: reconnected to the daemon");
        }
    }

    /// There is none: waits before the next try.
    pub(super) async fn wait_for_retry(&mut self) {
        if !std::mem::replace(&mut self.is_announced, true) && !self.quiet {
            report!(
                "note: no daemon is running; waiting for one (start it with `ostler serve`, Ctrl-C to quit)"
            );
        }
        tokio::time::sleep(self.wait).await;
        self.wait = (self.wait * 2).min(LONGEST_WAIT);
    }
}
