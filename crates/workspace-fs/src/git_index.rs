//! Reads the paths and modes in a git index, without running git: versions 2 to 4, SHA-1 and SHA-256 objects,
//! and indexes that are split into a shared and an own part. It knows nothing of the objects, and what the
//! entries mean is left to the callers.

use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::git_config::GitConfig;
use crate::regular_file::read_unlinked;

/// The size of a file that holds one path.
const MAX_POINTER_BYTES: u64 = 4096;
/// Signature, version and number of entries.
const HEADER: usize = 12;
/// The position of the mode in an entry, after the times, the device and the inode.
const MODE: usize = 24;
/// The position of the object's name in an entry.
const OBJECT: usize = 40;
/// In the first byte of the flags: two more bytes of flags follow.
const EXTENDED: u8 = 0x40;

/// Calls `visit` with the path and the mode of each entry of the index in a git directory, which belongs to one
/// worktree. The order of the paths is not defined. A missing index has no entries. Fails where a part of the
/// index is a link, is larger than `max_bytes`, or is not understood to its end; until then, the entries that
/// were understood have been visited.
pub fn visit_git_index(
    directory: &Path,
    max_bytes: u64,
    mut visit: impl FnMut(&Path, u32),
) -> io::Result<()> {
    let bytes = match read_unlinked(&directory.join("index"), max_bytes) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let object_bytes = object_bytes(directory);
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the index is damaged");
    // In a split index, an entry without a path gives a new mode to an entry of the shared part.
    let mut replacing = Vec::new();
    let end = each_entry(&bytes, object_bytes, |_, path, mode| match path {
        [] => replacing.push(mode),
        path => visit(Path::new(OsStr::from_bytes(path)), mode),
    });
    let end = end.ok_or_else(damaged)?;
    let link = extension(&bytes, end, object_bytes, b"link").ok_or_else(damaged)?;
    let Some(link) = link else { return Ok(()) };
    let (shared, bitmaps) = link.split_at_checked(object_bytes).ok_or_else(damaged)?;
    let bytes = shared_part(directory, shared, max_bytes)?;
    let count = number(&bytes, 8).unwrap_or(0) as usize;
    // Git writes no bitmaps where nothing of the shared part has changed.
    let (removed, replaced) = match bitmaps {
        [] => Default::default(),
        bitmaps => Bitmap::read_both(bitmaps, count).ok_or_else(damaged)?,
    };
    let mut replacing = replacing.into_iter();
    let end = each_entry(&bytes, object_bytes, |position, path, mode| {
        let mode = if replaced.has(position) { replacing.next().unwrap_or(mode) } else { mode };
        if !removed.has(position) && !path.is_empty() {
            visit(Path::new(OsStr::from_bytes(path)), mode);
        }
    });
    end.map(drop).ok_or_else(damaged)
}

/// The size of an object's name in the index of a git directory.
fn object_bytes(directory: &Path) -> usize {
    // The settings of a linked worktree are those of the repository that it shares.
    let pointer = read_unlinked(&directory.join("commondir"), MAX_POINTER_BYTES).unwrap_or_default();
    // Git takes away what ends a line and nothing else: a name may end with a blank.
    let end = pointer.iter().rposition(|byte| !matches!(byte, b'\n' | b'\r')).map_or(0, |last| last + 1);
    let common = directory.join(OsStr::from_bytes(&pointer[..end]));
    let config = GitConfig::read(&common.join("config"));
    if config.values_outside_subsections("extensions.objectformat").next_back() == Some("sha256") {
        32
    } else {
        20
    }
}

fn shared_part(directory: &Path, name: &[u8], max_bytes: u64) -> io::Result<Vec<u8>> {
    let name: String = name.iter().map(|byte| format!("{byte:02x}")).collect();
    read_unlinked(&directory.join(format!("sharedindex.{name}")), max_bytes)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// Calls `visit` with position, path and mode of each entry, and returns the end of the last one. None where the
/// bytes are not understood to the end of the entries.
fn each_entry(bytes: &[u8], object_bytes: usize, mut visit: impl FnMut(usize, &[u8], u32)) -> Option<usize> {
    let version =
        number(bytes, 4).filter(|version| bytes.starts_with(b"DIRC") && (2..=4).contains(version))?;
    let mut path: Vec<u8> = Vec::new();
    let mut at = HEADER;
    for position in 0..number(bytes, 8)? as usize {
        let start = at;
        let mode = number(bytes, at + MODE)?;
        at += OBJECT + object_bytes;
        let is_extended = version >= 3 && bytes.get(at)? & EXTENDED != 0;
        at += if is_extended { 4 } else { 2 };
        // Version 4 leaves out what a path shares with the one before it.
        let kept = if version == 4 { path.len().checked_sub(varint(bytes, &mut at)?)? } else { 0 };
        path.truncate(kept);
        let length = bytes.get(at..)?.iter().position(|byte| *byte == 0)?;
        path.extend_from_slice(&bytes[at..at + length]);
        at += length;
        // Before version 4, an entry is filled up with one to eight zeros to a multiple of eight.
        at = if version == 4 { at + 1 } else { start + (at - start + 8) / 8 * 8 };
        if at > bytes.len() {
            return None;
        }
        visit(position, &path, mode);
    }
    Some(at)
}

/// A number of seven bits a byte, as git writes it in front of a shortened path.
fn varint(bytes: &[u8], at: &mut usize) -> Option<usize> {
    let mut value = 0_usize;
    loop {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value = value.checked_mul(128)?.checked_add(usize::from(byte & 0x7f))?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?;
    }
}

/// The content of an extension, if it is there. They follow the entries, each with its name and its size before
/// it, and a checksum of the size of an object's name follows them. None where that is not so.
fn extension<'a>(
    bytes: &'a [u8],
    entries_end: usize,
    object_bytes: usize,
    name: &[u8; 4],
) -> Option<Option<&'a [u8]>> {
    let mut rest = bytes.get(entries_end..bytes.len().checked_sub(object_bytes)?)?;
    while !rest.is_empty() {
        let (found, after) = rest.split_first_chunk::<4>()?;
        let size = number(after, 0)? as usize;
        let (content, after) = after.get(4..)?.split_at_checked(size)?;
        if found == name {
            return Some(Some(content));
        }
        rest = after;
    }
    Some(None)
}

