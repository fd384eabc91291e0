//! Lists of words that are written as one text, so that long ones stay readable.

/// Whether the word is one of those in the list, which are separated by blanks.
pub(crate) fn contains_word(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|listed| listed == word)
}
