//! What of the file system a third-party agent has to read so that its program can start: where the program is
//! installed, and where the interpreter is that its first line names. In a home directory nothing else can be read.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use ostler_process::{Program, ProgramFinder};
use ostler_sandbox::secret_places;

/// How much of a script is read to find its interpreter; the kernel reads no more.
const FIRST_LINE_BYTES: u64 = 256;
/// Directories of a home directory that hold much besides one installation.
const SHARED_HOME_DIRECTORIES: [&str; 5] = [".local", ".local/share", ".local/lib", ".config", ".cache"];

/// The path by which a program is started: without links, but for a Python that knows its packages by the link.
pub(super) fn starting_path<'a>(program: &'a Program, finder: &ProgramFinder) -> &'a Path {
    let link = program.found_at();
    let environment = link.parent().and_then(Path::parent);
    let is_environment = environment.is_some_and(|place| place.join("pyvenv.cfg").is_file());
    if is_environment && !finder.is_writable_by_commands(link) { link } else { program.path() }
}

/// The places to be opened for a program, and for its first argument, which is the script where the program is an
/// interpreter.
pub(super) fn readable_paths(
    program: &Program,
    first_argument: Option<&str>,
    home: &Path,
    finder: &ProgramFinder,
) -> Vec<PathBuf> {
    let mut places =
        vec![installation(program.path(), home), installation(starting_path(program, finder), home)];
    places.extend(interpreter(program.path(), finder).into_iter().map(|path| installation(&path, home)));
    let script = first_argument.map(Path::new).filter(|path| path.is_absolute() && path.is_file());
    // A link that a sandboxed command has put in the place of a script could lead to anything.
    let script =
        script.filter(|path| !finder.is_writable_by_commands(path)).and_then(|path| path.canonicalize().ok());
    places.extend(script.map(|path| installation(&path, home)));
    places.retain(|place| place.exists());
    places.sort();
    places.dedup();
    places
}

/// The smallest directory that holds an installed program with what belongs to it: all modules of Node where it is one
/// of them, the directory above `bin` and `lib`, else the directory that it is in; and the program alone where that
/// directory holds much else.
fn installation(program: &Path, home: &Path) -> PathBuf {
    let is_modules = |path: &&Path| path.file_name().is_some_and(|name| name == "node_modules");
    let modules = program.ancestors().filter(is_modules).last();
    let directory = program.parent();
    let above = directory.filter(|directory| directory.ends_with("bin")).and_then(Path::parent);
    let prefix = above.filter(|above| above.join("lib").is_dir() && !above.join(".git").exists());
    let candidates = [modules, prefix, directory].into_iter().flatten();
    candidates.into_iter().find(|place| !is_shared_directory(place, home)).unwrap_or(program).to_owned()
}

/// Whether a directory holds more than an installation: the home directory, directories that many programs share,
/// or keys and tokens.
fn is_shared_directory(place: &Path, home: &Path) -> bool {
    home.starts_with(place)
        || place.components().count() <= 2
        || SHARED_HOME_DIRECTORIES.iter().any(|shared| home.join(shared) == place)
        || secret_places(home).iter().any(|secret| secret.starts_with(place))
}