/// Positions in the shared part of an index.
#[derive(Default)]
struct Bitmap {
    words: Vec<u64>,
}

impl Bitmap {
    /// The positions that are removed, and those that are replaced.
    fn read_both(bytes: &[u8], count: usize) -> Option<(Bitmap, Bitmap)> {
        let (removed, rest) = Bitmap::read(bytes, count)?;
        let (replaced, _) = Bitmap::read(rest, count)?;
        Some((removed, replaced))
    }

    /// Reads a bitmap of the first `count` positions, and returns what follows it. Git compresses it by EWAH: a
    /// marker says how many words of 64 bits are all zeros or all ones, and how many words follow as they are.
    fn read(bytes: &[u8], count: usize) -> Option<(Bitmap, &[u8])> {
        // The number of bits and the position of the last marker are not needed.
        let size = (number(bytes, 4)? as usize).checked_mul(8)?;
        let (mut rest, after) = bytes.get(8..)?.split_at_checked(size)?;
        let after = after.get(4..)?;
        let most = count.div_ceil(64);
        let mut words = Vec::new();
        while let Some((marker, following)) = rest.split_first_chunk::<8>() {
            let marker = u64::from_be_bytes(*marker);
            let run = if marker & 1 == 1 { u64::MAX } else { 0 };
            let length = usize::try_from((marker >> 1) & 0xffff_ffff).ok()?;
            let literal = usize::try_from(marker >> 33).ok()?.checked_mul(8)?;
            words.resize(words.len().saturating_add(length).min(most), run);
            let (literal, following) = following.split_at_checked(literal)?;
            let room = most - words.len();
            let literal = literal.as_chunks::<8>().0.iter().take(room);
            words.extend(literal.map(|word| u64::from_be_bytes(*word)));
            rest = following;
        }
        Some((Bitmap { words }, after))
    }

