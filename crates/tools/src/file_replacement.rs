//! Puts a file into a workspace, whole or not at all: a temporary file beside the place, then a
//! rename. Nothing is overwritten that somebody else changed since it was read. It leaves to `place`
//! where that is, to `change` what belongs together, and to the tool what is written.

use std::io::{Read, Write};
use std::path::Path;

use ostler_workspace_fs::{LinkPolicy, ReadError, StagedFile, read_beneath};
use rustix::fs::{AtFlags, Gid, Mode, Stat, Uid, fchmod, fchown, fstat, statat, unlinkat};
use rustix::io::Errno;

use crate::Failed;
use crate::file_location::FileLocation;
use crate::text::reveal_line;
use crate::workspace::describe_file_type;

/// What was at a place when it was read.
#[derive(Debug, Clone)]
pub(crate) struct FileVersion {
    stat: Stat,
    /// All that the file held; none where it was too long to keep.
    content: Option<Vec<u8>>,
    /// What an editor shows of it that is not saved, in the file's own encoding.
    unsaved: Option<Vec<u8>>,
}

/// What must be at a place for it to be changed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ExpectedVersion<'a> {
    /// No file.
    Nothing,
    /// The file that was read.
    Seen(&'a FileVersion),
    /// A file that holds just this.
    Content(&'a [u8]),
}

/// The mode of a file that is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum FileMode<'a> {
    /// That of a new file.
    New {
        /// Whether it can be run.
        executable: bool,
    },
    /// That of a file that was read, and its owner where that can be kept.
    Like(&'a FileVersion),
}

impl FileLocation {
    /// What the file holds now. Content beyond `limit` bytes is not kept.
    pub(crate) fn read(&self, path: &str, limit: u64) -> Result<FileVersion, Failed> {
        let shown = reveal_line(path);
        let cannot = |error: std::io::Error| Failed::new(format!("`{shown}` cannot be read: {error}."));
        let (file, stat) =
            read_beneath(&self.directory, Path::new(&self.name), LinkPolicy::None).map_err(|error| {
                match error {
                    ReadError::Errno(errno) => cannot(errno.into()),
                    ReadError::NotAFile(kind) => {
                        Failed::new(format!("`{shown}` is {}, not a file.", describe_file_type(kind)))
                    }
                }
            })?;
        let mut content = Vec::new();
        file.take(limit + 1).read_to_end(&mut content).map_err(cannot)?;
        let is_whole = content.len() as u64 <= limit;
        Ok(FileVersion { stat, content: is_whole.then_some(content), unsaved: None })
    }

    /// The file that was there when the place was found, known by its stamp alone.
    pub(crate) fn version_without_content(&self) -> Option<FileVersion> {
        self.existing().map(|stat| FileVersion { stat: *stat, content: None, unsaved: None })
    }

    /// Whether the place is as expected: for a file that was read, the same content, or where that was
    /// not kept, the same file with the same size and time.
    pub(crate) fn matches(&self, expected: ExpectedVersion<'_>) -> bool {
        let now = match statat(&self.directory, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) => now,
            Err(errno) => return errno == Errno::NOENT && matches!(expected, ExpectedVersion::Nothing),
        };
        let content = match expected {
            ExpectedVersion::Nothing => return false,
            ExpectedVersion::Seen(FileVersion { stat, content: None, .. }) => {
                return stamp(&now) == stamp(stat);
            }
            ExpectedVersion::Seen(FileVersion { content: Some(content), .. }) => content.as_slice(),
            ExpectedVersion::Content(content) => content,
        };
        // Times are too coarse to trust: two writes within a tick look like one.
        self.read("", content.len() as u64).is_ok_and(|read| read.content() == Some(content))
    }

    /// Writes the content beside the place, to be put there by [`Staged::publish`].
    pub(crate) fn stage(
        &self,
        path: &str,
        content: &[u8],
        mode: FileMode<'_>,
    ) -> Result<StagedContent, Failed> {
        let shown = reveal_line(path);
        let cannot = |error: std::io::Error| Failed::new(format!("`{shown}` cannot be written: {error}."));
        let (staged, mut file) =
            StagedFile::create(&self.directory, 0o666).map_err(|errno| cannot(errno.into()))?;
        file.write_all(content).map_err(cannot)?;
        let bits = match mode {
            FileMode::New { executable: false } => None,
            FileMode::New { executable: true } => {
                let plain = fstat(&file).map_err(|errno| cannot(errno.into()))?.st_mode & 0o777;
                Some(plain | (plain & 0o444) >> 2)
            }
            FileMode::Like(seen) => {
                let stat = &seen.stat;
                // The owner can be kept only by root, and losing it is no reason not to write.
                let _ = fchown(&file, Some(Uid::from_raw(stat.st_uid)), Some(Gid::from_raw(stat.st_gid)));
                Some(stat.st_mode & 0o777)
            }
        };
        if let Some(bits) = bits {
            fchmod(&file, Mode::from_raw_mode(bits)).map_err(|errno| cannot(errno.into()))?;
        }
        file.sync_all().map_err(cannot)?;
        Ok(StagedContent(staged))
    }

    /// Removes the file, if it is as expected.
    pub(crate) fn remove(&self, path: &str, expected: ExpectedVersion<'_>) -> Result<(), Failed> {
        if !self.matches(expected) {
            return Err(changed_meanwhile(path));
        }
        unlinkat(&self.directory, &self.name, AtFlags::empty()).map_err(|errno| {
            let error = std::io::Error::from(errno);
            Failed::new(format!("`{}` cannot be deleted: {error}.", reveal_line(path)))
        })
    }
}

