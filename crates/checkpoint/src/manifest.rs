//! The manifest of a checkpoint: which paths there were, and what was at each.
//!
//! A manifest is a head and pages. The pages are blobs of some hundred entries each, cut where the
//! path itself says so; a change touches one of them and all others are shared with the checkpoints
//! before. The head names the workspace, the git repositories in it, the counts and the pages; its
//! digest is the checkpoint's id, so a head or page that is torn is found out when it is read.
//!
//! ```text
//! head   "ostler checkpoint 1\n" workspace  count of repositories, each path
//!        u64 largest file taken  u64 files  u64 bytes  u64 left out  count of pages, each digest
//! page   entries: path, kind, then  0 file: u32 mode, u64 size, digest   1 link: target
//!        2 directory: u32 mode      3 left out: reason, u64 size, i64 and u32 of its time
//! ```

use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use ostler_workspace_fs::is_git_name;

use crate::codec::{FieldReader, FieldWriter, fnv1a_checksum};
use crate::digest::ContentDigest;

const HEADER: &[u8] = b"ostler checkpoint 1\n";
/// One path in this many ends a page.
const PAGE_ENTRIES: u64 = 128;
/// Where no path does, this many are enough.
const MAX_PAGE_ENTRIES: usize = 1024;

/// What was at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ManifestNode {
    File { mode: u32, size: u64, digest: ContentDigest },
    Link { target: Vec<u8> },
    Directory { mode: u32 },
    LeftOut { reason: LeftOutReason, size: u64, modified: (i64, u32) },
}

/// Why the content at a path is not part of a checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeftOutReason {
    /// The file is larger than a checkpoint takes.
    TooLarge,
    /// The file or directory may not be read.
    Unreadable,
    /// It is a pipe, a socket or a device.
    Special,
}

/// A path whose content is not part of a checkpoint, so that it cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Why it was left out.
    pub reason: LeftOutReason,
    /// How large it was, in bytes.
    pub size: u64,
}

/// The entries of a checkpoint, sorted by the bytes of their paths, so a directory comes before what
/// it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Manifest {
    /// Larger files were left out, and are to be whenever the workspace is compared with it.
    pub(crate) max_file_bytes: u64,
    /// Directories that hold a `.git`; the empty path where the workspace lies in a repository.
    pub(crate) repositories: Vec<PathBuf>,
    pub(crate) entries: Vec<(PathBuf, ManifestNode)>,
}

/// What the head of a manifest says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ManifestHead {
    pub(crate) workspace: PathBuf,
    pub(crate) repositories: Vec<PathBuf>,
    pub(crate) max_file_bytes: u64,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    pub(crate) left_out: u64,
    pub(crate) pages: Vec<ContentDigest>,
}

impl Manifest {
    /// What was at a path.
    pub(crate) fn get(&self, path: &Path) -> Option<&ManifestNode> {
        let wanted = path.as_os_str().as_bytes();
        let found = self.entries.binary_search_by(|(path, _)| path.as_os_str().as_bytes().cmp(wanted));
        found.ok().map(|place| &self.entries[place].1)
    }

    /// What was left out.
    pub(crate) fn left_out(&self) -> impl Iterator<Item = LeftOut> {
        self.entries.iter().filter_map(|(path, node)| node.left_out(path))
    }

    /// The pages, in order.
    pub(crate) fn pages(&self) -> Vec<Vec<u8>> {
        let mut pages = Vec::new();
        let (mut page, mut entries) = (FieldWriter::default(), 0);
        for (path, node) in &self.entries {
            page.path(path);
            node.write(&mut page);
            entries += 1;
            if fnv1a_checksum(path.as_os_str().as_bytes()).is_multiple_of(PAGE_ENTRIES)
                || entries == MAX_PAGE_ENTRIES
            {
                pages.push(std::mem::take(&mut page).0);
                entries = 0;
            }
        }
        if entries > 0 {
            pages.push(page.0);
        }
        pages
    }

