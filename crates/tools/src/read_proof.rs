//! Finds out which commands of a shell line read nothing but the workspace and public files of the system, by
//! programs of the system. Which places a line names is left to `command-line`, what follows to the policy.
//!
//! The answer holds for the disk as it is now. Who could change it before the command runs is a command that
//! was approved, and that could have read the same files itself.

mod glob;
mod public_read_scope;
mod resolve;

use std::path::{Component, Path, PathBuf};

use ostler_command_line::{
    CommandReads, ParsedLine, ReadExtent, ReadTarget, ShellWord, TargetSpelling, parse, reads,
};
use ostler_types::CommandLine;

use crate::program_confiner::ProgramConfiner;
use glob::Glob;
use public_read_scope::PublicReadScope;
use resolve::resolve;

/// How many directories a line may end up in. Each `cd` doubles them, since it may fail.
const MAX_DIRECTORIES: usize = 16;

/// Proves what can be proven of a line. Bounded in what it looks at; starts nothing.
pub(crate) fn prove_reads(line: String, workspace: &Path, confines: &ProgramConfiner) -> CommandLine {
    let reading = parse(&line);
    let only_reads = only_reads(&reading, workspace, confines).unwrap_or_default();
    CommandLine::new(line, reading, only_reads)
}

/// Which commands were found to only read; none where nothing can be found out.
fn only_reads(reading: &ParsedLine, workspace: &Path, confines: &ProgramConfiner) -> Option<Vec<bool>> {
    if reading.unclear.is_some() {
        return None;
    }
    let all = reads(reading);
    if all.iter().all(Option::is_none) {
        return None;
    }
    let mut scope = PublicReadScope::for_workspace(workspace, confines)?;
    let directories = directories(reading, &all, &scope)?;
    let is_proven = |reads: &Option<CommandReads>| {
        reads.as_ref().is_some_and(|reads| is_public(reads, &directories, &mut scope))
    };
    Some(all.iter().map(is_proven).collect())
}

fn is_public(reads: &CommandReads, directories: &[PathBuf], scope: &mut PublicReadScope) -> bool {
    let reads_own_repository = directories.len() == 1 && scope.has_repository();
    (!reads.reads_repository || reads_own_repository)
        && reads.programs.iter().all(|program| scope.is_system_program(program))
        && reads
            .targets
            .iter()
            .all(|place| directories.iter().all(|directory| is_public_place(place, directory, scope)))
}

fn is_public_place(place: &ReadTarget, directory: &Path, scope: &mut PublicReadScope) -> bool {
    match &place.spelling {
        TargetSpelling::Unknown => false,
        TargetSpelling::Path(path) => scope.is_public(&directory.join(path), place.extent),
        TargetSpelling::Glob(text) => {
            let glob = Glob::new(text);
            let Some(found) = glob.expand(directory, scope) else { return false };
            // Where nothing matches, the shell passes the glob on as it stands.
            let itself = directory.join(glob.text());
            place.extent == ReadExtent::Names
                || found.iter().chain([&itself]).all(|path| scope.is_public(path, place.extent))
        }
    }
}

/// The directories in which the commands of a line may run, without links; nothing where they cannot be told,
/// or one of them is not public. A `cd` may fail, run in a subshell or not at all, so each leaves the
/// directories that were possible before it possible.
fn directories(
    reading: &ParsedLine,
    all: &[Option<CommandReads>],
    scope: &PublicReadScope,
) -> Option<Vec<PathBuf>> {
    let root = scope.root().to_owned();
    let mut possible = vec![ShellDirectory { logical: root.clone(), physical: root }];
    for (command, reads) in reading.commands.iter().zip(all) {
        let name = command.argv.first().and_then(ShellWord::literal).unwrap_or_default();
        if !matches!(name, "cd" | "pushd" | "popd") {
            continue;
        }
        // In a loop it may be gone on from where it has led.
        let goes_to = reads.as_ref().filter(|_| !command.repeated)?.changes_directory_to.as_ref()?;
        let TargetSpelling::Path(path) = goes_to else { return None };
        let reached: Vec<ShellDirectory> = possible.iter().flat_map(|from| from.enter(path)).collect();
        possible.extend(reached);
        if possible.len() > MAX_DIRECTORIES {
            return None;
        }
    }
    let mut physical: Vec<PathBuf> = possible.into_iter().map(|directory| directory.physical).collect();
    physical.sort();
    physical.dedup();
    physical.iter().all(|directory| scope.is_public_directory(directory)).then_some(physical)
}

/// Where a shell is: by the names that it went through, and in truth.
struct ShellDirectory {
    logical: PathBuf,
    physical: PathBuf,
}

impl ShellDirectory {
    /// Where `cd` may lead: for `..` bash first takes a name away, whatever link that was.
    fn enter(&self, path: &str) -> Vec<ShellDirectory> {
        let mut logical = PathBuf::from("/");
        for part in self.logical.join(path).components() {
            match part {
                Component::ParentDir => _ = logical.pop(),
                Component::Normal(name) => logical.push(name),
                Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
            }
        }
        let candidates = [resolve(&logical), resolve(&self.physical.join(path))];
        // What cannot be told is kept, to be found not public.
        let unknown = || PathBuf::from("/");
        let found = candidates.into_iter().map(|found| found.unwrap_or_else(unknown));
        found.map(|physical| ShellDirectory { logical: logical.clone(), physical }).collect()
    }
}
