//! A throwaway tree with a workspace, files outside of it that no allowed line may show, and the means to run lines in a
//! namespace where nothing else can be changed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use ostler_process::child_environment;
use tempfile::TempDir;

/// What files outside of the workspace contain, and some are called.
pub(crate) const CANARY: &str = "canary-7f3a91";
/// What is kept of the output of one line: some print without end until the limits end them.
const MAX_KEPT: usize = 1 << 20;

/// Runs each line in a shell of its own, with an empty input, and says which one comes next. The limits end what loops.
const DRIVER: &str = r#"
exec 9<&0 </dev/null 2>&1
ulimit -c 0 -t 4 -f 65536
number=0
while IFS= read -r -d '' line <&9; do
    printf '\n\001%s\001\n' "$number"
    /bin/bash -c "$line" 9<&-
    number=$((number + 1))
done
"#;

/// Reads all output. Of a line that prints much, it is kept whether it showed the canary.
fn read_all(mut from: impl Read) -> Vec<u8> {
    let (mut kept, mut chunk): (Vec<u8>, _) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let count = from.read(&mut chunk).unwrap();
        if count == 0 {
            return kept;
        }
        kept.extend_from_slice(&chunk[..count]);
        let start = kept.iter().rposition(|byte| *byte == 1).map_or(0, |marker| marker + 1);
        if kept.len() - start > MAX_KEPT {
            let shows = kept[start..].windows(CANARY.len()).any(|window| window == CANARY.as_bytes());
            // The canary may begin at the end of what was read.
            let end = kept.split_off(kept.len() - CANARY.len());
            kept.truncate(start);
            kept.extend_from_slice(if shows { CANARY.as_bytes() } else { b"" });
            kept.extend(end);
        }
    }
}

/// The tree. It is gone when this is dropped.
pub(crate) struct EffectsWorld {
    folder: TempDir,
}

/// What lines did.
pub(crate) struct Traces {
    /// What is different in the tree.
    pub(crate) changed: Vec<String>,
    /// The lines whose output shows the canary, by their position.
    pub(crate) shown: Vec<usize>,
}

impl EffectsWorld {
    pub(crate) fn new() -> EffectsWorld {
        let world = EffectsWorld { folder: tempfile::tempdir().unwrap() };
        let put = |path: &str, content: &str| {
            let path = world.root().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        };
        for (path, content) in WORKSPACE_FILES {
            put(&format!("workspace/{path}"), content);
        }
        let outside = world.root().join("sibling/.env");
        put("workspace/list", &format!("{}\n../sibling/.env\n", outside.display()));
        put("workspace/list0", "../sibling/.env\0");
        put("workspace/sums", "d41d8cd98f00b204e9800998ecf8427e  ../sibling/.env\n");
        for path in ["sibling/.env", "sibling/secret.txt", "home/.env", ".env", "secret.txt"] {
            put(path, &format!("KEY={CANARY}\nint main\n"));
        }
        put(&format!("sibling/{CANARY}"), "");
        put(&format!("home/{CANARY}"), "");
        for (path, target) in LINKS {
            symlink(target, world.workspace().join(path)).unwrap();
        }
        for program in ["bin/ls", "run.sh", "src/cat"] {
            put(&format!("workspace/{program}"), "#!/bin/sh\n: > P-program\n");
            let path = world.workspace().join(program);
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        world
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap()
    }

    pub(crate) fn workspace(&self) -> PathBuf {
        self.root().join("workspace")
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.root().join("home")
    }

    /// Runs lines one after the other, and says what came of it.
    pub(crate) fn run(&self, lines: &[String]) -> Traces {
        let before = self.snapshot();
        let output = self.output(lines);
        let after = self.snapshot();
        let is_same = |path: &&String| before.get(*path) == after.get(*path);
        let mut changed: Vec<String> =
            before.keys().chain(after.keys()).filter(|path| !is_same(path)).cloned().collect();
        changed.sort();
        changed.dedup();
        let mut shown = Vec::new();
        let text = String::from_utf8_lossy(&output);
        let mut sections = text.split('\u{1}').skip(1);
        while let (Some(number), Some(printed)) = (sections.next(), sections.next()) {
            if printed.contains(CANARY) {
                shown.extend(number.parse::<usize>());
            }
        }
        assert!(text.matches('\u{1}').count() >= 2 * lines.len(), "not all lines were run: {}", tail(&text));
        Traces { changed, shown }
    }

    fn output(&self, lines: &[String]) -> Vec<u8> {
        let root = self.root();
        let mut command = Command::new("bwrap");
        command
            .args(["--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/", "/"])
            .args(["--dev", "/dev", "--proc", "/proc", "--bind"])
            .args([&root, &root])
            .arg("--chdir")
            .arg(self.workspace())
            .args(["--", "/bin/bash", "--norc", "--noprofile", "-c", DRIVER])
            .env_clear()
            .envs(child_environment(std::env::vars_os()))
            .env("HOME", self.home())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit());
        let mut child =
            command.spawn().expect("bubblewrap is needed for this test: install the package bubblewrap");
        let (mut input, all) = (child.stdin.take().unwrap(), lines.join("\0") + "\0");
        let writing = thread::spawn(move || input.write_all(all.as_bytes()));
        let output = read_all(child.stdout.take().unwrap());
        let status = child.wait().unwrap();
        let _ = writing.join();
        let started = output.contains(&1);
        assert!(started, "bubblewrap cannot make a namespace here ({status}), so nothing was tested");
        output
    }

