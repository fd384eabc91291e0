//! Looks, from outside, at the mounts of a sandbox: that nothing is writable but what is meant to be, that each
//! shows what lies at its own place on this machine, and that none is missing of those that protect something.
//!
//! See `gate` for why names are not enough. What a mount shows is told by its device and by the place in its file system,
//! which no renaming in a workspace changes.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use crate::orders::PRIVATE_DIRECTORIES;
use crate::orders::{ExpectedMounts, MountShows};

/// Devices of a sandbox, which are files: no directory can be mounted on one.
const DEVICES: &[&str] =
    &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/console"];

/// One mount, as the kernel tells it.
struct MountInfo<'a> {
    id: &'a [u8],
    parent: &'a [u8],
    device: &'a [u8],
    /// What is mounted, within its file system.
    root: PathBuf,
    path: PathBuf,
    is_writable: bool,
    kind: &'a [u8],
}

/// Fails where the list of a sandbox's mounts is not what it should be. `machine` is the list of this machine's.
pub(crate) fn verify(machine: &[u8], sandbox: &[u8], meant: &ExpectedMounts) -> Result<(), String> {
    let (machine, mounts) = (parse_all(machine), parse_all(sandbox));
    let wrong = |path: &Path, what: &str| {
        let path = path.display();
        Err(format!("{path} {what} because the workspace was changed while the sandbox was made; try again"))
    };
    if let Some(mount) = mounts.iter().find(|mount| !is_at_its_place(mount, &machine, &mounts, meant)) {
        return wrong(&mount.path, "shows something else");
    }
    if let Some(path) = missing_mount(&mounts, meant) {
        return wrong(&path, "is not protected");
    }
    match unexpected_mounts(&mounts, meant).into_iter().next() {
        Some(path) => wrong(&path, "became writable"),
        None => Ok(()),
    }
}

/// The first of these paths on which nothing is mounted any more.
pub(crate) fn first_unmounted<'a>(sandbox: &[u8], paths: &'a [PathBuf]) -> Option<&'a PathBuf> {
    let mounts = parse_all(sandbox);
    paths.iter().find(|path| !mounts.iter().any(|mount| mount.path == **path))
}

fn parse_all(text: &[u8]) -> Vec<MountInfo<'_>> {
    text.split(|byte| *byte == b'\n').filter_map(parse).collect()
}

