//! Landlock: which files a program may touch where no mounts say so, and, in every sandbox, that its
//! signals and abstract sockets stay inside.
//!
//! Landlock only opens, it cannot close something inside what is open. So reading is opened all around
//! the hidden places, and writing inside the workspace as a whole; see `snapshot` for what that leaves.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, Scope,
};

use rustix::termios::ttyname;

use crate::orders::LandlockRules;

/// The newest version that these rules were tried with.
const NEWEST_ABI: u8 = 7;
/// The oldest that will do: before it, any file could be emptied.
pub const LANDLOCK_OLDEST: u8 = 3;
/// Since when TCP ports can be closed.
pub const LANDLOCK_WITH_TCP: u8 = 4;
/// Since when signals and abstract sockets can be kept inside.
pub const LANDLOCK_WITH_SCOPES: u8 = 6;
/// How many places may be opened around the hidden ones.
const MAXIMUM_RULES: usize = 8192;
/// Devices that every program may use. Terminals are not among them: all of the user's could be read and
/// written. A program that has one got it as a descriptor, and may open that one by its name.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// The version that this kernel has, at most the newest one that is known here. Restricts nothing.
pub fn landlock_version() -> u8 {
    let offered = |version: u8| {
        Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(abi(version)))
            .and_then(|ruleset| match version {
                LANDLOCK_WITH_SCOPES.. => ruleset.scope(Scope::from_all(abi(version))),
                _ => Ok(ruleset),
            })
            .and_then(|ruleset| match version {
                LANDLOCK_WITH_TCP.. => ruleset.handle_access(AccessNet::from_all(abi(version))),
                _ => Ok(ruleset),
            })
            .and_then(Ruleset::create)
            .is_ok()
    };
    (1..=NEWEST_ABI).rev().find(|version| offered(*version)).unwrap_or(0)
}

/// Restricts this thread and whatever it becomes.
pub(crate) fn apply(rules: Option<&LandlockRules>, scoped: bool, has_terminal: bool) -> Result<(), String> {
    if rules.is_none() && !scoped {
        return Ok(());
    }
    let mut readable = Vec::new();
    if let Some(rules) = rules {
        // Keyboards, cameras and other terminals are there; what a program needs is opened by name.
        let mut hidden = rules.hidden.clone();
        hidden.push("/dev".into());
        for place in [PathBuf::from("/")].iter().chain(&rules.readable) {
            around_hidden(place, &hidden, &mut readable)?;
        }
    }
    let terminal = has_terminal.then(own_terminal).flatten();
    restrict(rules, &readable, terminal.as_deref(), scoped)
        .map_err(|error| format!("restricting files: {error}"))
}

/// The terminal that is the program's input.
fn own_terminal() -> Option<PathBuf> {
    let name = ttyname(std::io::stdin(), Vec::new()).ok()?;
    Some(OsString::from_vec(name.into_bytes()).into())
}

fn restrict(
    rules: Option<&LandlockRules>,
    readable: &[PathBuf],
    terminal: Option<&Path>,
    scoped: bool,
) -> Result<(), RulesetError> {
    let mut ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    if let Some(rules) = rules {
        ruleset = ruleset.handle_access(AccessFs::from_all(abi(rules.abi)))?;
        if !rules.network && rules.abi >= LANDLOCK_WITH_TCP {
            ruleset = ruleset.handle_access(AccessNet::from_all(abi(rules.abi)))?;
        }
    }
    if scoped {
        ruleset = ruleset.scope(Scope::from_all(abi(LANDLOCK_WITH_SCOPES)))?;
    }
    let mut created = ruleset.create()?;
    if let Some(rules) = rules {
        let abi = abi(rules.abi);
        // Listing is open everywhere: closing it would close every directory above a hidden one.
        created = allow_path(created, Path::new("/"), AccessFs::ReadDir.into(), abi)?;
        for path in readable {
            created = allow_path(created, path, AccessFs::from_read(abi), abi)?;
        }
        for path in &rules.writable {
            created = allow_path(created, path, AccessFs::from_all(abi), abi)?;
        }
        for device in DEVICES.iter().map(Path::new).chain(terminal) {
            created = allow_path(created, device, AccessFs::from_all(abi), abi)?;
        }
    }
    created.restrict_self().map(drop)
}

/// Opens one place. One that is gone or closed to us is closed to the program too.
fn allow_path(
    ruleset: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
    abi: ABI,
) -> Result<RulesetCreated, RulesetError> {
    let (Ok(descriptor), Ok(metadata)) = (PathFd::new(path), fs::metadata(path)) else {
        return Ok(ruleset);
    };
    let access = if metadata.is_dir() { access } else { access & AccessFs::from_file(abi) };
    ruleset.add_rule(PathBeneath::new(descriptor, access))
}

fn abi(version: u8) -> ABI {
    ABI::from(i32::from(version.min(NEWEST_ABI)))
}

/// Everything in a place but what is hidden, in as few pieces as there can be.
fn around_hidden(place: &Path, hidden: &[PathBuf], open: &mut Vec<PathBuf>) -> Result<(), String> {
    let mut waiting = vec![place.to_owned()];
    while let Some(path) = waiting.pop() {
        if hidden.contains(&path) {
            continue;
        }
        if !hidden.iter().any(|hidden| hidden.starts_with(&path)) {
            open.push(path);
        } else {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            // A link is no place of its own: what it leads to is opened where that is, or not at all.
            let real = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
            waiting.extend(real.map(|entry| entry.path()));
        }
        if open.len() + waiting.len() > MAXIMUM_RULES {
            return Err("there are too many files beside the hidden ones to open each of them".to_owned());
        }
    }
    Ok(())
}
