//! Files that are made from the code and kept in the repository, so that readers and other programs
//! find them without building anything. The code that makes them lives in the crates.

use std::fs;
use std::process::Command;

use crate::repository;

/// A file, and the command of `ostler` that prints it.
const GENERATED: &[(&str, &str)] = &[
    ("docs/openapi.json", "openapi"),
    ("docs/protocols/gateway.schema.json", "schema gateway"),
    ("docs/protocols/jsonl.schema.json", "schema jsonl"),
];

/// Writes every generated file.
pub(crate) fn write() -> Result<(), String> {
    build()?;
    for (path, command) in GENERATED {
        let wanted = produce(command)?;
        let path_on_disk = repository::root().join(path);
        if fs::read_to_string(&path_on_disk).is_ok_and(|present| present == wanted) {
            println!("{path} is up to date");
            continue;
        }
        fs::write(&path_on_disk, wanted).map_err(|error| format!("{path} could not be written: {error}"))?;
        println!("{path} written");
    }
    // The libraries' types are made from those files; their tests find out when they are not.
    repository::run(Command::new("python3").arg(repository::root().join("clients/generate.py")))
}

/// Fails when a generated file is not what the code makes of it now.
pub(crate) fn check() -> Result<(), String> {
    build()?;
    check_built()
}

/// The same with the program as it was built last. The tests build it with other features of its dependencies than
/// [`build`] does, so that after them building it again would compile most of them a second time.
pub(crate) fn check_built() -> Result<(), String> {
    for (path, command) in GENERATED {
        let present = fs::read_to_string(repository::root().join(path)).unwrap_or_default();
        if let Some(difference) = difference(&present, &produce(command)?) {
            return Err(format!(
                "{path}:{difference}\nhint: run `cargo xtask generate` and commit the result"
            ));
        }
    }
    Ok(())
}

fn build() -> Result<(), String> {
    repository::run(repository::cargo().args(["build", "--quiet", "--locked", "--package", "ostler-cli"]))
}

/// What a command of the built program prints.
fn produce(command: &str) -> Result<String, String> {
    let mut ostler = Command::new(repository::target().join("debug/ostler"));
    let text = repository::output(ostler.args(command.split_whitespace()))?;
    if text.trim().is_empty() {
        return Err(format!("`ostler {command}` printed nothing"));
    }
    Ok(text)
}

/// The first line in which two texts differ.
fn difference(present: &str, wanted: &str) -> Option<String> {
    if present == wanted {
        return None;
    }
    let (mut old, mut new) = (present.lines(), wanted.lines());
    let mut line = 1;
    loop {
        match (old.next(), new.next()) {
            (Some(old), Some(new)) if old == new => line += 1,
            (None, None) => return Some(format!("{line}: the line feeds at the end differ")),
            (old, new) => {
                let show = |text: Option<&str>| {
                    text.map_or("the end".to_owned(), |text| format!("`{}`", text.trim()))
                };
                return Some(format!("{line}: has {}, but the code makes {}", show(old), show(new)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn a_stale_file_is_told_with_its_first_wrong_line() {
        assert_eq!(difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(difference("a\nb\n", "a\nc\n").as_deref(), Some("2: has `b`, but the code makes `c`"));
        assert_eq!(difference("", "a\n").as_deref(), Some("1: has the end, but the code makes `a`"));
        assert!(difference("a", "a\n").is_some());
    }
}
