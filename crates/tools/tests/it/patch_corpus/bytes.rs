//! What a patch must leave as it was: line endings, the last line break, the mark at the start.

use super::Expected::After;
use super::{Case, check};

#[tokio::test]
async fn line_endings_stay() {
    check(LINE_ENDINGS_STAY).await;
}

const LINE_ENDINGS_STAY: &[Case] = &[
    Case {
        name: "crlf file, lf patch",
        before: &[("a", "1\r\n2\r\n3\r\n")],
        patch: "*** Update File: a\n 1\n-2\n+two\n+more\n 3\n",
        expected: After(&[("a", "1\r\ntwo\r\nmore\r\n3\r\n")]),
    },
    Case {
        name: "lf file, crlf patch",
        before: &[("a", "1\n2\n3\n")],
        patch: "*** Update File: a\r\n 1\r\n-2\r\n+two\r\n 3\r\n",
        expected: After(&[("a", "1\ntwo\n3\n")]),
    },
    Case {
        name: "mixed, mostly crlf",
        before: &[("a", "1\r\n2\n3\r\n4\r\n")],
        patch: "*** Update File: a\n 2\n-3\n+three\n 4\n",
        expected: After(&[("a", "1\r\n2\nthree\r\n4\r\n")]),
    },
    Case {
        name: "mixed, mostly lf",
        before: &[("a", "1\r\n2\n3\n4\n")],
        patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n",
        expected: After(&[("a", "1\r\ntwo\n3\n4\n")]),
    },
    Case {
        name: "a new file has lf",
        before: &[],
        patch: "*** Add File: a\r\n+1\r\n+2\r\n",
        expected: After(&[("a", "1\n2\n")]),
    },
    Case {
        name: "a lone carriage return is no line break",
        before: &[("a", "1\r2\n3\n")],
        patch: "*** Update File: a\n 1\r2\n-3\n+three\n",
        expected: After(&[("a", "1\r2\nthree\n")]),
    },
];

#[tokio::test]
async fn the_last_line_break_stays() {
    check(THE_LAST_LINE_BREAK_STAYS).await;
}

const THE_LAST_LINE_BREAK_STAYS: &[Case] = &[
    Case {
        name: "none, last line replaced",
        before: &[("a", "1\n2")],
        patch: "*** Update File: a\n 1\n-2\n+two\n",
        expected: After(&[("a", "1\ntwo")]),
    },
    Case {
        name: "none, lines added after",
        before: &[("a", "1\n2")],
        patch: "*** Update File: a\n 2\n+3\n",
        expected: After(&[("a", "1\n2\n3")]),
    },
    Case {
        name: "none, crlf, lines added after",
        before: &[("a", "1\r\n2")],
        patch: "*** Update File: a\n 2\n+3\n*** End of File\n",
        expected: After(&[("a", "1\r\n2\r\n3")]),
    },
    Case {
        name: "none, change above",
        before: &[("a", "1\n2")],
        patch: "*** Update File: a\n-1\n+one\n 2\n",
        expected: After(&[("a", "one\n2")]),
    },
    Case {
        name: "none, last line removed: what is above stays as it is",
        before: &[("a", "1\n2")],
        patch: "*** Update File: a\n-2\n",
        expected: After(&[("a", "1\n")]),
    },
    Case {
        name: "a diff adds it",
        before: &[("a", "1\n2")],
        patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n",
        expected: After(&[("a", "1\n2\n")]),
    },
    Case {
        name: "a diff removes it",
        before: &[("a", "1\n2\n")],
        patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+2\n\\ No newline at end of file\n",
        expected: After(&[("a", "1\n2")]),
    },
    Case {
        name: "a diff without it on both sides",
        before: &[("a", "2\n1\n2")],
        patch: "--- a/a\n+++ b/a\n@@ -3 +3 @@\n-2\n\\ No newline at end of file\n+two\n\\ No newline at end of file\n",
        expected: After(&[("a", "2\n1\ntwo")]),
    },
    Case {
        name: "a diff with context without it",
        before: &[("a", "1\n2")],
        patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n\\ No newline at end of file\n",
        expected: After(&[("a", "one\n2")]),
    },
];

#[tokio::test]
async fn the_mark_at_the_start_stays() {
    check(THE_MARK_AT_THE_START_STAYS).await;
}

const THE_MARK_AT_THE_START_STAYS: &[Case] = &[
    Case {
        name: "first line replaced",
        before: &[("a", "\u{feff}1\r\n2\r\n")],
        patch: "*** Update File: a\n-1\n+one\n",
        expected: After(&[("a", "\u{feff}one\r\n2\r\n")]),
    },
    Case {
        name: "emoji and combining characters",
        before: &[("a", "e\u{301} \u{1f469}\u{200d}\u{1f680}\n漢字\n")],
        patch: "*** Update File: a\n e\u{301} \u{1f469}\u{200d}\u{1f680}\n-漢字\n+かな\n",
        expected: After(&[("a", "e\u{301} \u{1f469}\u{200d}\u{1f680}\nかな\n")]),
    },
];
