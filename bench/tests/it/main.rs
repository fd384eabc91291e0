//! The mock model server over its socket, the bare client on top of it, and the fixtures.

mod fixture;
mod mock;
