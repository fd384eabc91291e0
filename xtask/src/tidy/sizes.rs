//! Files of any kind: none is so large that it burdens every checkout for ever.

use super::TidyFinding;
use super::tree::{LARGEST, RepositoryTree};

/// Large files are made at build time or fetched, not kept.
pub(super) fn large(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let found = tree.files.iter().filter(|file| file.size > LARGEST);
    found
        .map(|file| {
            let text = format!(
                "{} bytes; keep files under {LARGEST}, or make this one when it is needed",
                file.size
            );
            TidyFinding::new(&file.path, 1, text)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::large;
    use crate::tidy::tree::{LARGEST, RepositoryTree};

    #[test]
    fn a_large_file_is_found() {
        let mut tree = RepositoryTree::of(&[("small.bin", ""), ("large.bin", "")]);
        tree.files[0].size = LARGEST;
        tree.files[1].size = LARGEST + 1;
        let found = large(&tree);
        assert_eq!((found.len(), found[0].path.as_str()), (1, "large.bin"));
    }
}
