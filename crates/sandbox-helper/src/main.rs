//! The helper as a program of its own, which `ostler-sandbox` embeds.

use std::process::ExitCode;

fn main() -> ExitCode {
    ostler_sandbox_helper::run_helper(std::env::args_os().skip(1))
}
