//! The entry of the helper: which of its two parts is meant. Both take an order as JSON, then `--`, then
//! a program with its arguments. A third part does nothing, and shows that the helper can be started.

use std::ffi::{OsStr, OsString};
use std::process::ExitCode;

use serde::de::DeserializeOwned;

use crate::{confine, supervise};

/// The part outside the sandbox.
pub const SUPERVISE_COMMAND: &str = "supervise";
/// The part inside it.
pub const CONFINE_COMMAND: &str = "confine";
/// The part that only ends, in order.
pub const CHECK_COMMAND: &str = "check";
/// What the helper ends with when it could not do as told; no shell uses it for a program that ran.
pub(crate) const HELPER_FAILED_CODE: u8 = 125;

/// Runs as the helper. To be called first thing in a process made for it, while that has one thread:
/// confinement binds the thread that asks for it, and the program takes that thread's place.
/// `arguments` are those after the word that chose the helper.
pub fn run_helper(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let (part, order, dashes) = (arguments.next(), arguments.next(), arguments.next());
    if part.as_deref() == Some(OsStr::new(CHECK_COMMAND)) {
        return ExitCode::SUCCESS;
    }
    let program: Vec<OsString> = arguments.collect();
    if dashes.as_deref() != Some(OsStr::new("--")) || program.is_empty() {
        return fail("it is called by Ostler itself, as `supervise|confine <order> -- <program>`");
    }
    let order = order.unwrap_or_default();
    let outcome = match part.as_deref().and_then(OsStr::to_str) {
        Some(SUPERVISE_COMMAND) => parse(&order).and_then(|order| supervise::run(&order, &program)),
        Some(CONFINE_COMMAND) => parse(&order).and_then(|order| confine::run(&order, &program)),
        Some(_) | None => Err("it does not know the part that it was told to play".to_owned()),
    };
    outcome.unwrap_or_else(|reason| fail(&reason))
}

fn parse<T: DeserializeOwned>(order: &OsStr) -> Result<T, String> {
    let text = order.to_str().ok_or("its order is not UTF-8")?;
    serde_json::from_str(text).map_err(|error| format!("its order cannot be read: {error}"))
}

fn fail(reason: &str) -> ExitCode {
    eprintln!("ostler sandbox: nothing was run: {reason}");
    ExitCode::from(HELPER_FAILED_CODE)
}