impl FileVersion {
    /// All that the file held; none where it was too long to keep.
    pub(crate) fn content(&self) -> Option<&[u8]> {
        self.content.as_deref()
    }

    /// The same with what an editor shows of it, to which a change is then made.
    pub(crate) fn with_unsaved(self, unsaved: Vec<u8>) -> FileVersion {
        FileVersion { unsaved: Some(unsaved), ..self }
    }

    /// What a change is made to: what an editor shows, or else what the file held.
    pub(crate) fn edit_base(&self) -> Option<&[u8]> {
        self.unsaved.as_deref().or(self.content())
    }

    /// Whether an editor showed something that was not saved.
    pub(crate) fn has_unsaved(&self) -> bool {
        self.unsaved.is_some()
    }

    /// How long the file was.
    pub(crate) fn bytes(&self) -> u64 {
        u64::try_from(self.stat.st_size).unwrap_or(0)
    }

    /// Whether nobody may write the file.
    pub(crate) fn is_read_only(&self) -> bool {
        self.stat.st_mode & 0o222 == 0
    }
}

/// Content that lies beside its place, and is removed unless it is published.
pub(crate) struct StagedContent(StagedFile);

impl StagedContent {
    /// Puts the content in its place, if that is as expected. Readers see the old content or the new,
    /// never a part.
    pub(crate) fn publish(
        self,
        place: &FileLocation,
        path: &str,
        expected: ExpectedVersion<'_>,
    ) -> Result<(), Failed> {
        if !place.matches(expected) {
            return Err(changed_meanwhile(path));
        }
        let renamed = match expected {
            ExpectedVersion::Seen(_) | ExpectedVersion::Content(_) => self.0.replace(&place.name),
            ExpectedVersion::Nothing => self.0.publish_new(&place.name),
        };
        renamed.map_err(|errno| match (errno, expected) {
            (Errno::EXIST, ExpectedVersion::Nothing) => changed_meanwhile(path),
            (errno, _) => {
                let error = std::io::Error::from(errno);
                Failed::new(format!("`{}` cannot be written: {error}.", reveal_line(path)))
            }
        })
    }
}

fn changed_meanwhile(path: &str) -> Failed {
    Failed::new(format!(
        "`{}` was modified by someone else while this call ran. Read it again, then make the change to its \
         current content.",
        reveal_line(path)
    ))
}

fn stamp(stat: &Stat) -> (u64, u64, i64, i64, i64) {
    (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::{ExpectedVersion, FileMode};
    use crate::file_location::FileLocation;
    use crate::hidden_paths::HiddenPaths;
    use crate::workspace::Workspace;

    const MEANWHILE: &str = "was modified by someone else while this call ran. Read it again";

    #[test]
    fn what_somebody_else_changed_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        let workspace = Workspace::open(folder.path(), &HiddenPaths::default()).unwrap();
        let same_length = || std::fs::write(&file, "two").unwrap();
        let longer = || std::fs::write(&file, "longer").unwrap();
        let gone = || std::fs::remove_file(&file).unwrap();
        let another_kind = || {
            std::fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink("b", &file).unwrap();
        };
        let changes: [(&str, &dyn Fn()); 4] = [
            ("longer", &longer),
            ("gone", &gone),
            ("another kind", &another_kind),
            ("same length, same tick", &same_length),
        ];
        for limit in [100, 1] {
            // With a limit of one byte only the stamp is kept, which cannot tell the last change.
            for (name, change) in &changes[..if limit == 1 { 3 } else { 4 }] {
                let _ = std::fs::remove_file(&file);
                std::fs::write(&file, "old").unwrap();
                let place = FileLocation::find_if_parent_exists(&workspace, "a").unwrap().unwrap();
                let seen = place.read("a", limit).unwrap();
                assert!(place.matches(ExpectedVersion::Seen(&seen)));
                let staged = place.stage("a", b"new", FileMode::Like(&seen)).unwrap();
                change();
                let failed = staged.publish(&place, "a", ExpectedVersion::Seen(&seen)).unwrap_err();
                assert!(failed.0.contains(MEANWHILE), "{name}: {}", failed.0);
                let failed = place.remove("a", ExpectedVersion::Seen(&seen)).unwrap_err();
                assert!(failed.0.contains(MEANWHILE), "{name}: {}", failed.0);
                let names = std::fs::read_dir(folder.path()).unwrap().count();
                assert_eq!(names, usize::from(*name != "gone"), "{name}: no temporary file is left");
            }
        }
    }

    #[test]
    fn a_file_that_appeared_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(folder.path(), &HiddenPaths::default()).unwrap();
        let place = FileLocation::find_if_parent_exists(&workspace, "a").unwrap().unwrap();
        let staged = place.stage("a", b"new", FileMode::New { executable: false }).unwrap();
        std::fs::write(folder.path().join("a"), "theirs").unwrap();
        assert!(staged.publish(&place, "a", ExpectedVersion::Nothing).unwrap_err().0.contains(MEANWHILE));
        assert_eq!(std::fs::read_to_string(folder.path().join("a")).unwrap(), "theirs");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
