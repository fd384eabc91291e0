//! What `/proc` tells of processes: whose children they are, and how many a user has.

use std::collections::HashMap;
use std::fs;

/// All processes that come from `ancestor`, nearest first.
pub(crate) fn descendants(ancestor: u32) -> Vec<u32> {
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for process in process_ids() {
        if let Some(parent) = parent_of(process) {
            children.entry(parent).or_default().push(process);
        }
    }
    let mut found = children.remove(&ancestor).unwrap_or_default();
    let mut next = 0;
    while let Some(process) = found.get(next) {
        found.extend(children.remove(process).unwrap_or_default());
        next += 1;
    }
    found
}

/// How many threads the processes of a user have.
pub(crate) fn threads_of_user(user: u32) -> u64 {
    let threads = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
        let field =
            |name: &str| status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next();
        (field("Uid:")?.parse() == Ok(user)).then_some(())?;
        field("Threads:")?.parse::<u64>().ok()
    };
    process_ids().filter_map(threads).sum()
}

fn process_ids() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn parent_of(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name is in parentheses and may hold anything, so the fields are counted from the last one.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}