    /// Everything in the tree: kind, mode, size, time of the last change, and where links lead.
    fn snapshot(&self) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.root()];
        while let Some(folder) = folders.pop() {
            all.insert(folder.to_string_lossy().into_owned(), describe(&folder));
            for entry in fs::read_dir(&folder).unwrap() {
                let path = entry.unwrap().path();
                if path.symlink_metadata().unwrap().is_dir() {
                    folders.push(path);
                } else {
                    all.insert(path.to_string_lossy().into_owned(), describe(&path));
                }
            }
        }
        all
    }
}

fn describe(path: &Path) -> String {
    let data = path.symlink_metadata().unwrap();
    let link = fs::read_link(path).ok();
    format!(
        "{:o} {} {} {} {link:?}",
        data.mode(),
        data.ino(),
        data.size(),
        data.ctime_nsec() + data.ctime() * 1_000_000_000
    )
}

fn tail(text: &str) -> &str {
    &text[text.floor_char_boundary(text.len().saturating_sub(400))..]
}

/// Some have names that a program or a shell could take for something else.
const WORKSPACE_FILES: &[(&str, &str)] = &[
    ("notes.txt", "one\ntwo\nthree two\n"),
    ("README.md", "# title\nint main\n"),
    ("src/a.rs", "fn main() {}\n"),
    ("src/b.rs", "fn b() {}\n"),
    ("src/deep/c.rs", "// c\n"),
    ("a b", "blank\n"),
    ("-o", ""),
    ("-rf", ""),
    ("--pre=x", ""),
    ("--output=P-glob", ""),
    ("-oP-glob", ""),
    ("x[$(touch P-name)]", ""),
    ("$(touch P-name)", ""),
    ("rsp", "../sibling/.env\n"),
    ("opts", "--output=P-opts\n-o P-opts\n"),
    ("d1/same", "one\n"),
    ("d2/other", "two\n"),
    ("a/inner", "1\n"),
    ("magic", "0 string x y\n"),
    (".bash_profile", ": > P-profile\n"),
    (".hidden", "h\n"),
];

const LINKS: &[(&str, &str)] = &[
    ("link-in", "src"),
    ("link-out", "../sibling"),
    ("link-file", "../sibling/.env"),
    ("src/up", "../../sibling"),
    ("d1/secret", "../../sibling/.env"),
    ("d2/secret", "../notes.txt"),
    ("a/a", "../../sibling"),
    ("dangling", "../sibling/later"),
    ("around", "."),
];