/// Whether a mount shows what this machine has at the same path, or something that only the sandbox has.
fn is_at_its_place(
    mount: &MountInfo<'_>,
    machine: &[MountInfo<'_>],
    mounts: &[MountInfo<'_>],
    meant: &ExpectedMounts,
) -> bool {
    // A program whose root was changed finds its own root in no list; it is what bubblewrap mounts first.
    let first = mounts.iter().find(|mount| mount.path == Path::new("/"));
    let first = first.filter(|_| !machine.iter().any(|mount| mount.path == Path::new("/")));
    let machine = || machine.iter().chain(first);
    if !machine().any(|other| other.device == mount.device) {
        return true;
    }
    let is_nothing =
        mount.root == Path::new("/null") && meant.shows(&mount.path) == Some(MountShows::Nothing);
    // The program's own terminal.
    let is_terminal = mount.kind == b"devpts" && mount.path == Path::new("/dev/console");
    let is_here = |other: &MountInfo<'_>| {
        let below = mount.path.strip_prefix(&other.path);
        other.device == mount.device && below.is_ok_and(|below| other.root.join(below) == mount.root)
    };
    is_nothing || is_terminal || machine().any(is_here)
}

/// A path on which is not mounted what should be.
fn missing_mount(mounts: &[MountInfo<'_>], meant: &ExpectedMounts) -> Option<PathBuf> {
    let mut top: HashMap<&Path, &MountInfo<'_>> = HashMap::new();
    for mount in mounts {
        let below = top.get(mount.path.as_path());
        // What is mounted later at the same path has the earlier one as its parent.
        if below.is_none_or(|below| below.parent != mount.id) {
            top.insert(&mount.path, mount);
        }
    }
    let is_right = |path: &Path, shows: MountShows| {
        top.get(path).is_some_and(|mount| match shows {
            MountShows::Own => mount.kind == b"tmpfs",
            MountShows::Nothing => mount.root == Path::new("/null"),
            MountShows::Writable => mount.is_writable,
            MountShows::ReadOnly => !mount.is_writable,
        })
    };
    meant.at.iter().find(|(path, shows)| !is_right(path, *shows)).map(|(path, _)| path.clone())
}

/// ExpectedMounts that should not be there.
fn unexpected_mounts(mounts: &[MountInfo<'_>], meant: &ExpectedMounts) -> Vec<PathBuf> {
    let by_id: HashMap<&[u8], &MountInfo<'_>> = mounts.iter().map(|mount| (mount.id, mount)).collect();
    let parent = |mount: &MountInfo<'_>| by_id.get(mount.parent).copied();
    let covers: HashMap<&[u8], &[u8]> = mounts
        .iter()
        .filter(|mount| parent(mount).is_some_and(|parent| parent.path == mount.path))
        .map(|mount| (mount.parent, mount.id))
        .collect();
    // What is below another mount at the same place cannot be reached, and was left as it was.
    let is_reached = |mount: &MountInfo<'_>| {
        let (mut below, mut here) = (None, Some(mount));
        for _ in 0..mounts.len() {
            let Some(mount) = here else { break };
            if covers.get(mount.id).is_some_and(|cover| Some(*cover) != below) {
                return false;
            }
            (below, here) = (Some(mount.id), parent(mount));
        }
        true
    };
    let is_fresh = |mount: &MountInfo<'_>| {
        // A file system of the machine's is mounted elsewhere too, where the machine has it.
        mount.root == Path::new("/")
            && mounts.iter().filter(|other| other.device == mount.device).count() == 1
    };
    let is_meant = |mount: &MountInfo<'_>| {
        let mut own = PRIVATE_DIRECTORIES.iter().chain(&["/dev"]).map(Path::new);
        let at = |path: &str| mount.path == Path::new(path);
        match mount.kind {
            b"tmpfs" => {
                let is_own =
                    own.any(|own| own == mount.path) || meant.shows(&mount.path) == Some(MountShows::Own);
                is_own && is_fresh(mount)
            }
            // The program's own terminal is also mounted as a file.
            b"devpts" => at("/dev/console") || at("/dev/pts") && is_fresh(mount),
            b"mqueue" => at("/dev/mqueue") && is_fresh(mount),
            b"proc" => {
                let first = mounts.iter().find(|other| other.path == mount.path);
                at("/proc") && first.is_none_or(|first| first.device != mount.device)
            }
            _ => DEVICES.iter().any(|device| at(device)),
        }
    };
    let is_inside = |mount: &MountInfo<'_>| meant.roots.iter().any(|root| mount.path.starts_with(root));
    let writable = mounts.iter().filter(|mount| mount.is_writable && !is_inside(mount));
    let strays = writable.filter(|mount| is_reached(mount) && !is_meant(mount));
    strays.map(|mount| mount.path.clone()).collect()
}

/// A line: number, parent, device, root, path, options, then some that may be missing, a dash and the kind.
fn parse(line: &[u8]) -> Option<MountInfo<'_>> {
    let mut fields = line.split(|byte| *byte == b' ');
    let (id, parent, device) = (fields.next()?, fields.next()?, fields.next()?);
    let (root, path, options) = (fields.next()?, fields.next()?, fields.next()?);
    let is_writable = options.split(|byte| *byte == b',').any(|option| option == b"rw");
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    Some(MountInfo { id, parent, device, root: unescaped(root), path: unescaped(path), is_writable, kind })
}

