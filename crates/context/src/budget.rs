//! How many tokens each part of a bundle may take. Whether the whole fits a model is for its caller to say.

/// The most tokens of each section, about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budget {
    /// The instruction files together.
    pub instructions: u64,
    /// The tree of the workspace.
    pub tree: u64,
    /// The definitions that matter.
    pub map: u64,
    /// How the git repository stands.
    pub git: u64,
    /// Pieces of the files that matter for the prompt.
    pub files: u64,
    /// The list of skills.
    pub skills: u64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { instructions: 8_000, tree: 600, map: 1_500, git: 400, files: 3_000, skills: 1_000 }
    }
}

impl Budget {
    /// The same where it is at most a fifth of a model's window, and less of everything where it is not: a
    /// small model must have room to work.
    #[must_use]
    pub fn within(self, window: u64) -> Budget {
        let (whole, room) = (self.total().max(1), window / 5);
        if whole <= room {
            return self;
        }
        let share = |part: u64| part.saturating_mul(room) / whole;
        Budget {
            instructions: share(self.instructions),
            tree: share(self.tree),
            map: share(self.map),
            git: share(self.git),
            files: share(self.files),
            skills: share(self.skills),
        }
    }

    /// All of it.
    pub fn total(&self) -> u64 {
        self.instructions + self.tree + self.map + self.git + self.files + self.skills
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;

    #[test]
    fn a_small_window_makes_everything_smaller() {
        assert_eq!(Budget::default().within(1_000_000), Budget::default());
        let small = Budget::default().within(8_000);
        assert!(small.total() <= 1_600 && small.total() > 1_500, "{small:?}");
        assert!(small.instructions > small.files && small.files > small.map);
    }
}
