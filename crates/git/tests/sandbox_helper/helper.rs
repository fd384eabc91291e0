//! The sandbox's helper as a program of its own, for the tests. In the daemon it is a part of `ostler`.

use std::process::ExitCode;

fn main() -> ExitCode {
    ostler_sandbox::run_helper(std::env::args_os().skip(1))
}
