//! The nouns of what a line reads: which places its commands look at, and from which program. Where these
//! places are, and whether a command may read them unasked, is left to somebody with a file system.

use crate::{ShellWord, WordExpansion};

/// What one command that only reads depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandReads {
    /// The programs that are started, as they are named: a name to be searched for, or an absolute path.
    pub programs: Vec<String>,
    /// The files and directories that are read.
    pub targets: Vec<ReadTarget>,
    /// Where the shell goes, for `cd`. What comes after it may then run there, or where it ran before.
    pub changes_directory_to: Option<TargetSpelling>,
    /// Whether the command reads the repository that it finds from where it runs.
    pub reads_repository: bool,
}

/// A file or directory that a command reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadTarget {
    /// How the line names it.
    pub spelling: TargetSpelling,
    /// How much of it is read.
    pub extent: ReadExtent,
}

/// How a line names a place. A relative name starts where the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetSpelling {
    /// By this path.
    Path(String),
    /// By a glob, as in [`WordExpansion::Files`].
    Glob(String),
    /// By something that is only known at run time.
    Unknown,
}

/// How much a command reads of a place. None of them follows links below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadExtent {
    /// The names that a glob matches, but none of the files.
    Names,
    /// The file, or what the directory lists.
    Itself,
    /// The file. In a directory the command would read files through links.
    File,
    /// Everything below the directory.
    Below,
}

impl ReadTarget {
    pub(crate) fn from_path(path: &str, extent: ReadExtent) -> ReadTarget {
        ReadTarget { spelling: TargetSpelling::Path(path.to_owned()), extent }
    }

    /// What a word names; nothing where it names a pipe.
    pub(crate) fn from_word(word: &ShellWord, extent: ReadExtent) -> Option<ReadTarget> {
        let spelling = match word {
            ShellWord::Literal(text) => TargetSpelling::Path(text.clone()),
            ShellWord::Unknown { becomes: WordExpansion::Files(glob), .. } => {
                TargetSpelling::Glob(glob.clone())
            }
            ShellWord::Unknown { becomes: WordExpansion::Anything | WordExpansion::Text, .. } => {
                TargetSpelling::Unknown
            }
            ShellWord::Unknown { becomes: WordExpansion::Pipe, .. } => return None,
        };
        Some(ReadTarget { spelling, extent })
    }
}
