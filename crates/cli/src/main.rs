//! The binary `ostler`: parse, then do.

use std::process::ExitCode;

use ostler_cli::args;
use ostler_cli::exit::CliExit;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Threads that read files and walk trees. More would only keep memory.
const BLOCKING_THREADS: usize = 32;

fn main() -> ExitCode {
    // Where the sandbox cannot start its embedded helper, it starts this program inside and around what it confines:
    // before anything else, since it must have no other thread.
    if let Some(exit) = ostler_daemon::sandbox_helper(std::env::args_os().skip(1)) {
        return exit;
    }
    ostler_process::close_inherited_descriptors();
    keep_memory_private();
    let cli = args::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .max_blocking_threads(BLOCKING_THREADS)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("error: the runtime cannot start: {error}");
            return CliExit::Failure.into();
        }
    };
    let exit = runtime.block_on(ostler_cli::dispatch(cli));
    // Blocking reads of a terminal cannot be interrupted, and nothing else is left to wait for.
    runtime.shutdown_background();
    exit.into()
}

/// Keys and tokens are in the environment and the memory of this process: no other process of the same user may read
/// them there or attach to it, and no core dump holds them. Programs that it starts are not affected.
fn keep_memory_private() {
    let private = rustix::process::DumpableBehavior::NotDumpable;
    if let Err(error) = rustix::process::set_dumpable_behavior(private) {
        eprintln!("warning: the memory of this process cannot be kept private: {error}");
    }
}
