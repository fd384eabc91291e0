//! What the kernel says of a process: its memory and its processor time.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::{Context, Result};

/// Ticks a second in `/proc/<pid>/stat`; the same on every Linux that we build for.
const TICKS: u64 = 100;

/// Bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory {
    /// What is resident now.
    pub now: u64,
    /// The most that ever was.
    pub peak: u64,
}

/// How much memory a process has, without what is swapped out.
pub fn memory(pid: u32) -> Result<Memory> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).context("the process has gone")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.map(|kib| kib << 10).with_context(|| format!("the kernel does not tell {name}"))
    };
    Ok(Memory { now: field("VmRSS")?, peak: field("VmHWM")? })
}

/// How much processor time a process has used, in all its threads.
pub fn processor(pid: u32) -> Result<Duration> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("the process has gone")?;
    // The name in parentheses may hold spaces; the fields that count come after it.
    let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = |at: usize| fields.split(' ').nth(at).and_then(|ticks| ticks.parse::<u64>().ok());
    let used = ticks(11).zip(ticks(12)).context("the kernel's figures cannot be read")?;
    Ok(Duration::from_millis((used.0 + used.1) * 1000 / TICKS))
}

/// How much processor time each thread with this name has used, by its id.
pub fn threads(pid: u32, name: &str) -> Result<HashMap<u32, Duration>> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).context("the process has gone")?;
    let of_task = |task: std::fs::DirEntry| {
        let is_meant = std::fs::read_to_string(task.path().join("comm")).ok()?.trim_end() == name;
        let times = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        let used = Duration::from_nanos(times.split(' ').next()?.parse().ok()?);
        is_meant.then_some((task.file_name().to_str()?.parse().ok()?, used))
    };
    Ok(tasks.filter_map(|task| of_task(task.ok()?)).collect())
}

/// How many processes this one has started that still run.
pub fn children(pid: u32) -> Result<usize> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).context("the process has gone")?;
    let of_task = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children")).ok();
    let lists = tasks.filter_map(|task| of_task(task.ok()?));
    Ok(lists.map(|list| list.split_whitespace().count()).sum())
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
    use super::{memory, processor, threads};

    #[test]
    fn the_kernel_tells_of_this_process() {
        let memory = memory(std::process::id()).unwrap();
        assert!(memory.now > 1 << 18 && memory.peak >= memory.now, "{memory:?}");
        processor(std::process::id()).unwrap();
        let name = std::thread::current().name().unwrap().chars().take(15).collect::<String>();
        assert!(threads(std::process::id(), &name).unwrap().values().any(|time| !time.is_zero()));
    }
}
