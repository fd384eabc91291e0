//! What is about to be written to one socket: whole frames, most of them shared with other sockets.

use std::collections::VecDeque;
use std::io::IoSlice;

use bytes::{Buf, Bytes};

/// Frames for which there is always room, once there was one.
const KEPT: usize = 4;

/// Frames that wait to be written.
#[derive(Debug, Default)]
pub struct OutgoingFrames {
    frames: VecDeque<Bytes>,
    bytes: usize,
}

impl OutgoingFrames {
    /// How many bytes wait.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    /// Adds a frame.
    pub fn push(&mut self, frame: Bytes) {
        self.bytes += frame.len();
        self.frames.push_back(frame);
    }

    /// The only frame that waits, as it mostly is.
    pub fn only(&self) -> Option<&Bytes> {
        self.frames.front().filter(|_| self.frames.len() == 1)
    }

    /// The beginning, for one write.
    pub fn slices<'a>(&'a self, slices: &mut [IoSlice<'a>]) -> usize {
        let pairs = slices.iter_mut().zip(&self.frames);
        pairs.map(|(slice, frame)| *slice = IoSlice::new(frame)).count()
    }

    /// Forgets what was written.
    pub fn advance(&mut self, mut written: usize) {
        self.bytes -= written;
        while let Some(frame) = self.frames.front_mut() {
            if frame.len() > written {
                frame.advance(written);
                return;
            }
            written -= frame.len();
            self.frames.pop_front();
        }
        // An idle socket keeps next to no memory for this.
        self.frames.shrink_to(KEPT);
    }
}
