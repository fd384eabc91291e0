//! The sandbox on this machine, as it really is: each scenario with bubblewrap and with Landlock, by
//! whoever runs the tests and by an ordinary user.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]

mod concurrent_commands;
mod crash;
mod directories;
mod embedded;
mod environment;
mod files;
mod fixture;
mod git;
mod git_settings;
mod home;
mod network;
mod outside_resources;
#[path = "../../../../tests/place.rs"]
mod place;
mod processes;
mod protected;
mod report;
