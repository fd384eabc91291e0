//! The helper as a program of its own, for the tests; `ostler` has it built in.

use std::process::ExitCode;

fn main() -> ExitCode {
    ostler_sandbox::run_helper(std::env::args_os().skip(1))
}
