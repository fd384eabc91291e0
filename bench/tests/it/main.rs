//! The mock model server over its socket, the bare client on top of it, recorded answers, the figures, the fixtures,
//! and the source trees.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod figures;
mod fixture;
mod mock;
mod recorded;
mod tree;
