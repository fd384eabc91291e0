//! The files of a workspace that decide what a check runs: where its line stands, and what gives the line its meaning
//! (a Makefile, the scripts of a package, a script that the line names). Only reads; what follows from a change is
//! decided elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use ostler_workspace_fs::open_regular;
use sha2::{Digest, Sha256};

/// Files by their name in the workspace, each with a sum of what counts in it.
pub(crate) type Sums = BTreeMap<String, String>;

/// Programs that run what a file at the root of the workspace says.
const RECIPES: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (&["npm", "npx", "yarn", "pnpm", "bun"], &["package.json"]),
    (&["just"], &["justfile", "Justfile", ".justfile"]),
    (&["task", "go-task"], &["Taskfile.yml", "Taskfile.yaml"]),
    (&["tox"], &["tox.ini"]),
    (&["nox"], &["noxfile.py"]),
    (&["poe", "pdm", "hatch", "poetry"], &["pyproject.toml"]),
    (&["rake"], &["Rakefile"]),
    (&["composer"], &["composer.json"]),
    (&["deno"], &["deno.json", "deno.jsonc"]),
    (&["mise"], &["mise.toml", ".mise.toml"]),
    (&["ant"], &["build.xml"]),
    (&["pre-commit"], &[".pre-commit-config.yaml"]),
];
/// Files that name the lines themselves.
const LINES: [&str; 2] = ["AGENTS.md", ".ostler/config.toml"];
/// Endings of files that are run or included without being executable.
const SCRIPTS: [&str; 4] = [".sh", ".bash", ".mk", ".just"];
/// How much of a file is looked at; a sum is over all of it up to a limit that no script reaches.
const MAX_TEXT: usize = 256 << 10;
const MAX_SUMMED: u64 = 4 << 20;
/// How many files are followed from a line.
const MAX_FILES: usize = 128;

/// The files that decide what a command line runs, as they are now. Blocks.
pub(crate) fn of_line(workspace: &Path, line: &str) -> Sums {
    let is_named = |programs: &&[&str]| words(line).any(|word| programs.contains(&file_name(word)));
    let recipes = RECIPES.iter().filter(|(programs, _)| is_named(programs)).flat_map(|(_, files)| *files);
    let mut wanted: BTreeSet<String> = recipes.map(|name| (*name).to_owned()).collect();
    wanted.extend(scripts(workspace, line));
    follow(workspace, wanted)
}

/// Every file that may decide what is run, for these lines or by itself. Blocks.
pub(crate) fn of_workspace(workspace: &Path, lines: &[String]) -> Sums {
    let known = RECIPES.iter().flat_map(|(_, files)| *files).chain(&LINES);
    let mut wanted: BTreeSet<String> = known.map(|name| (*name).to_owned()).collect();
    wanted.extend(lines.iter().flat_map(|line| scripts(workspace, line)));
    follow(workspace, wanted)
}

/// The sums of these files and of the scripts that they name in turn.
fn follow(workspace: &Path, mut wanted: BTreeSet<String>) -> Sums {
    let mut sums = Sums::new();
    while let Some(name) = wanted.pop_first() {
        if sums.len() >= MAX_FILES || sums.contains_key(&name) {
            continue;
        }
        let Some(content) = read(&workspace.join(&name)) else { continue };
        sums.insert(name.clone(), sum(&name, &content));
        if !LINES.contains(&name.as_str()) {
            let text = String::from_utf8_lossy(&content[..content.len().min(MAX_TEXT)]).into_owned();
            wanted.extend(scripts(workspace, &text));
        }
    }
    sums
}

/// The scripts of the workspace that a text names.
fn scripts(workspace: &Path, text: &str) -> BTreeSet<String> {
    let inside = |word: &&str| {
        let path = Path::new(word);
        path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
    };
    let is_script = |word: &&str| {
        std::fs::metadata(workspace.join(word)).is_ok_and(|found| {
            let runs =
                found.permissions().mode() & 0o111 != 0 || SCRIPTS.iter().any(|end| word.ends_with(end));
            found.is_file() && runs
        })
    };
    let seen: BTreeSet<&str> = words(text).collect();
    let named = seen.into_iter().filter(inside).filter(is_script);
    named.map(|word| word.trim_start_matches("./").to_owned()).take(MAX_FILES).collect()
}

/// What may be the name of a program or a file in a command line or a script.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_alphanumeric() || "._-/+@".contains(c);
    text.split(move |c: char| !is_part(c))
        .map(|word| word.trim_start_matches('@'))
        .filter(|word| !word.is_empty())
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The sum of what counts in a file. Of a package that is its scripts: dependencies come and go with the work.
fn sum(name: &str, content: &[u8]) -> String {
    let scripts = matches!(name, "package.json" | "composer.json").then(|| {
        let package: serde_json::Value = serde_json::from_slice(content).ok()?;
        serde_json::to_vec(package.get("scripts")?).ok()
    });
    let counted = scripts.flatten();
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(counted.as_deref().unwrap_or(content)) {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    digits
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    open_regular(path).ok()?.take(MAX_SUMMED).read_to_end(&mut content).ok()?;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::{of_line, of_workspace};

    #[test]
    fn a_line_is_decided_by_its_recipe_and_the_scripts_that_it_leads_to() {
        let dir = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| {
            let path = dir.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("Makefile", "include rules.mk\ntest:\n\t@./ci/run.sh\n");
        put("rules.mk", "x=1\n");
        put("ci/run.sh", "sh ci/deep.sh\n");
        put("ci/deep.sh", "true\n");
        put("src/main.c", "int main;\n");
        put("package.json", r#"{"scripts":{"test":"x"},"dependencies":{}}"#);
        let names = |line: &str| of_line(dir.path(), line).into_keys().collect::<Vec<_>>();
        assert_eq!(names("make test"), ["Makefile", "ci/deep.sh", "ci/run.sh", "rules.mk"]);
        assert_eq!(names("cd . && env A=1 /usr/bin/make -C . test").len(), 4);
        assert_eq!(names("bash ./ci/deep.sh"), ["ci/deep.sh"]);
        assert_eq!(names("npm test"), ["package.json"]);
        assert!(names("cc src/main.c && ../make/up.sh && cat /etc/passwd").is_empty());
        let before = of_line(dir.path(), "npm test");
        put("package.json", r#"{"scripts":{"test":"x"},"dependencies":{"a":"1"}}"#);
        assert_eq!(of_line(dir.path(), "npm test"), before, "dependencies are not what runs");
        put("package.json", r#"{"scripts":{"test":"y"}}"#);
        assert_ne!(of_line(dir.path(), "npm test"), before);
        assert_eq!(of_workspace(dir.path(), &["ci/run.sh".to_owned()]).len(), 5);
    }
}
