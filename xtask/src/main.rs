//! The repository's own automation, run as `cargo xtask`. Each command has a module; nothing here is
//! part of the daemon, and nothing here is needed to build it.

mod bench;
mod ci;
mod commits;
mod dist;
mod generate;
mod licences;
mod repository;
mod rust_text;
mod setup;
mod tidy;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask <command>

  ci                 everything that must hold before a change is taken
  tidy               the rules of this repository, and its figures
  commits            the messages of commits: subject, empty line, body
  licences           licences, origins and denied crates of every dependency
  generate           write the files that are made from the code
  generate --check   say whether those files are up to date
  dist               build what is handed out, into target/dist
  dist --check       build it twice, in two places, and say whether the same comes out
  bench --compare OLD.json NEW.json
                     say which figures of the bench got worse by more than 5 %
  bench --base REV   the same of a revision and what is checked out, measured by turns
  setup              install the cargo tools that the tests need
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match arguments.as_slice() {
        ["ci"] => ci::run(),
        ["tidy"] => tidy::run(),
        ["commits"] => commits::run(),
        ["licences"] => licences::run(),
        ["generate"] => generate::write(),
        ["generate", "--check"] => generate::check(),
        ["dist"] => dist::run(),
        ["dist", "--check"] => dist::check(),
        ["bench", flags @ ..] => bench::run(flags),
        ["setup"] => setup::run(),
        ["help" | "--help" | "-h"] => {
            print!("{USAGE}");
            Ok(())
        }
        [] => Err(USAGE.to_owned()),
        unknown => Err(format!("unknown command `{}`\n\n{USAGE}", unknown.join(" "))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{}", message.trim_end());
            ExitCode::FAILURE
        }
    }
}
