//! Resources used by a program and all its descendants.

use std::time::Duration;

use anyhow::Result;

use crate::process;

/// Resources used so far by processes and their descendants. Bytes written by children that have ended are not included:
/// the kernel does not add them to the parent.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ProcessTreeUsage {
    pub(super) resident: u64,
    pub(super) peak: u64,
    pub(super) processor: Duration,
    pub(super) written: u64,
}

impl ProcessTreeUsage {
    pub(super) fn measure(roots: &[u32]) -> Result<ProcessTreeUsage> {
        let mut family = ProcessTreeUsage::default();
        let mut left = roots.to_vec();
        while let Some(pid) = left.pop() {
            family.add(pid).or_else(|error| if roots.contains(&pid) { Err(error) } else { Ok(()) })?;
            // A child that has just ended has none.
            left.extend(process::children(pid).unwrap_or_default());
        }
        Ok(family)
    }

    fn add(&mut self, pid: u32) -> Result<()> {
        let memory = process::memory(pid)?;
        self.processor += process::processor_time_with_children(pid)?;
        self.written += process::written(pid)?;
        self.resident += memory.now;
        self.peak += memory.peak;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::ProcessTreeUsage;

    #[test]
    fn a_child_is_counted_with_its_parent() {
        let alone = ProcessTreeUsage::measure(&[std::process::id()]).unwrap().resident;
        let mut child =
            std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        let one = ProcessTreeUsage::measure(&[child.id()]).unwrap();
        let both = ProcessTreeUsage::measure(&[std::process::id()]).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(one.resident > 0 && one.peak >= one.resident, "{one:?}");
        assert!(both.peak > alone && both.resident > one.resident, "{both:?}");
        assert!(ProcessTreeUsage::measure(&[child.id()]).is_err());
    }
}
