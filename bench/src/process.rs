//! What the kernel says of a process: its memory, its processor time, and what it writes.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};

/// Ticks a second in `/proc/<pid>/stat`; the same on every Linux that we build for.
const TICKS: u64 = 100;

/// Bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessMemory {
    /// What is resident now.
    pub now: u64,
    /// The most that ever was.
    pub peak: u64,
}

/// How much memory a process has, without what is swapped out.
pub fn memory(pid: u32) -> Result<ProcessMemory> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("the process has gone")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.map(|kib| kib << 10).with_context(|| format!("the kernel does not tell {name}"))
    };
    Ok(ProcessMemory { now: field("VmRSS")?, peak: field("VmHWM")? })
}

/// Resident memory by kind, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResidentMemory {
    /// Anonymous memory: the heap, stacks, and modified private pages of files.
    pub heap: u64,
    /// Unmodified pages of the program, its libraries and other mapped files.
    pub code: u64,
}

/// The resident memory of a process by kind, from `smaps`.
pub fn resident(pid: u32) -> Result<ResidentMemory> {
    let maps = std::fs::read_to_string(format!("/proc/{pid}/smaps")).context("the process has gone")?;
    let sum = |name: &str| -> u64 {
        let lines = maps.lines().filter_map(|line| line.strip_prefix(name)?.trim().strip_suffix(" kB"));
        lines.filter_map(|kib| kib.parse::<u64>().ok()).sum::<u64>() << 10
    };
    let heap = sum("Anonymous:");
    Ok(ResidentMemory { heap, code: sum("Rss:").saturating_sub(heap) })
}

/// Bytes that a process caused to be written to disk, counted in whole pages.
pub fn written(pid: u32) -> Result<u64> {
    let io = std::fs::read_to_string(format!("/proc/{pid}/io")).context("the process has gone")?;
    let bytes = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok());
    bytes.context("the kernel does not tell what is written")
}

/// How long this thread has run.
pub fn thread_time() -> Result<Duration> {
    let path = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {path}"))?;
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Ok(Duration::from_nanos(nanos.with_context(|| format!("{path} does not begin with a number"))?))
}

/// How much processor time a process has used, in all its threads.
pub fn processor_time(pid: u32) -> Result<Duration> {
    ticks(pid, &[11, 12])
}

/// The same, including children that have ended and were waited for.
pub fn processor_time_with_children(pid: u32) -> Result<Duration> {
    ticks(pid, &[11, 12, 13, 14])
}

/// The sum of fields of `/proc/<pid>/stat`, by their index after the name.
fn ticks(pid: u32, fields_at: &[usize]) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("the process has gone")?;
    // The name in parentheses may hold spaces; the fields that count come after it.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = |at: &usize| fields.split(' ').nth(*at).and_then(|ticks| ticks.parse::<u64>().ok());
    let used: Option<u64> = fields_at.iter().map(ticks).sum();
    Ok(Duration::from_millis(used.context("the kernel's figures cannot be read")? * 1000 / TICKS))
}

/// How much processor time each thread has used, by its id; only those with this name, if one is given.
pub fn thread_times(pid: u32, name: Option<&str>) -> Result<HashMap<u32, Duration>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).context("the process has gone")?;
    let of_task = |task: std::fs::DirEntry| {
        let own_name = std::fs::read_to_string(task.path().join("comm")).ok()?;
        let is_meant = name.is_none_or(|name| own_name.trim_end() == name);
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let used = Duration::from_nanos(times.split(' ').next()?.parse().ok()?);
        is_meant.then_some((task.file_name().to_str()?.parse().ok()?, used))
    };
    Ok(tasks.filter_map(|task| of_task(task.ok()?)).collect())
}

/// The processes that this one has started and that still run.
pub fn children(pid: u32) -> Result<Vec<u32>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).context("the process has gone")?;
    let of_task = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).ok();
    let lists = tasks.filter_map(|task| of_task(task.ok()?));
    Ok(lists
        .flat_map(|list| list.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect())
}

/// The load of the machine over the last minute, for those who read the table.
pub fn load() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

/// Bytes as megabytes, with a digit after the point.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

/// Bytes as kilobytes.
pub fn kilobytes(bytes: u64) -> String {
    format!("{:.0} KB", bytes as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::{memory, processor_time, resident, thread_time, thread_times, written};

    #[test]
    fn the_kernel_tells_of_this_process() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.now > 1 << 18 && memory.peak >= memory.now, "{memory:?}");
        processor_time(std::process::id()).unwrap();
        let name = std::thread::current().name().unwrap().chars().take(15).collect::<String>();
        assert!(thread_times(std::process::id(), Some(&name)).unwrap().values().any(|time| !time.is_zero()));
        assert!(thread_times(std::process::id(), None).unwrap().len() > 1);
        assert!(!thread_time().unwrap().is_zero());
        let resident = resident(std::process::id()).unwrap();
        assert!(resident.heap > 0 && resident.code > 0, "{resident:?}");
        written(std::process::id()).unwrap();
    }
}
