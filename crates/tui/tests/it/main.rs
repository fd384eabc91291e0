//! The terminal client without a terminal: keys and news go in, effects and screens come out.

#![expect(clippy::unwrap_used, reason = "the helpers of a test fail as the test does")]
#![expect(clippy::needless_pass_by_value, reason = "values that are written in place read better")]

mod answers;
mod connection;
mod fixture;
mod glance;
mod modes;
mod pictures;
mod queue;
mod routing;
mod screens;
mod streams;
mod window;
