//! A disk that fails, or kills the process, at the operation that a test names.
//!
//! It counts every operation that changes files and hands it on to the real disk. What a log does about
//! the failure is the log's own affair.

use std::collections::{HashMap, HashSet};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use ostler_eventlog::{Disk, DiskFile, RealDisk};

/// A real disk with faults. The plan can be changed while it is in use.
#[derive(Debug)]
pub struct FaultDisk {
    state: Mutex<FaultDiskState>,
}

/// Which operations fail, and how.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FaultPlan {
    faults: Vec<PlannedFault>,
    count_to: Option<PathBuf>,
}

/// What is wrong with a plan's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FaultPlanError(String);

impl std::fmt::Display for FaultPlanError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "`{}` is no fault: write `action:place`, as in `eio:17` or `kill-mid:write_at@feed`",
            self.0
        )
    }
}

impl std::error::Error for FaultPlanError {}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PlannedFault {
    action: FaultAction,
    place: FaultTrigger,
    /// Whether it happens at every operation that fits, and at every one from a number on.
    lasting: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum FaultTrigger {
    /// The operation with this number, from 1.
    Number(u64),
    /// An operation of this kind (any, if empty) on a path that contains the text.
    Matching { kind: String, path: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FaultAction {
    Fail(i32),
    /// Writes half of the bytes, then fails.
    Short(i32),
    KillBefore,
    KillMid,
    KillAfter,
}

const ENOSPC: i32 = 28;
const EIO: i32 = 5;

#[derive(Debug, Default)]
struct FaultDiskState {
    plan: FaultPlan,
    operations: u64,
    /// How much of each file is on disk for certain.
    durable: HashMap<PathBuf, u64>,
    /// What has been made since its directory was last synced.
    unnamed: HashSet<PathBuf>,
}

impl FaultPlan {
    /// Reads a plan: faults parted by commas, each `action:place`. The actions are `enospc`, `eio`,
    /// `short-enospc`, `short-eio` (half of the bytes are written first), `kill-before`, `kill-mid` and
    /// `kill-after`. A place is an operation's number, from 1, or `kind@text` for the operations of a kind
    /// (such as `sync_data`; none for any) whose path contains the text. `..` after it makes the fault
    /// last. `count:/path` adds the number of each operation to a file, a line each.
    pub fn parse(text: &str) -> Result<FaultPlan, FaultPlanError> {
        let mut plan = FaultPlan::default();
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let wrong = || FaultPlanError(part.to_owned());
            let (action, place) = part.split_once(':').ok_or_else(wrong)?;
            let action = match action {
                "count" => {
                    plan.count_to = Some(PathBuf::from(place));
                    continue;
                }
                "enospc" => FaultAction::Fail(ENOSPC),
                "eio" => FaultAction::Fail(EIO),
                "short-enospc" => FaultAction::Short(ENOSPC),
                "short-eio" => FaultAction::Short(EIO),
                "kill-before" => FaultAction::KillBefore,
                "kill-mid" => FaultAction::KillMid,
                "kill-after" => FaultAction::KillAfter,
                _ => return Err(wrong()),
            };
            let lasting = place.ends_with("..");
            let place = place.trim_end_matches("..");
            let place = match place.split_once('@') {
                Some((kind, path)) => FaultTrigger::Matching { kind: kind.to_owned(), path: path.to_owned() },
                None => FaultTrigger::Number(place.parse().map_err(|_| wrong())?),
            };
            plan.faults.push(PlannedFault { action, place, lasting });
        }
        Ok(plan)
    }

    /// What happens at an operation. A fault that does not last is used up by it.
    fn next_action(&mut self, number: u64, kind: &str, path: &Path) -> Option<FaultAction> {
        let fits = |fault: &PlannedFault| match &fault.place {
            FaultTrigger::Number(wanted) if fault.lasting => number >= *wanted,
            FaultTrigger::Number(wanted) => number == *wanted,
            FaultTrigger::Matching { kind: wanted, path: part } => {
                (wanted.is_empty() || wanted == kind) && path.to_string_lossy().contains(part.as_str())
            }
        };
        let index = self.faults.iter().position(fits)?;
        let action = self.faults[index].action;
        if !self.faults[index].lasting {
            self.faults.remove(index);
        }
        Some(action)
    }
}

impl FaultDisk {
    /// A disk that fails by this plan.
    pub fn new(plan: FaultPlan) -> FaultDisk {
        FaultDisk { state: Mutex::new(FaultDiskState { plan, ..FaultDiskState::default() }) }
    }

    /// Replaces the plan; an empty one heals the disk. The count goes on.
    pub fn set_plan(&self, plan: FaultPlan) {
        self.state().plan = plan;
    }

    /// How many operations there have been.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Does to the files what a power cut may do: cuts off all that was written and never synced, and
    /// removes what was made in a directory that was not synced since. To be called when nobody has the
    /// files open any more.
    pub fn cut_power(&self) -> io::Result<()> {
        let state = self.state();
        for path in &state.unnamed {
            let removed = match path.is_dir() && !path.is_symlink() {
                true => std::fs::remove_dir_all(path),
                false => std::fs::remove_file(path),
            };
            match removed {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        for (path, durable) in &state.durable {
            match OpenOptions::new().write(true).open(path) {
                Ok(file) if file.metadata()?.len() > *durable => file.set_len(*durable)?,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Counts an operation, and does it or not. `half` is what is done of it when it stops midway.
    fn operate<T>(
        &self,
        kind: &str,
        path: &Path,
        half: impl FnOnce(),
        whole: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        let action = {
            let mut state = self.state();
            state.operations += 1;
            let number = state.operations;
            if let Some(file) = &state.plan.count_to {
                let mut file = OpenOptions::new().append(true).create(true).open(file)?;
                writeln!(file, "{number}")?;
            }
            state.plan.next_action(number, kind, path)
        };
        match action {
            None => whole(),
            Some(FaultAction::Fail(code)) => Err(io::Error::from_raw_os_error(code)),
            Some(FaultAction::Short(code)) => {
                half();
                Err(io::Error::from_raw_os_error(code))
            }
            Some(FaultAction::KillBefore) => kill(),
            Some(FaultAction::KillMid) => {
                half();
                kill()
            }
            Some(FaultAction::KillAfter) => {
                let _ = whole();
                kill()
            }
        }
    }

    fn note_made(&self, made: bool, path: &Path) {
        if made {
            self.state().unnamed.insert(path.to_owned());
        }
    }

    fn state(&self) -> MutexGuard<'_, FaultDiskState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends this process as a crash would.
fn kill() -> ! {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
    std::process::abort()
}

impl Disk for FaultDisk {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        let made = !path.exists();
        self.operate("create_dir", path, || (), || RealDisk.create_dir(path))?;
        self.note_made(made, path);
        Ok(())
    }

    fn open(&self, path: &Path) -> io::Result<DiskFile> {
        let made = !path.exists();
        let before = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        let file = self.operate("open", path, || (), || RealDisk.open(path))?;
        self.note_made(made, path);
        self.state().durable.entry(path.to_owned()).or_insert(before);
        Ok(file)
    }

    fn write_at(&self, file: &DiskFile, bytes: &[u8], offset: u64) -> io::Result<()> {
        let half = || {
            let _ = RealDisk.write_at(file, &bytes[..bytes.len() / 2], offset);
        };
        self.operate("write_at", &file.path, half, || RealDisk.write_at(file, bytes, offset))
    }

    fn truncate(&self, file: &DiskFile, length: u64) -> io::Result<()> {
        self.operate("truncate", &file.path, || (), || RealDisk.truncate(file, length))?;
        if let Some(durable) = self.state().durable.get_mut(&file.path) {
            *durable = length.min(*durable);
        }
        Ok(())
    }

    fn sync_data(&self, file: &DiskFile) -> io::Result<()> {
        let length = file.file.metadata()?.len();
        self.operate("sync_data", &file.path, || (), || RealDisk.sync_data(file))?;
        self.state().durable.insert(file.path.clone(), length);
        Ok(())
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.operate("sync_dir", path, || (), || RealDisk.sync_dir(path))?;
        self.state().unnamed.retain(|made| made.parent() != Some(path));
        Ok(())
    }

    fn sync_all(&self, directory: &Path) -> io::Result<()> {
        self.operate("sync_all", directory, || (), || RealDisk.sync_all(directory))?;
        let mut state = self.state();
        state.unnamed.clear();
        for (path, durable) in &mut state.durable {
            *durable = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        }
        Ok(())
    }

    fn link(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate("link", from, || (), || RealDisk.link(from, to))
    }

    fn symlink(&self, target: &Path, link: &Path) -> io::Result<()> {
        self.operate("symlink", link, || (), || RealDisk.symlink(target, link))?;
        self.note_made(true, link);
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operate("rename", from, || (), || RealDisk.rename(from, to))?;
        let mut state = self.state();
        let moved = |path: PathBuf| match path.strip_prefix(from) {
            Ok(rest) if rest.as_os_str().is_empty() => to.to_owned(),
            Ok(rest) => to.join(rest),
            Err(_) => path,
        };
        state.durable = std::mem::take(&mut state.durable).into_iter().map(|(p, n)| (moved(p), n)).collect();
        Ok(())
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.operate("remove_file", path, || (), || RealDisk.remove_file(path))?;
        let mut state = self.state();
        state.unnamed.remove(path);
        state.durable.remove(path);
        Ok(())
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.operate("remove_dir_all", path, || (), || RealDisk.remove_dir_all(path))?;
        let mut state = self.state();
        state.unnamed.retain(|made| !made.starts_with(path));
        state.durable.retain(|file, _| !file.starts_with(path));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{FaultAction, FaultPlan};

    #[test]
    fn a_plan_is_read_and_strikes_where_it_says() {
        let mut plan = FaultPlan::parse("eio:3,enospc:5..,short-eio:write_at@feed").unwrap();
        let path = Path::new("/data/feed");
        assert_eq!(plan.next_action(1, "sync_data", path), None);
        assert_eq!(plan.next_action(2, "write_at", path), Some(FaultAction::Short(5)));
        assert_eq!(plan.next_action(3, "write_at", path), Some(FaultAction::Fail(5)));
        assert_eq!(plan.next_action(4, "write_at", path), None);
        assert_eq!(plan.next_action(5, "open", path), Some(FaultAction::Fail(28)));
        assert_eq!(plan.next_action(6, "open", path), Some(FaultAction::Fail(28)));
        assert!(FaultPlan::parse("kill-before:17,count:/tmp/x").is_ok());
        for bad in ["eio", "eio:x", "burn:1"] {
            assert!(FaultPlan::parse(bad).is_err(), "{bad}");
        }
    }
}
