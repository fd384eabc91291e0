//! Source trees as somebody might have them, in several languages, always the same for the same numbers.
//! They are for reading, searching and mapping; nothing in them would compile for long.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};

/// Stands once in a file, in one file of [`NEEDLE_EVERY`].
pub const NEEDLE: &str = "a needle in this stack";
/// How many files there are for each that has the needle.
pub const NEEDLE_EVERY: usize = 100;

const FILES_IN_A_DIRECTORY: usize = 25;
const DIRECTORIES_IN_A_PART: usize = 20;
/// So many definitions every file has at least; only these are referred to from others.
const MIN_DEFINITIONS: usize = 2;
const VERBS: [&str; 8] = ["read", "write", "check", "merge", "render", "split", "count", "close"];
const NOUNS: [&str; 8] = ["session", "record", "cursor", "matrix", "ledger", "packet", "window", "branch"];

/// A tree of files, which is a git repository with a file of rules.
#[derive(Debug, Clone)]
pub struct SourceTree {
    /// Where it lies.
    pub root: PathBuf,
    /// How many source files it has.
    pub files: usize,
    /// How many bytes these have together.
    pub bytes: u64,
}

/// How a language is written: what stands before, for each definition and after them.
struct GeneratedLanguage {
    extension: &'static str,
    head: &'static str,
    definition: &'static str,
    tail: &'static str,
}

const LANGUAGES: [GeneratedLanguage; 6] = [
    GeneratedLanguage {
        extension: "rs",
        head: "//! TEXT\n\npub struct TYPE {\n    pub value: usize,\n}\n",
        definition: "\n/// TEXT\npub fn NAME(input: &str) -> usize {\n    let first = FIRST(input);\n    \
                     first + SECOND(input)\n}\n",
        tail: "",
    },
    GeneratedLanguage {
        extension: "py",
        head: "\"\"\"TEXT\"\"\"\n\n\nclass TYPE:\n    value = 0\n",
        definition: "\n\ndef NAME(text):\n    \"\"\"TEXT\"\"\"\n    first = FIRST(text)\n    \
                     return first + SECOND(text)\n",
        tail: "",
    },
    GeneratedLanguage {
        extension: "ts",
        head: "// TEXT\n\nexport interface TYPE {\n  value: number;\n}\n",
        definition: "\n/** TEXT */\nexport function NAME(text: string): number {\n  const first = FIRST(text);\n  \
                     return first + SECOND(text);\n}\n",
        tail: "",
    },
    GeneratedLanguage {
        extension: "go",
        head: "// TEXT\npackage part\n\ntype TYPE struct {\n\tValue int\n}\n",
        definition: "\n// TEXT\nfunc NAME(text string) int {\n\tfirst := FIRST(text)\n\treturn first + SECOND(text)\n}\n",
        tail: "",
    },
    GeneratedLanguage {
        extension: "java",
        head: "// TEXT\npackage part;\n\npublic class TYPE {\n",
        definition: "\n    /** TEXT */\n    public static int NAME(String text) {\n        \
                     int first = FIRST(text);\n        return first + SECOND(text);\n    }\n",
        tail: "}\n",
    },
    GeneratedLanguage {
        extension: "c",
        head: "/* TEXT */\n#include <stddef.h>\n\nstruct TYPE {\n    int value;\n};\n",
        definition: "\n/* TEXT */\nint NAME(const char *text)\n{\n    int first = FIRST(text);\n    \
                     return first + SECOND(text);\n}\n",
        tail: "",
    },
];

