//! What models are told of tools: the same for most turns, and larger than all else that a short turn holds,
//! so it is kept and shared.

use std::sync::{Arc, Mutex, PoisonError};

use ostler_types::ToolSpec;

use crate::own::LoopTool;

/// How many sets of tools are kept. Sessions without tools of their workspace's own have few among them.
const KEPT: usize = 8;

/// The newest sets, the newest last.
#[derive(Default)]
pub(crate) struct ToolSpecCache(Mutex<Vec<CachedToolSpecs>>);

struct CachedToolSpecs {
    own: Vec<LoopTool>,
    others: Arc<[ToolSpec]>,
    all: Arc<[ToolSpec]>,
}

impl ToolSpecCache {
    /// The tools of the loop, then the others.
    pub(crate) fn of(&self, own: &[LoopTool], others: &Arc<[ToolSpec]>) -> Arc<[ToolSpec]> {
        let mut sets = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = sets.iter().find(|set| set.own == own && Arc::ptr_eq(&set.others, others));
        if let Some(set) = known {
            return Arc::clone(&set.all);
        }
        let all: Arc<[ToolSpec]> = own.iter().map(|own| own.spec()).chain(others.iter().cloned()).collect();
        if sets.len() == KEPT {
            sets.remove(0);
        }
        sets.push(CachedToolSpecs { own: own.to_vec(), others: Arc::clone(others), all: Arc::clone(&all) });
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{KEPT, ToolSpecCache};
    use crate::own::LoopTool;

    #[test]
    fn a_set_of_tools_is_described_once_and_few_are_kept() {
        let (specs, others) = (ToolSpecCache::default(), Arc::from([LoopTool::Skill.spec()]));
        let first = specs.of(&[LoopTool::Task], &others);
        assert_eq!(first.iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["task", "skill"]);
        assert!(Arc::ptr_eq(&first, &specs.of(&[LoopTool::Task], &others)));
        assert!(!Arc::ptr_eq(&first, &specs.of(&[], &others)));
        for _ in 0..KEPT {
            specs.of(&[], &Arc::from([]));
        }
        assert!(!Arc::ptr_eq(&first, &specs.of(&[LoopTool::Task], &others)), "the oldest has made room");
    }
}