/// The interpreter that the first line of a script names, as it is named and without links: an environment of Python
/// has a link to an interpreter elsewhere, and needs both.
fn interpreter(script: &Path, finder: &ProgramFinder) -> Vec<PathBuf> {
    let mut start = Vec::new();
    let read = File::open(script).and_then(|file| file.take(FIRST_LINE_BYTES).read_to_end(&mut start));
    let text = String::from_utf8_lossy(&start);
    let Some(line) = read.ok().and_then(|_| text.strip_prefix("#!")?.lines().next()) else {
        return Vec::new();
    };
    let mut words = line.split_whitespace();
    let Some(first) = words.next() else { return Vec::new() };
    let named = match Path::new(first).file_name().is_some_and(|name| name == "env") {
        true => words.find(|word| !word.starts_with('-') && !word.contains('=')),
        false => Some(first),
    };
    let found = named.and_then(|name| Some((name, finder.find(name).ok()?)));
    let Some((name, program)) = found else { return Vec::new() };
    let named = Some(PathBuf::from(name)).filter(|path| path.is_absolute());
    named.into_iter().chain([program.path().to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::{Path, PathBuf};

    use ostler_process::ProgramFinder;

    use super::{installation, readable_paths, starting_path};

    fn executable(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn an_installation_is_no_larger_than_it_has_to_be() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap().join("home");
        for directory in
            ["node/lib", "node/bin", ".cargo/bin", ".cargo/lib", ".local/lib", "project/.git", "project/lib"]
        {
            fs::create_dir_all(home.join(directory)).unwrap();
        }
        for (program, expected) in [
            ("node/lib/node_modules/@x/agent/node_modules/y/main.js", "node/lib/node_modules"),
            ("node/bin/node", "node"),
            (".local/bin/goose", ".local/bin"),
            (".cargo/bin/agent", ".cargo/bin"),
            (".opencode/bin/opencode", ".opencode/bin"),
            ("project/bin/agent", "project/bin"),
            ("agent.py", "agent.py"),
            (".ssh/agent", ".ssh/agent"),
            (".config/agent", ".config/agent"),
        ] {
            assert_eq!(installation(&home.join(program), &home), home.join(expected), "{program}");
        }
        for (program, expected) in
            [("/usr/bin/agent", "/usr/bin"), ("/agent", "/agent"), ("/opt/agent", "/opt/agent")]
        {
            assert_eq!(installation(Path::new(program), &home), Path::new(expected));
        }
        assert_eq!(
            installation(&place.path().join("agent"), &home),
            place.path().join("agent"),
            "home is there"
        );
    }

    #[test]
    fn interpreters_and_scripts_are_opened_with_what_belongs_to_them() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (home, workspace) = (root.join("home"), root.join("workspace"));
        executable(&home.join("node/bin/node"), "");
        fs::create_dir_all(home.join("node/lib/node_modules")).unwrap();
        let agent = home.join("node/lib/node_modules/agent/main.js");
        executable(&agent, "#!/usr/bin/env -S node --no-warnings\n");
        executable(&home.join("python/bin/python3"), "");
        fs::create_dir_all(home.join("python/lib")).unwrap();
        fs::create_dir_all(home.join("tool/bin")).unwrap();
        fs::create_dir_all(home.join("tool/lib")).unwrap();
        symlink(home.join("python/bin/python3"), home.join("tool/bin/python")).unwrap();
        let script = home.join("tool/bin/agent");
        executable(&script, &format!("#!{}\n", home.join("tool/bin/python").display()));
        executable(&home.join("own/agent.js"), "");
        executable(&workspace.join("link.js"), "");
        fs::create_dir_all(home.join(".ssh")).unwrap();
        fs::write(home.join(".ssh/id"), "").unwrap();
        fs::remove_file(workspace.join("link.js")).unwrap();
        symlink(home.join(".ssh/id"), workspace.join("link.js")).unwrap();

        let path = home.join("node/bin").into_os_string();
        let writable = vec![workspace.clone()];
        let finder = ProgramFinder::new(Some(&path), move || writable.clone());
        let opened = |program: &Path, first: Option<PathBuf>| {
            let first = first.map(|path| path.display().to_string());
            readable_paths(&finder.find(program.to_str().unwrap()).unwrap(), first.as_deref(), &home, &finder)
        };
        assert_eq!(opened(&agent, None), [home.join("node"), home.join("node/lib/node_modules")]);
        assert_eq!(opened(&script, None), [home.join("python"), home.join("tool")]);
        let node = home.join("node/bin/node");
        assert_eq!(opened(&node, Some(home.join("own/agent.js"))), [home.join("node"), home.join("own")]);
        assert_eq!(opened(&node, Some(workspace.join("link.js"))), [home.join("node")], "it leads to a key");
        assert_eq!(opened(&node, Some("--acp".into())), [home.join("node")]);

        let link = home.join("tool/bin/python");
        assert_eq!(opened(&link, None), [home.join("python")]);
        let start =
            |path: &Path| starting_path(&finder.find(path.to_str().unwrap()).unwrap(), &finder).to_owned();
        assert_eq!(start(&link), home.join("python/bin/python3"));
        fs::write(home.join("tool/pyvenv.cfg"), "").unwrap();
        assert_eq!((start(&link), opened(&link, None)), (link, vec![home.join("python"), home.join("tool")]));
        let inside = workspace.join(".venv/bin/python");
        fs::create_dir_all(inside.parent().unwrap()).unwrap();
        fs::write(workspace.join(".venv/pyvenv.cfg"), "").unwrap();
        symlink(home.join("python/bin/python3"), &inside).unwrap();
        assert_eq!(start(&inside), home.join("python/bin/python3"), "the link could be changed");
    }
}
