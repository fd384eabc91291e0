//! The nouns of what a line reads: which places its commands look at, and from which program. Where these
//! places are, and whether a command may read them unasked, is left to somebody with a file system.

use crate::{Becomes, Word};

/// What one command that only reads depends on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reads {
    /// The programs that are started, as they are named: a name to be searched for, or an absolute path.
    pub programs: Vec<String>,
    /// The files and directories that are read.
    pub places: Vec<Place>,
    /// Where the shell goes, for `cd`. What comes after it may then run there, or where it ran before.
    pub goes_to: Option<Spelling>,
    /// Whether the command reads the repository that it finds from where it runs.
    pub reads_repository: bool,
}

/// A file or directory that a command reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// How the line names it.
    pub spelling: Spelling,
    /// How much of it is read.
    pub extent: Extent,
}

/// How a line names a place. A relative name starts where the command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Spelling {
    /// By this path.
    Path(String),
    /// By a glob, as in [`Becomes::Files`].
    Glob(String),
    /// By something that is only known at run time.
    Unknown,
}

/// How much a command reads of a place. None of them follows links below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// The names that a glob matches, but none of the files.
    Names,
    /// The file, or what the directory lists.
    Itself,
    /// The file. In a directory the command would read files through links.
    File,
    /// Everything below the directory.
    Below,
}

impl Place {
    pub(crate) fn path(path: &str, extent: Extent) -> Place {
        Place { spelling: Spelling::Path(path.to_owned()), extent }
    }

    /// What a word names; nothing where it names a pipe.
    pub(crate) fn of(word: &Word, extent: Extent) -> Option<Place> {
        let spelling = match word {
            Word::Literal(text) => Spelling::Path(text.clone()),
            Word::Unknown { becomes: Becomes::Files(glob), .. } => Spelling::Glob(glob.clone()),
            Word::Unknown { becomes: Becomes::Anything | Becomes::Text, .. } => Spelling::Unknown,
            Word::Unknown { becomes: Becomes::Pipe, .. } => return None,
        };
        Some(Place { spelling, extent })
    }
}
