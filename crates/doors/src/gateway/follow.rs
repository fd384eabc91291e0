//! One session as one socket follows it: where it stands in the session's relay, and whether it may move on now.

use std::sync::Arc;

use ostler_door_kit::websocket::Outgoing;
use ostler_types::SessionId;

use super::drives::Bell;
use super::place::Place;
use super::relay::{Drive, Relay, Relays, Taken};

/// A session that a socket follows. Dropping it ends that.
pub(super) struct Follow {
    pub(super) session: SessionId,
    /// How far the socket has come.
    pub(super) place: Place,
    /// Nothing may be sent until a request is answered.
    pub(super) held: bool,
    /// What comes next is being read for this socket alone.
    pub(super) reading: bool,
    /// Reading found nothing new, so it waits until the relay has.
    pub(super) waits: bool,
    /// No more will come.
    pub(super) ended: bool,
    cursor: Option<u64>,
    relay: Arc<Relay>,
    relays: Arc<Relays>,
    bell: Arc<Bell>,
    /// Whether the work of the relay is done by this socket.
    is_driven: bool,
}

impl Follow {
    /// Follows a session from the record after `seq`.
    pub(super) fn new(relays: Arc<Relays>, session: SessionId, seq: u64, bell: Arc<Bell>) -> Follow {
        let relay = relays.join(session, Arc::clone(&bell));
        Follow {
            session,
            place: Place::after(seq),
            held: false,
            reading: false,
            waits: false,
            ended: false,
            cursor: None,
            relay,
            relays,
            bell,
            is_driven: false,
        }
    }

    /// The work of the session's relay, if it falls to this socket.
    pub(super) fn drive(&mut self) -> Option<Drive> {
        let drive = self.relay.drive(&self.bell);
        self.is_driven |= drive.is_some();
        drive
    }

    /// Leaves the work to whoever wants it.
    pub(super) fn release(&mut self) {
        self.is_driven = false;
    }

    /// Whether somebody else tells of news.
    pub(super) fn is_told(&self) -> bool {
        !self.is_driven
    }

    /// Takes what is new.
    pub(super) fn take(&mut self, out: &mut Outgoing) -> Taken {
        if self.held || self.reading || self.waits {
            return Taken::All;
        }
        self.relay.take(&mut self.cursor, &mut self.place, out)
    }

    /// Goes on after what was read for this socket alone.
    pub(super) fn has_read(&mut self, place: Place, nothing: bool) {
        (self.reading, self.waits) = (false, nothing && self.place == place);
        self.place = place;
    }
}

impl Drop for Follow {
    fn drop(&mut self) {
        self.relays.leave(self.session, &self.relay, &self.bell);
    }
}
