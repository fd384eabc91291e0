//! The mock model server over its socket, the bare client on top of it, recorded answers, and the fixtures.

mod fixture;
mod mock;
mod recorded;
