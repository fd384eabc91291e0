//! The files of a workspace that decide what a check runs: where its line stands, and what gives the line its meaning
//! (a Makefile, the scripts of a package, a script that the line names). Only reads; what follows from a change is
//! decided elsewhere.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path};

use ostler_runner::{CheckFileScope, FileSums, FindCheckFiles};
use ostler_workspace_fs::open_regular;
use sha2::{Digest, Sha256};

use crate::check_content::{deciding_part, is_content};

/// Programs that run what a file at the root of the workspace says.
const RECIPES: &[(&[&str], &[&str])] = &[
    (&["make", "gmake"], &["GNUmakefile", "makefile", "Makefile"]),
    (
        &["npm", "npx", "yarn", "pnpm", "bun"],
        &["package.json", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml"],
    ),
    (
        &["cargo"],
        &[
            ".cargo/config.toml",
            ".cargo/config",
            "Cargo.toml",
            "build.rs",
            "rust-toolchain",
            "rust-toolchain.toml",
        ],
    ),
    (&["cmake", "ctest"], &["CMakeLists.txt", "CMakePresets.json", "CMakeUserPresets.json"]),
    (&["meson", "ninja"], &["meson.build", "meson_options.txt", "meson.options", "build.ninja"]),
    (
        &["gradle", "gradlew"],
        &[
            "build.gradle",
            "build.gradle.kts",
            "settings.gradle",
            "settings.gradle.kts",
            "gradle.properties",
            "gradlew",
            "gradle/wrapper/gradle-wrapper.properties",
        ],
    ),
    (&["mvn", "mvnw"], &["pom.xml", "mvnw", ".mvn/maven.config", ".mvn/jvm.config", ".mvn/extensions.xml"]),
    (
        &["bazel", "bazelisk"],
        &["WORKSPACE", "WORKSPACE.bazel", "MODULE.bazel", "BUILD", "BUILD.bazel", ".bazelrc", ".bazeliskrc"],
    ),
    (&["pytest", "py.test"], &["pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "conftest.py"]),
    (&["bundle", "rspec"], &["Gemfile", ".rspec", "Rakefile"]),
    (&["zig"], &["build.zig", "build.zig.zon"]),
    (&["mix"], &["mix.exs"]),
    (&["swift"], &["Package.swift"]),
    (&["sbt"], &["build.sbt", "project/build.properties"]),
    (&["dotnet"], &["Directory.Build.props", "Directory.Build.targets", "global.json"]),
    (&["scons"], &["SConstruct"]),
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
const COMMAND_FILES: [&str; 2] = ["AGENTS.md", ".ostler/config.toml"];
/// Endings of files that are run or included without being executable.
const SCRIPTS: [&str; 10] =
    [".sh", ".bash", ".zsh", ".mk", ".make", ".makefile", ".just", ".rake", ".cmake", ".d"];
/// Programs and words before the name of a file that is run or taken in, whatever it is called.
const FILE_RUNNING_WORDS: [&str; 16] = [
    "sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "php", "source", ".",
    "include", "-include", "sinclude", "Rscript",
];
/// How much of a file is looked at; a sum is over all of it up to a limit that no script reaches.
const MAX_TEXT: usize = 256 << 10;
const MAX_SUMMED_BYTES: u64 = 4 << 20;
/// How many files are followed from a line.
const MAX_FILES: usize = 128;

/// The files that decide what checks run, as they are now. Blocks.
pub(crate) fn check_files(request: &FindCheckFiles) -> FileSums {
    let workspace = Path::new(&request.workspace);
    let lines = || request.lines.iter();
    let mut sums: FileSums = match request.scope {
        CheckFileScope::Lines => lines().flat_map(|line| files_of_line(workspace, line)).collect(),
        CheckFileScope::Workspace => files_of_workspace(workspace, &request.lines),
        CheckFileScope::Named => lines().flat_map(|line| files_named_by(workspace, line)).collect(),
    };
    let texts = sums.keys().filter_map(|name| read_text_prefix(workspace, name));
    let texts: Vec<String> = request.lines.iter().cloned().chain(texts).collect();
    let named: BTreeSet<&str> =
        texts.iter().flat_map(|text| words(text)).map(|word| word.trim_start_matches("./")).collect();
    let decides =
        |name: &&String| !is_content(name, |path| named.contains(path)) || is_script(workspace, name);
    for name in request.candidates.iter().filter(decides).filter(|name| stays_inside(name)) {
        let sum = read(&workspace.join(name)).map_or_else(String::new, |content| content_sum(name, &content));
        sums.insert(name.clone(), sum);
    }
    sums
}

/// Every file of the workspace that a line names, and the scripts that they lead to.
fn files_named_by(workspace: &Path, line: &str) -> FileSums {
    let inside = |word: &str| {
        let word = word
            .strip_prefix(&*workspace.to_string_lossy())
            .map_or(word, |inner| inner.trim_start_matches('/'));
        stays_inside(word).then(|| word.trim_start_matches("./").to_owned())
    };
    follow_scripts(
        workspace,
        words(line).filter_map(inside).filter(|name| workspace.join(name).is_file()).collect(),
    )
}

/// The files that decide what a command line runs.
fn files_of_line(workspace: &Path, line: &str) -> FileSums {
    let mut wanted: BTreeSet<String> = recipes_in(line).map(str::to_owned).collect();
    wanted.extend(scripts(workspace, line));
    follow_scripts(workspace, wanted)
}

/// The recipes of the programs that a text names.
fn recipes_in(text: &str) -> impl Iterator<Item = &'static str> {
    let named: BTreeSet<&str> = words(text).map(file_name).collect();
    let is_named = move |programs: &[&str]| programs.iter().any(|program| named.contains(program));
    RECIPES
        .iter()
        .filter(move |(programs, _)| is_named(programs))
        .flat_map(|(_, files)| files.iter().copied())
}

/// The beginning of a file as text.
fn read_text_prefix(workspace: &Path, name: &str) -> Option<String> {
    let content = read(&workspace.join(name))?;
    Some(String::from_utf8_lossy(&content[..content.len().min(MAX_TEXT)]).into_owned())
}

/// Every file that may decide what is run, for these lines or by itself.
fn files_of_workspace(workspace: &Path, lines: &[String]) -> FileSums {
    let known = RECIPES.iter().flat_map(|(_, files)| *files).chain(&COMMAND_FILES);
    let mut wanted: BTreeSet<String> = known.map(|name| (*name).to_owned()).collect();
    wanted.extend(lines.iter().flat_map(|line| scripts(workspace, line)));
    follow_scripts(workspace, wanted)
}

/// The sums of these files and of the scripts that they name in turn.
fn follow_scripts(workspace: &Path, mut wanted: BTreeSet<String>) -> FileSums {
    let mut sums = FileSums::new();
    while let Some(name) = wanted.pop_first() {
        if sums.len() >= MAX_FILES || sums.contains_key(&name) {
            continue;
        }
        let Some(content) = read(&workspace.join(&name)) else { continue };
        sums.insert(name.clone(), content_sum(&name, &content));
        if !COMMAND_FILES.contains(&name.as_str()) {
            let text = String::from_utf8_lossy(&content[..content.len().min(MAX_TEXT)]).into_owned();
            wanted.extend(scripts(workspace, &text));
            wanted.extend(recipes_in(&text).map(str::to_owned));
        }
    }
    sums
}

/// The scripts of the workspace that a text names.
fn scripts(workspace: &Path, text: &str) -> BTreeSet<String> {
    let seen: BTreeSet<&str> = words(text).collect();
    let all: Vec<&str> = words(text).collect();
    let taken =
        all.windows(2).filter(|pair| FILE_RUNNING_WORDS.contains(&file_name(pair[0]))).map(|pair| pair[1]);
    let taken = taken.filter(|word| workspace.join(word).is_file());
    let named = seen.into_iter().filter(|word| is_script(workspace, word)).chain(taken);
    let named = named.filter(|word| stays_inside(word));
    named.map(|word| word.trim_start_matches("./").to_owned()).take(MAX_FILES).collect()
}

fn stays_inside(name: &str) -> bool {
    Path::new(name).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

/// Returns true for a program, or for a file that is run or included without being one.
fn is_script(workspace: &Path, name: &str) -> bool {
    let path = workspace.join(name);
    let found = std::fs::metadata(&path).ok().filter(std::fs::Metadata::is_file);
    let can_execute = || found.as_ref().is_some_and(|found| found.permissions().mode() & 0o111 != 0);
    found.is_some() && (SCRIPTS.iter().any(|end| name.ends_with(end)) || can_execute() && is_program(&path))
}

/// Returns true for what the kernel would run. On some file systems every file can be executed by its mode.
fn is_program(path: &Path) -> bool {
    let mut start = [0; 4];
    let read = open_regular(path).and_then(|mut file| file.read(&mut start));
    read.is_ok() && (start.starts_with(b"#!") || start == *b"\x7fELF")
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

/// The sum of what counts in a file.
fn content_sum(name: &str, content: &[u8]) -> String {
    let counted = deciding_part(name, content);
    let mut digits = String::with_capacity(64);
    for byte in Sha256::digest(counted.as_deref().unwrap_or(content)) {
        write!(digits, "{byte:02x}").expect("writing to a string cannot fail");
    }
    digits
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    open_regular(path).ok()?.take(MAX_SUMMED_BYTES).read_to_end(&mut content).ok()?;
    Some(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::{CheckFileScope, FindCheckFiles, check_files, files_of_line, files_of_workspace};

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
        let names = |line: &str| files_of_line(dir.path(), line).into_keys().collect::<Vec<_>>();
        assert_eq!(names("make test"), ["Makefile", "ci/deep.sh", "ci/run.sh", "rules.mk"]);
        assert_eq!(names("cd . && env A=1 /usr/bin/make -C . test").len(), 4);
        assert_eq!(names("bash ./ci/deep.sh"), ["ci/deep.sh"]);
        assert_eq!(names("npm test"), ["package.json"]);
        assert!(names("cc src/main.c && ../make/up.sh && cat /etc/passwd").is_empty());
        let before = files_of_line(dir.path(), "npm test");
        put("package.json", r#"{"scripts":{"test":"x"},"dependencies":{"a":"1"}}"#);
        assert_eq!(files_of_line(dir.path(), "npm test"), before, "dependencies are not what runs");
        put("package.json", r#"{"scripts":{"test":"y"}}"#);
        assert_ne!(files_of_line(dir.path(), "npm test"), before);
        assert_eq!(files_of_workspace(dir.path(), &["ci/run.sh".to_owned()]).len(), 5);
    }

    #[test]
    fn what_a_text_does_not_show_counts_where_it_can_be_run() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["Makefile", "sub/Makefile", "mk/new.mk", "x/go", "src/main.c", "tools/server.py"] {
            std::fs::create_dir_all(dir.path().join(name).parent().unwrap()).unwrap();
            std::fs::write(dir.path().join(name), "#!x").unwrap();
        }
        std::fs::set_permissions(dir.path().join("x/go"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let find = |lines: &[&str], scope, candidates: &[&str]| {
            let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
            let workspace = dir.path().to_str().unwrap().to_owned();
            let request =
                FindCheckFiles { workspace, lines: owned(lines), scope, candidates: owned(candidates) };
            check_files(&request).into_keys().collect::<Vec<_>>()
        };
        let changed = ["sub/Makefile", "mk/new.mk", "x/go", "src/main.c", "../x", "gone.sh", "pytest.ini"];
        let expected = ["Makefile", "gone.sh", "mk/new.mk", "pytest.ini", "sub/Makefile", "x/go"];
        assert_eq!(find(&["make test"], CheckFileScope::Lines, &changed), expected);
        let line = format!("A=… /usr/bin/python3 {}/tools/server.py --port 1", dir.path().display());
        for line in ["python3 tools/server.py", "python3 ./tools/server.py", &line] {
            assert_eq!(find(&[line], CheckFileScope::Named, &[]), ["tools/server.py"], "{line}");
        }
    }
}