/// A path of that list, in which blanks and some others are written as numbers.
fn unescaped(text: &[u8]) -> PathBuf {
    let mut path = Vec::new();
    let mut rest = text;
    while let Some((first, after)) = rest.split_first() {
        let number =
            after.get(..3).filter(|_| *first == b'\\').and_then(|digits| std::str::from_utf8(digits).ok());
        match number.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                path.push(byte);
                rest = &after[3..];
            }
            None => {
                path.push(*first);
                rest = after;
            }
        }
    }
    OsString::from_vec(path).into()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::{first_unmounted, parse_all, unexpected_mounts, verify};
    use crate::orders::{ExpectedMounts, MountShows};

    #[test]
    fn only_what_is_meant_to_be_writable_may_be() {
        let meant = ExpectedMounts {
            roots: vec!["/home/me/my work".into()],
            at: vec![("/home/me/.ssh".into(), MountShows::Own)],
            watched: Vec::new(),
        };
        // The first three are the machine's; what is mounted over them is the sandbox's.
        let usual = "1 0 8:1 / / ro,relatime - ext4 /dev/sda rw\n2 1 0:1 / /tmp ro - tmpfs tmpfs rw\n\
                     3 1 0:2 / /proc ro - proc proc rw\n31 1 0:9 / /run rw - tmpfs x rw\n32 31 0:10 / /run ro - tmpfs x rw\n\
                     4 2 0:5 / /tmp rw - tmpfs tmpfs rw\n\
                     5 1 8:1 /w /home/me/my\\040work rw - ext4 x rw\n6 5 8:1 /w/.git /home/me/my\\040work/.git rw - ext4 x rw\n\
                     7 3 0:6 / /proc rw - proc proc rw\n8 1 0:7 / /home/me/.ssh rw - tmpfs tmpfs rw\n";
        let found = |more: &str| unexpected_mounts(&parse_all(format!("{usual}{more}").as_bytes()), &meant);
        assert!(found("").is_empty());
        assert!(found("9 1 8:1 /x /srv ro - ext4 x rw\n").is_empty());
        for (path, what) in [
            ("/home/me/other", "8:1 /x ext4"),
            ("/tmp", "0:1 / tmpfs"),
            ("/tmp", "8:1 /x ext4"),
            ("/home/me/.ssh", "8:1 /home/me/.ssh ext4"),
            ("/home/me/.ssh", "0:1 / tmpfs"),
            ("/home/me/.ssh", "0:7 /inner tmpfs"),
            ("/proc", "0:2 / proc"),
            ("/proc/sys", "0:2 /sys proc"),
            ("/home/me/my\\040works", "8:1 /x ext4"),
            ("/var/tmp", "8:1 /x ext4"),
            ("/srv", "0:20 / tmpfs"),
        ] {
            let what: Vec<&str> = what.split(' ').collect();
            let line = format!("90 1 {} {} {path} rw,nosuid master:1 - {} x rw\n", what[0], what[1], what[2]);
            let expected = path.replace("\\040", " ");
            assert!(found(&line).contains(&PathBuf::from(&expected)), "{path}");
        }
    }

    #[test]
    fn a_mount_shows_what_is_at_its_place_and_none_is_missing() {
        let machine = b"1 0 8:1 / / rw - ext4 x rw\n2 1 8:2 /vol /home rw - ext4 y rw\n3 1 0:5 / /dev rw - devtmpfs d rw\n\
                        4 1 0:6 / /dev/pts rw - devpts p rw\n";
        let meant = ExpectedMounts {
            roots: vec!["/home/me/w".into()],
            at: vec![
                ("/home/me/.ssh".into(), MountShows::Own),
                ("/home/me/.netrc".into(), MountShows::Nothing),
                ("/home/me/w".into(), MountShows::Writable),
                ("/home/me/w/.git/config".into(), MountShows::ReadOnly),
            ],
            watched: vec!["/home/me/w/.git/config".into()],
        };
        let usual = "10 1 8:1 / / ro - ext4 x rw\n11 10 8:2 /vol /home ro - ext4 y rw\n12 11 0:20 / /home/me/.ssh rw - tmpfs t rw\n\
                     13 11 0:5 /null /home/me/.netrc ro - devtmpfs d rw\n14 11 8:2 /vol/me/w /home/me/w rw - ext4 y rw\n\
                     15 14 8:2 /vol/me/w/.git/config /home/me/w/.git/config ro - ext4 y rw\n\
                     16 10 0:6 /3 /dev/console rw - devpts p rw\n";
        let found = |text: &str| verify(machine, text.as_bytes(), &meant);
        found(usual).unwrap();
        for (more, words) in [
            ("20 14 8:2 /vol/me /home/me/w/q rw - ext4 y rw\n", "/home/me/w/q shows something else"),
            ("20 14 8:2 /vol/me/.ssh /home/me/w/q ro - ext4 y rw\n", "/home/me/w/q shows something else"),
            ("20 12 8:2 /vol/me/.ssh /home/me/.ssh ro - ext4 y rw\n", "/home/me/.ssh is not protected"),
            (
                "20 15 8:2 /vol/me/w/.git/config /home/me/w/.git/config rw - ext4 y rw\n",
                "config is not protected",
            ),
            ("20 11 8:2 /vol/me/x /home/me/x rw - ext4 y rw\n", "/home/me/x became writable"),
        ] {
            let told = found(&format!("{usual}{more}")).unwrap_err();
            assert!(told.contains(words), "{told}");
        }
        let without: String = usual.split_inclusive('\n').filter(|line| !line.starts_with("15 ")).collect();
        assert!(found(&without).unwrap_err().contains("config is not protected"));
        assert_eq!(
            first_unmounted(without.as_bytes(), &meant.watched),
            Some(&"/home/me/w/.git/config".into())
        );
        assert_eq!(first_unmounted(usual.as_bytes(), &meant.watched), None);
    }
}
