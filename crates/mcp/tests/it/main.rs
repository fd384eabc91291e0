//! Tests against servers: real ones from npm and PyPI, and one that misbehaves on purpose.

#![allow(clippy::unwrap_used)]

mod fixture;
mod http;
mod lifetime;
mod misbehaving;
mod real;