    /// The head over these pages.
    pub(crate) fn head(&self, workspace: &Path, pages: Vec<ContentDigest>) -> ManifestHead {
        let mut head = ManifestHead {
            workspace: workspace.to_owned(),
            repositories: self.repositories.clone(),
            max_file_bytes: self.max_file_bytes,
            files: 0,
            bytes: 0,
            left_out: 0,
            pages,
        };
        for (_, node) in &self.entries {
            match node {
                ManifestNode::File { size, .. } => {
                    head.files += 1;
                    head.bytes += size;
                }
                ManifestNode::Link { .. } => head.files += 1,
                ManifestNode::Directory { .. } => {}
                ManifestNode::LeftOut { .. } => head.left_out += 1,
            }
        }
        head
    }
}

/// The entries of a page, or none where it is no page of a manifest.
pub(crate) fn read_page(bytes: &[u8]) -> Option<Vec<(PathBuf, ManifestNode)>> {
    let mut reader = FieldReader(bytes);
    let mut entries = Vec::new();
    while !reader.0.is_empty() {
        let path = reader.path().filter(|path| is_inside(path))?.to_owned();
        entries.push((path, ManifestNode::read(&mut reader)?));
    }
    Some(entries)
}

/// Whether entries are in the order that all of this relies on.
pub(crate) fn is_sorted(entries: &[(PathBuf, ManifestNode)]) -> bool {
    entries.is_sorted_by(|(a, _), (b, _)| a.as_os_str().as_bytes() < b.as_os_str().as_bytes())
}

impl ManifestHead {
    pub(crate) fn write(&self) -> Vec<u8> {
        let mut writer = FieldWriter(HEADER.to_vec());
        writer.path(&self.workspace);
        writer.count(self.repositories.len());
        self.repositories.iter().for_each(|path| writer.path(path));
        writer.u64(self.max_file_bytes);
        writer.u64(self.files);
        writer.u64(self.bytes);
        writer.u64(self.left_out);
        writer.count(self.pages.len());
        self.pages.iter().for_each(|page| writer.digest(page));
        writer.0
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<ManifestHead> {
        let mut reader = FieldReader(bytes.strip_prefix(HEADER)?);
        let workspace = reader.path()?.to_owned();
        let repositories =
            (0..reader.u32()?).map(|_| reader.path().map(Path::to_owned)).collect::<Option<Vec<_>>>()?;
        let max_file_bytes = reader.u64()?;
        let (files, bytes, left_out) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let pages = (0..reader.u32()?).map(|_| reader.digest()).collect::<Option<Vec<_>>>()?;
        let head = ManifestHead { workspace, repositories, max_file_bytes, files, bytes, left_out, pages };
        reader.0.is_empty().then_some(head)
    }
}

impl ManifestNode {
    pub(crate) fn is_directory(&self) -> bool {
        matches!(self, ManifestNode::Directory { .. })
    }

    /// The blob that holds its content.
    pub(crate) fn digest(&self) -> Option<ContentDigest> {
        match self {
            ManifestNode::File { digest, .. } => Some(*digest),
            ManifestNode::Link { .. } | ManifestNode::Directory { .. } | ManifestNode::LeftOut { .. } => None,
        }
    }

    /// How long its content is.
    pub(crate) fn size(&self) -> u64 {
        match self {
            ManifestNode::File { size, .. } | ManifestNode::LeftOut { size, .. } => *size,
            ManifestNode::Link { target } => target.len() as u64,
            ManifestNode::Directory { .. } => 0,
        }
    }

    pub(crate) fn left_out(&self, path: &Path) -> Option<LeftOut> {
        match self {
            ManifestNode::LeftOut { reason, size, .. } => {
                Some(LeftOut { path: path.to_owned(), reason: *reason, size: *size })
            }
            ManifestNode::File { .. } | ManifestNode::Link { .. } | ManifestNode::Directory { .. } => None,
        }
    }

    pub(crate) fn write(&self, writer: &mut FieldWriter) {
        match self {
            ManifestNode::File { mode, size, digest } => {
                writer.byte(0);
                writer.u32(*mode);
                writer.u64(*size);
                writer.digest(digest);
            }
            ManifestNode::Link { target } => {
                writer.byte(1);
                writer.bytes(target);
            }
            ManifestNode::Directory { mode } => {
                writer.byte(2);
                writer.u32(*mode);
            }
            ManifestNode::LeftOut { reason, size, modified } => {
                writer.byte(3);
                writer.byte(match reason {
                    LeftOutReason::TooLarge => 0,
                    LeftOutReason::Unreadable => 1,
                    LeftOutReason::Special => 2,
                });
                writer.u64(*size);
                writer.i64(modified.0);
                writer.u32(modified.1);
            }
        }
    }

