//! Texts that a model reads: the outcome of the checks after a turn, and of a review of its changes.

/// Sent where the checks failed and another round is left.
pub(crate) fn verification_failed(round: u32, rounds: u32, failed: &str) -> String {
    format!(
        "Verification failed (round {round} of {rounds}): {failed}\n\nFix the problem and run the check again."
    )
}

/// The output of the check for a clean working tree, where it is not.
pub(crate) fn uncommitted_changes(changes: &str) -> String {
    format!("There are uncommitted changes:\n{changes}")
}

/// The first line about a review that rejected everything.
pub(crate) const CHANGES_REJECTED: &str = "The user reviewed this turn's changes and rejected them.";
/// The first line about a review that rejected a part, or that has comments.
pub(crate) const CHANGES_PARTLY_ACCEPTED: &str =
    "The user reviewed this turn's changes and accepted some of them.";

/// A rejected change that was reverted.
pub(crate) fn reverted(what: &str) -> String {
    format!("reverted: {what}")
}

/// A rejected change that is still there.
pub(crate) fn not_reverted(what: &str, why: &str) -> String {
    format!("could not be reverted: {what}: {why}")
}

/// A review whose rejected changes are all still there.
pub(crate) fn nothing_reverted(why: &str) -> String {
    format!("nothing could be reverted: {why}")
}
