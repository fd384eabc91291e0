//! What a model is shown, by the public interface: plans for conversations of every shape, and which may be sent.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod compactions;
mod conversations;
mod validity;
