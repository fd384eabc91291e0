//! What models are told of tools: the same for most turns, and larger than all else that a short turn holds,
//! so it is kept and shared.

use std::sync::{Arc, Mutex, PoisonError};

use ostler_types::ToolSpec;

use crate::loop_tools::LoopTool;

/// How many sets of tools are kept. Sessions without tools of their workspace's own have few among them.
const MAX_CACHED_SETS: usize = 8;

/// The newest sets, the newest last.
#[derive(Default)]
pub(crate) struct ToolSpecCache(Mutex<Vec<CachedToolSpecs>>);

struct CachedToolSpecs {
    loop_tools: Vec<LoopTool>,
    others: Arc<[ToolSpec]>,
    all: Arc<[ToolSpec]>,
}

impl ToolSpecCache {
    /// The tools of the loop, then the others.
    pub(crate) fn get(&self, own: &[LoopTool], others: &Arc<[ToolSpec]>) -> Arc<[ToolSpec]> {
        let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = sets.iter().find(|set| set.loop_tools == own && Arc::ptr_eq(&set.others, others));
        if let Some(set) = known {
            return Arc::clone(&set.all);
        }
        let all: Arc<[ToolSpec]> = own.iter().map(|own| own.spec()).chain(others.iter().cloned()).collect();
        if sets.len() == MAX_CACHED_SETS {
            sets.remove(0);
        }
        sets.push(CachedToolSpecs {
            loop_tools: own.to_vec(),
            others: Arc::clone(others),
            all: Arc::clone(&all),
        });
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{MAX_CACHED_SETS, ToolSpecCache};
    use crate::loop_tools::LoopTool;

    #[test]
    fn a_set_of_tools_is_described_once_and_few_are_kept() {
        let (specs, others) = (ToolSpecCache::default(), Arc::from([LoopTool::Skill.spec()]));
        let first = specs.get(&[LoopTool::Task], &others);
        assert_eq!(first.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["task", "skill"]);
        assert!(Arc::ptr_eq(&first, &specs.get(&[LoopTool::Task], &others)));
        assert!(!Arc::ptr_eq(&first, &specs.get(&[], &others)));
        for _ in 0..MAX_CACHED_SETS {
            specs.get(&[], &Arc::from([]));
        }
        assert!(!Arc::ptr_eq(&first, &specs.get(&[LoopTool::Task], &others)), "the oldest has made room");
    }
}