    fn has(&self, position: usize) -> bool {
        self.words.get(position / 64).is_some_and(|word| word >> (position % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;
    use std::process::Command;

    use super::visit_git_index;

    fn git(directory: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git").arg("-C").arg(directory).args(arguments).output().unwrap();
        assert!(output.status.success(), "git {arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn read(directory: &Path) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        visit_git_index(&directory.join(".git"), 1 << 20, |path, mode| {
            let before = found.insert(path.to_str().unwrap().to_owned(), format!("{mode:06o}"));
            assert_eq!(before, None, "{}", path.display());
        })
        .unwrap();
        found
    }

    /// What git itself says is in the index.
    fn expected(directory: &Path) -> BTreeMap<String, String> {
        let listed = git(directory, &["ls-files", "--stage", "-z"]);
        let entry = |line: &str| {
            let (before, path) = line.split_once('\t').unwrap();
            (path.to_owned(), before[..6].to_owned())
        };
        listed.split_terminator('\0').map(entry).collect()
    }

    #[test]
    fn entries_are_those_that_git_lists() {
        for format in ["sha1", "sha256"] {
            for version in ["2", "3", "4"] {
                let folder = tempfile::tempdir().unwrap();
                let place = folder.path();
                git(place, &["init", "--quiet", &format!("--object-format={format}")]);
                git(place, &["config", "index.version", version]);
                for number in 0..300 {
                    fs::write(place.join(format!("file {number}")), "").unwrap();
                }
                fs::write(place.join("intended"), "").unwrap();
                git(place, &["add", "--all", "--", ":!intended"]);
                // Only version 3 and later can say that a file is to be added.
                if version != "2" {
                    git(place, &["add", "--intent-to-add", "intended"]);
                }
                assert_eq!(read(place), expected(place), "{format} {version}");
                git(place, &["update-index", "--split-index"]);
                assert_eq!(read(place), expected(place), "{format} {version}, just split");
                git(place, &["rm", "--quiet", "--cached", "file 1", "file 70", "file 299"]);
                git(place, &["update-index", "--chmod=+x", "file 2", "file 150"]);
                let link = format!("160000,{},module", "1".repeat(if format == "sha1" { 40 } else { 64 }));
                git(place, &["update-index", "--add", "--cacheinfo", &link]);
                let found = read(place);
                assert_eq!(found, expected(place), "{format} {version}, split and changed");
                let shared = fs::read_dir(place.join(".git")).unwrap();
                let shared = shared.filter(|entry| {
                    entry.as_ref().unwrap().file_name().to_string_lossy().starts_with("sharedindex.")
                });
                assert_eq!(shared.count(), 1, "the index is still split");
                assert_eq!(found["module"], "160000");
                assert!(found["file 2"] == "100755" && !found.contains_key("file 70"));
            }
        }
    }

    #[test]
    fn a_damaged_index_is_read_as_far_as_it_goes() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        git(place, &["init", "--quiet"]);
        fs::write(place.join("a"), "").unwrap();
        fs::write(place.join("b"), "").unwrap();
        git(place, &["add", "--all"]);
        git(place, &["update-index", "--split-index", "--index-version", "4"]);
        git(place, &["rm", "--quiet", "--cached", "a"]);
        let index = place.join(".git/index");
        let whole = fs::read(&index).unwrap();
        for length in 0..whole.len() {
            fs::write(&index, &whole[..length]).unwrap();
            let found = visit_git_index(&place.join(".git"), 1 << 20, |path, _| {
                assert!(path == Path::new("a") || path == Path::new("b"), "{length} {}", path.display());
            });
            assert!(found.is_err(), "{length}");
        }
        // Sizes that lie must neither panic nor exhaust the memory.
        for position in 0..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut changed = whole.clone();
                changed[position] = value;
                fs::write(&index, changed).unwrap();
                let _ = visit_git_index(&place.join(".git"), 1 << 20, |_, _| {});
            }
        }
    }

    #[test]
    fn an_index_that_is_not_read_is_an_error_and_a_missing_one_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path();
        let visit = |max_bytes| visit_git_index(&place.join(".git"), max_bytes, |_, _| {});
        git(place, &["init", "--quiet"]);
        visit(1 << 20).unwrap();
        fs::write(place.join("a"), "").unwrap();
        git(place, &["add", "--all"]);
        visit(1 << 20).unwrap();
        assert!(visit(20).is_err());
        let index = place.join(".git/index");
        fs::rename(&index, place.join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(place.join("elsewhere"), &index).unwrap();
        assert_eq!(git(place, &["ls-files"]), "a\n", "git follows the link");
        assert!(visit(1 << 20).is_err());
        fs::remove_file(&index).unwrap();
        git(place, &["add", "--all"]);
        git(place, &["update-index", "--split-index"]);
        visit(1 << 20).unwrap();
        for entry in fs::read_dir(place.join(".git")).unwrap().flatten() {
            if entry.file_name().to_string_lossy().starts_with("sharedindex.") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        assert!(visit(1 << 20).is_err());
    }

    #[test]
    fn the_format_of_objects_is_the_one_that_git_takes() {
        for misleading in
            ["[extensions \"x\"]\n\tobjectformat = sha256\n", "[extensions.x]\n\tobjectformat = sha256\n"]
        {
            let folder = tempfile::tempdir().unwrap();
            let place = folder.path();
            git(place, &["init", "--quiet", "--object-format=sha1"]);
            fs::write(place.join("a"), "").unwrap();
            git(place, &["add", "--all"]);
            let config = place.join(".git/config");
            fs::write(&config, fs::read_to_string(&config).unwrap() + misleading).unwrap();
            assert_eq!(read(place), expected(place), "{misleading}");
            assert_eq!(read(place).len(), 1, "{misleading}");
        }
    }

    #[test]
    fn the_settings_of_a_linked_worktree_are_those_of_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        // The blank belongs to the name of the directory, which `commondir` names.
        let (main, linked) = (folder.path().join("main "), folder.path().join("linked"));
        fs::create_dir(&main).unwrap();
        git(&main, &["init", "--quiet", "--object-format=sha256"]);
        let identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
        git(&main, &[&identity[..], &["commit", "--quiet", "--allow-empty", "--message=x"]].concat());
        git(&main, &["worktree", "add", "--quiet", linked.to_str().unwrap()]);
        fs::write(linked.join("a"), "").unwrap();
        git(&linked, &["add", "--all"]);
        let directory = main.join(".git/worktrees/linked");
        let read = |directory: &Path| {
            let mut paths = Vec::new();
            visit_git_index(directory, 1 << 20, |path, _| paths.push(path.to_owned())).map(|()| paths)
        };
        assert_eq!(read(&directory).unwrap(), [Path::new("a")]);
        let outside = folder.path().join("outside ");
        fs::rename(main.join(".git"), &outside).unwrap();
        let directory = outside.join("worktrees/linked");
        fs::write(directory.join("commondir"), format!("{}\n", outside.display())).unwrap();
        assert_eq!(read(&directory).unwrap(), [Path::new("a")], "an absolute name that ends with a blank");
    }
}
