//! `ostler completions` and `ostler man`: what is made from the description of the arguments.

use std::path::Path;

use anyhow::Context;
use clap::{Arg, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::args;
use crate::exit::CliExit;

/// The section of a page that is written anew, as it stands in the page.
const SYNOPSIS: &str = ".SH SYNOPSIS\n";

/// Prints the completions of a shell.
pub(super) fn completions(shell: Shell) -> anyhow::Result<CliExit> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "ostler", &mut text);
    put!("{}", String::from_utf8_lossy(&text));
    Ok(CliExit::Success)
}

/// Writes a page for each command to a directory, or prints the first one.
pub(super) fn pages(out: Option<&Path>) -> anyhow::Result<CliExit> {
    let mut command = args::command().disable_help_subcommand(true);
    command.build();
    let Some(directory) = out else {
        put!("{}", page(&command)?);
        return Ok(CliExit::Success);
    };
    let written = std::fs::create_dir_all(directory).map_err(anyhow::Error::from);
    let written = written.and_then(|()| write_pages(&command, directory));
    written.with_context(|| format!("the pages cannot be written to {}", directory.display()))?;
    say!(
        "wrote the manual to {}; read it with `man -l {}`",
        directory.display(),
        directory.join("ostler.1").display()
    );
    Ok(CliExit::Success)
}

fn write_pages(command: &Command, directory: &Path) -> anyhow::Result<()> {
    let name = Man::new(command.clone()).get_filename();
    std::fs::write(directory.join(name), page(command)?)?;
    command
        .get_subcommands()
        .filter(|inner| !inner.is_hide_set())
        .try_for_each(|inner| write_pages(inner, directory))
}

/// A page, with a synopsis that names the values of options.
fn page(command: &Command) -> anyhow::Result<String> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    let page = String::from_utf8(page).context("the page is not text")?;
    let Some((before, after)) = page.split_once(SYNOPSIS) else { return Ok(page) };
    let rest = after.find(".SH ").map_or("", |at| &after[at..]);
    Ok(format!("{before}{SYNOPSIS}{}\n{rest}", synopsis(command).replace('\\', "\\\\").replace('-', "\\-")))
}

/// A command as it is typed, with all of its own arguments.
fn synopsis(command: &Command) -> String {
    let own = |arg: &&Arg| {
        !arg.is_hide_set() && !arg.is_global_set() && !["help", "version"].contains(&arg.get_id().as_str())
    };
    let (positional, options): (Vec<&Arg>, Vec<&Arg>) =
        command.get_arguments().filter(own).partition(|arg| arg.is_positional());
    let mut words = vec![command.get_bin_name().unwrap_or(command.get_name()).to_owned()];
    words.extend(options.into_iter().map(|arg| {
        let flag = arg.get_long().map_or_else(
            || arg.get_short().map(|letter| format!("-{letter}")).unwrap_or_default(),
            |long| format!("--{long}"),
        );
        let value =
            if arg.get_action().takes_values() { format!(" {}", value_name(arg)) } else { String::new() };
        in_brackets(arg, format!("{flag}{value}"))
    }));
    words.extend(positional.into_iter().map(|arg| in_brackets(arg, value_name(arg))));
    if command.has_subcommands() {
        words.push(if command.is_subcommand_required_set() { "COMMAND" } else { "[COMMAND]" }.to_owned());
    }
    words.join(" ")
}

fn in_brackets(arg: &Arg, text: String) -> String {
    if arg.is_required_set() { text } else { format!("[{text}]") }
}

fn value_name(arg: &Arg) -> String {
    let names = arg.get_value_names().unwrap_or_default();
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    if names.is_empty() { arg.get_id().as_str().to_uppercase() } else { names.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::page;

    #[test]
    fn a_synopsis_names_the_values_of_options() {
        let mut command = crate::args::command();
        command.build();
        let run = command.find_subcommand("run").unwrap();
        let page = page(run).unwrap();
        let line = page.lines().skip_while(|line| *line != ".SH SYNOPSIS").nth(1).unwrap();
        assert!(line.starts_with("ostler run ") && line.contains("[\\-\\-timeout TIME]"), "{line}");
        assert!(line.contains("[\\-\\-json]") && line.ends_with("[PROMPT]"), "{line}");
        assert!(page.contains(".SH DESCRIPTION"), "{page}");
    }
}
