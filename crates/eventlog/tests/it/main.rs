//! The file log from outside: what is appended is there, whatever happens to the files.

#![allow(clippy::unwrap_used, reason = "a helper that fails should end its test")]

mod append;
mod beside_records;
mod conformance;
mod crash;
mod damage;
mod faults;
mod feed;
mod fixture;
mod nested;
mod open;
mod read;
