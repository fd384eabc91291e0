//! The environment of a confined program: it has all of it, and nothing outside the sandbox obeys it.

use crate::fixture::{SandboxWorld, everywhere, names};

everywhere! {
    variables_reach_the_program_and_nobody_before_it,
    nothing_else_is_in_the_environment,
}

/// The loader of each process that obeys these variables writes a file, if it may write there.
async fn variables_reach_the_program_and_nobody_before_it(world: &SandboxWorld) {
    let trace = world.outside.join("trace");
    let variables = [("LD_DEBUG", "libs"), ("LD_DEBUG_OUTPUT", trace.to_str().unwrap()), ("OWN", "a=b\nc")];
    let outcome =
        world.run_with(&world.profile(), "/bin/sh", &["-c", "echo \"$LD_DEBUG/$OWN\""], &variables).await;
    assert!(outcome.ok().contains("libs/a=b\nc"), "{outcome:?}");
    assert_eq!(names(&world.outside), [""; 0], "a loader outside the sandbox obeyed the program's variables");
}

async fn nothing_else_is_in_the_environment(world: &SandboxWorld) {
    let outcome = world.run_with(&world.profile(), "/usr/bin/env", &["-0"], &[("OWN", "1")]).await;
    let mut found: Vec<&str> =
        outcome.ok().split('\0').filter_map(|line| Some(line.split_once('=')?.0)).collect();
    found.sort_unstable();
    let wanted = ["GIT_CEILING_DIRECTORIES", "HOME", "OUTSIDE", "OWN", "PATH", "TESTED_HOME", "TMPDIR"];
    assert_eq!(found, wanted, "{outcome:?}");
}