    pub(crate) fn read(reader: &mut FieldReader<'_>) -> Option<ManifestNode> {
        Some(match reader.byte()? {
            0 => ManifestNode::File { mode: reader.u32()?, size: reader.u64()?, digest: reader.digest()? },
            1 => ManifestNode::Link { target: reader.bytes()?.to_owned() },
            2 => ManifestNode::Directory { mode: reader.u32()? },
            3 => {
                let reason = match reader.byte()? {
                    0 => LeftOutReason::TooLarge,
                    1 => LeftOutReason::Unreadable,
                    2 => LeftOutReason::Special,
                    _ => return None,
                };
                ManifestNode::LeftOut {
                    reason,
                    size: reader.u64()?,
                    modified: (reader.i64()?, reader.u32()?),
                }
            }
            _ => return None,
        })
    }
}

/// Whether a path stays inside the workspace and out of git's own files, whatever wrote it.
pub(crate) fn is_inside(path: &Path) -> bool {
    let plain = |part: Component<'_>| matches!(part, Component::Normal(name) if !is_git_name(name));
    !path.as_os_str().is_empty()
        && path.components().all(plain)
        && path.components().collect::<PathBuf>().as_os_str() == path.as_os_str()
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{LeftOutReason, Manifest, ManifestHead, ManifestNode, is_inside, read_page};
    use crate::digest::ContentDigest;

    fn manifest(files: usize) -> Manifest {
        let entries = (0..files).map(|number| {
            let node = match number % 4 {
                0 => ManifestNode::File {
                    mode: 0o644,
                    size: 5,
                    digest: ContentDigest::of_bytes(&number.to_le_bytes()),
                },
                1 => ManifestNode::Link { target: b"to".to_vec() },
                2 => ManifestNode::Directory { mode: 0o755 },
                _ => ManifestNode::LeftOut { reason: LeftOutReason::Special, size: 1, modified: (-1, 2) },
            };
            (PathBuf::from(format!("path {number:06}")), node)
        });
        Manifest { max_file_bytes: 9, repositories: vec![PathBuf::new()], entries: entries.collect() }
    }

    #[test]
    fn what_is_written_is_read_and_what_is_torn_is_not() {
        let manifest = manifest(1_000);
        let pages = manifest.pages();
        let entries: Vec<_> = pages.iter().flat_map(|page| read_page(page).unwrap()).collect();
        assert_eq!(entries, manifest.entries);
        assert_eq!(read_page(&pages[0][..pages[0].len() - 1]), None);
        let head =
            manifest.head(Path::new("/w"), pages.iter().map(|page| ContentDigest::of_bytes(page)).collect());
        let bytes = head.write();
        assert_eq!((head.files, head.bytes, head.left_out), (500, 1_250, 250));
        assert_eq!(ManifestHead::read(&bytes), Some(head));
        assert_eq!(ManifestHead::read(&bytes[..bytes.len() - 1]), None);
    }

    #[test]
    fn one_change_touches_one_page() {
        let mut manifest = manifest(2_000);
        let before = manifest.pages();
        manifest.entries.remove(900);
        let after = manifest.pages();
        let new = after.iter().filter(|page| !before.contains(page)).count();
        assert!(before.len() > 8, "{}", before.len());
        assert!(new <= 2, "{new} of {} pages are new", after.len());
    }

    #[test]
    fn no_path_leads_out() {
        for good in ["a", "a/b", "..a", "a\n", ".gitignore"] {
            assert!(is_inside(Path::new(good)), "{good}");
        }
        for bad in ["", "/a", "..", "a/../b", "./a", "a/", "a//b", ".git", "a/.GIT/hooks"] {
            assert!(!is_inside(Path::new(bad)), "{bad}");
        }
    }
}
