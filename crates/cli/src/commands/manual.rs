//! `ostler completions` and `ostler man`: what is made from the description of the arguments.

use std::path::Path;

use anyhow::Context;
use clap_complete::Shell;

use crate::args;
use crate::exit::CliExit;

/// Prints the completions of a shell.
pub(super) fn completions(shell: Shell) -> anyhow::Result<CliExit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "ostler", &mut text);
    put!("{}", String::from_utf8_lossy(&text));
    Ok(CliExit::Success)
}

/// Writes a page for each command to a directory, or prints the first one.
pub(super) fn pages(out: Option<&Path>) -> anyhow::Result<CliExit> {
    let Some(directory) = out else {
        let mut page = Vec::new();
        clap_mangen::Man::new(args::command().disable_help_subcommand(true)).render(&mut page)?;
        put!("{}", String::from_utf8_lossy(&page));
        return Ok(CliExit::Success);
    };
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(args::command(), directory));
    written.with_context(|| format!("the pages cannot be written to {}", directory.display()))?;
    say!(
        "the pages are in {}; `man -l {}` shows the first",
        directory.display(),
        directory.join("ostler.1").display()
    );
    Ok(CliExit::Success)
}