impl SourceTree {
    /// Makes a tree below `place`, unless it is there from before. Files have so many bytes on average,
    /// between a quarter of it and not quite twice as many.
    pub fn make(place: &Path, files: usize, file_bytes: usize) -> Result<SourceTree> {
        let home = place.join(format!("tree-{files}-{file_bytes}"));
        let (root, done) = (home.join("tree"), home.join("complete"));
        if let Ok(bytes) = std::fs::read_to_string(&done) {
            let bytes = bytes.parse().with_context(|| format!("{} is damaged", done.display()))?;
            return Ok(SourceTree { root, files, bytes });
        }
        let start = Instant::now();
        if home.exists() {
            std::fs::remove_dir_all(&home)?;
        }
        std::fs::create_dir_all(&root)?;
        let mut tree = SourceTree { root, files, bytes: 0 };
        tree.write(file_bytes).context("cannot write a tree of sources")?;
        std::fs::write(&done, tree.bytes.to_string())?;
        eprintln!("wrote {files} source files in {:.1} s", start.elapsed().as_secs_f64());
        Ok(tree)
    }

    /// Adds all files to git's index.
    pub fn track(&self) -> Result<()> {
        git(&self.root, &["add", "--all"]).map(|_| ())
    }

    fn write(&mut self, file_bytes: usize) -> Result<()> {
        for number in 0..self.files {
            let language = &LANGUAGES[number % LANGUAGES.len()];
            let directory = number / FILES_IN_A_DIRECTORY;
            let directory =
                self.root.join(format!("part{}/module{directory}", directory / DIRECTORIES_IN_A_PART));
            if number % FILES_IN_A_DIRECTORY == 0 {
                std::fs::create_dir_all(&directory)?;
            }
            let text = source(language, number, self.files, file_bytes);
            std::fs::write(directory.join(format!("file{number}.{}", language.extension)), &text)?;
            self.bytes += text.len() as u64;
        }
        std::fs::write(self.root.join(".gitignore"), "build/\n*.o\n*.log\n")?;
        git(&self.root, &["init", "--quiet"]).map(|_| ())
    }
}

/// Runs git in a directory, with nobody's settings, and gives what it prints.
pub fn git(directory: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let mut command = Command::new("git");
    command.arg("-C").arg(directory).args(arguments).stdin(Stdio::null());
    command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output = command.output().context("cannot start git, which Debian has as `git`")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "git {} failed: {errors}", arguments.join(" "));
    Ok(output.stdout)
}

fn source(language: &GeneratedLanguage, number: usize, files: usize, file_bytes: usize) -> String {
    let wanted = file_bytes * (1 + pseudo_random(number) % 7) / 4;
    let type_name = format!("Type{number}");
    let needle = if number.is_multiple_of(NEEDLE_EVERY) { NEEDLE } else { "nothing of note" };
    let text = format!("File {number} of {files}, with {needle}.");
    let mut source = language.head.replace("TYPE", &type_name).replace("TEXT", &text);
    let mut definitions = 0;
    while definitions < MIN_DEFINITIONS || source.len() + language.tail.len() < wanted {
        let seed = pseudo_random(number * 1_000 + definitions);
        let name = name(number, definitions);
        let text =
            format!("{} the {} before the {}.", VERBS[seed % 8], NOUNS[seed / 8 % 8], NOUNS[seed / 64 % 8]);
        let definition = language.definition.replace("NAME", &name).replace("TEXT", &text);
        let (first, second) =
            (other_definition(number, files, seed), other_definition(number, files, pseudo_random(seed)));
        source += &definition.replace("FIRST", &first).replace("SECOND", &second);
        definitions += 1;
    }
    source + language.tail
}

/// A definition of a file in the same language. Half of the time it is one of a few that many refer to.
fn other_definition(number: usize, files: usize, seed: usize) -> String {
    let among = if seed.is_multiple_of(2) { files.div_ceil(20) } else { files };
    let same = LANGUAGES.len();
    let other = (seed / 2) % among / same * same + number % same;
    name(if other < files { other } else { number }, seed / 1_000 % MIN_DEFINITIONS)
}

fn name(file: usize, definition: usize) -> String {
    let seed = pseudo_random(file) + definition;
    format!("{}_{}_{file}_{definition}", VERBS[seed % 8], NOUNS[seed / 8 % 8])
}

/// A number that looks like chance and is none.
fn pseudo_random(number: usize) -> usize {
    let mut bits = (number as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((bits ^ (bits >> 31)) >> 8) as usize
}
