//! Reads what a git work tree has checked out, without running git: its HEAD, and the branch that HEAD names, loose or
//! packed. No object and no setting is read. Which directories belong to a repository is for the callers to find out,
//! and so is asking git where this reading is not sure to agree with it.

use std::io::{self, Read};
use std::path::Path;

use rustix::fs::FileType;
use rustix::io::Errno;

use crate::open::{LinkPolicy, ReadError};
use crate::rooted_tree::RootedTree;

/// The size of the largest HEAD or branch that is read.
const MAX_REF_BYTES: u64 = 4096;
/// The size of the largest file of packed references that is read.
const MAX_PACKED_BYTES: u64 = 8 << 20;
/// The directory of branches.
const BRANCHES: &str = "refs/heads/";

/// What HEAD of a work tree names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GitHead {
    /// A branch.
    Branch {
        /// Its name, without `refs/heads/`.
        name: String,
        /// The commit that it is at; none where the branch has no commits yet.
        commit: Option<String>,
    },
    /// A commit, without a branch.
    Detached {
        /// The commit.
        commit: String,
    },
}

impl GitHead {
    /// Reads HEAD in `directory`, which git keeps for one work tree, and the branch in `common`, which the work trees of a
    /// repository share. No part of either path may be a link. Fails where only git can tell: a file on the way is a
    /// link, is too large or damaged, or HEAD or the branch is not kept in the usual way, as in a reftable.
    pub fn read(directory: &Path, common: &Path) -> io::Result<GitHead> {
        let head = RootedTree::open(directory)?.read(Path::new("HEAD"), MAX_REF_BYTES)?.0;
        let reference = match Reference::parse(&head)? {
            Reference::Commit(commit) => return Ok(GitHead::Detached { commit }),
            Reference::Symbolic(reference) => reference,
        };
        let name = reference.strip_prefix(BRANCHES).filter(|_| is_valid_name(&reference));
        let name = name.ok_or_else(|| unusual("HEAD names no branch"))?.to_owned();
        let common = RootedTree::open(common)?;
        // In this order: git writes the packed file before it removes the loose one.
        let commit = match loose(&common, &reference)? {
            Some(commit) => Some(commit),
            None => packed(&common, &reference)?,
        };
        Ok(GitHead::Branch { name, commit })
    }
}

/// The commit of a reference that has a file of its own.
fn loose(common: &RootedTree, reference: &str) -> io::Result<Option<String>> {
    match read(common, Path::new(reference), MAX_REF_BYTES)? {
        None => Ok(None),
        Some(content) => match Reference::parse(&content)? {
            Reference::Commit(commit) => Ok(Some(commit)),
            Reference::Symbolic(_) => Err(unusual("the branch names another reference")),
        },
    }
}

fn packed(common: &RootedTree, reference: &str) -> io::Result<Option<String>> {
    match read(common, Path::new("packed-refs"), MAX_PACKED_BYTES)? {
        None => Ok(None),
        Some(content) => find_packed(&content, reference),
    }
}

/// The content of a file; none where there is none, or a directory in its place, which git may leave behind.
fn read(tree: &RootedTree, path: &Path, most: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match tree.file(path, LinkPolicy::None) {
        Ok((file, _)) => file,
        Err(ReadError::Errno(Errno::NOENT | Errno::NOTDIR) | ReadError::NotAFile(FileType::Directory)) => {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    let mut content = Vec::new();
    file.take(most + 1).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(Some(content))
}

/// The content of a reference's own file.
#[derive(Debug, PartialEq, Eq)]
enum Reference {
    Commit(String),
    Symbolic(String),
}

impl Reference {
    fn parse(content: &[u8]) -> io::Result<Reference> {
        let text = std::str::from_utf8(content).map_err(|_| unusual("it is not UTF-8"))?;
        let text = text.trim_ascii_end();
        match text.strip_prefix("ref: ") {
            Some(name) => Ok(Reference::Symbolic(name.trim_ascii_start().to_owned())),
            None => commit(text).map(Reference::Commit).ok_or_else(|| unusual("it names no commit")),
        }
    }
}

/// Looks for a reference in packed ones: a line for each, with its commit before it. Fails on what git does not write.
fn find_packed(content: &[u8], reference: &str) -> io::Result<Option<String>> {
    let damaged = || unusual("packed-refs is damaged");
    if !content.is_empty() && !content.ends_with(b"\n") {
        return Err(damaged());
    }
    for line in content.split(|byte| *byte == b'\n') {
        // A comment, or the object that the tag of the line before leads to.
        if line.is_empty() || matches!(line[0], b'#' | b'^') {
            continue;
        }
        let space = line.iter().position(|byte| *byte == b' ').ok_or_else(damaged)?;
        if &line[space + 1..] == reference.as_bytes() {
            let name = std::str::from_utf8(&line[..space]).ok().and_then(commit);
            return name.map(Some).ok_or_else(damaged);
        }
    }
    Ok(None)
}

/// The name of an object, by SHA-1 or SHA-256.
fn commit(text: &str) -> Option<String> {
    let is_name = matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| text.to_ascii_lowercase())
}

/// Whether git lets a reference have this name (`git check-ref-format`). No such name leads out of a directory.
fn is_valid_name(name: &str) -> bool {
    let is_valid_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    let is_forbidden =
        |c: char| c.is_ascii_control() || matches!(c, ' ' | '~' | '^' | ':' | '?' | '*' | '[' | '\\');
    name.split('/').all(is_valid_part)
        && !name.contains(is_forbidden)
        && !name.contains("..")
        && !name.contains("@{")
        && !name.ends_with('.')
}

fn unusual(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests;
