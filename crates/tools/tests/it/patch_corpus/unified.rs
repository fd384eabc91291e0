//! Unified diffs, as git and `diff -u` write them and as models imitate them.

use super::Expected::{After, AfterSaying};
use super::{Case, Refusals, check, check_refused};

#[tokio::test]
async fn diffs_of_every_kind() {
    check(DIFFS_OF_EVERY_KIND).await;
}

const DIFFS_OF_EVERY_KIND: &[Case] = &[
    Case {
        name: "git",
        before: &[("d/a", "1\n2\n3\n")],
        patch: "diff --git a/d/a b/d/a\nindex 0123..4567 100644\n--- a/d/a\n+++ b/d/a\n@@ -1,3 +1,3 @@ fn x()\n 1\n-2\n+two\n 3\n",
        expected: After(&[("d/a", "1\ntwo\n3\n")]),
    },
    Case {
        name: "diff -u with times",
        before: &[("a", "1\n2\n")],
        patch: "--- a\t2026-01-01 00:00:00 +0000\n+++ a\t2026-01-02 00:00:00 +0000\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n",
        expected: After(&[("a", "one\n2\n")]),
    },
    Case {
        name: "a folder that is called a",
        before: &[("a/x", "1\n"), ("x", "1\n")],
        patch: "--- a/x\n+++ a/x\n@@ -1 +1 @@\n-1\n+one\n",
        expected: After(&[("a/x", "one\n"), ("x", "1\n")]),
    },
    Case {
        name: "add",
        before: &[],
        patch: "diff --git a/d/n b/d/n\nnew file mode 100644\nindex 000..111\n--- /dev/null\n+++ b/d/n\n@@ -0,0 +1,2 @@\n+1\n+2\n",
        expected: After(&[("d/n", "1\n2\n")]),
    },
    Case {
        name: "add without a final line break",
        before: &[],
        patch: "--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+1\n+2\n\\ No newline at end of file\n",
        expected: After(&[("n", "1\n2")]),
    },
    Case {
        name: "add an empty file",
        before: &[],
        patch: "diff --git a/n b/n\nnew file mode 100644\nindex 000..e69\n",
        expected: After(&[("n", "")]),
    },
    Case {
        name: "delete",
        before: &[("a", "1\n2\n"), ("b", "")],
        patch: "diff --git a/a b/a\ndeleted file mode 100644\n--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-1\n-2\n",
        expected: After(&[("b", "")]),
    },
    Case {
        name: "delete an empty file",
        before: &[("a", ""), ("b", "")],
        patch: "diff --git a/b b/b\ndeleted file mode 100644\nindex e69..000\n",
        expected: After(&[("a", "")]),
    },
    Case {
        name: "rename",
        before: &[("a b", "1\n")],
        patch: "diff --git a/a b b/d/c\nsimilarity index 100%\nrename from a b\nrename to d/c\n",
        expected: AfterSaying(&[("d/c", "1\n")], &["Moved a b to d/c"]),
    },
    Case {
        name: "rename with a change",
        before: &[("a", "1\n2\n3\n")],
        patch: "diff --git a/a b/b\nsimilarity index 60%\nrename from a\nrename to b\nindex 1..2 100644\n--- a/a\n+++ b/b\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n",
        expected: After(&[("b", "1\ntwo\n3\n")]),
    },
    Case {
        name: "several files",
        before: &[("a", "1\n"), ("b", "1\n"), ("c", "1\n")],
        patch: "--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n--- a/b\n+++ b/b\n@@ -1 +1,2 @@\n 1\n+2\n\ndiff --git a/c b/c\n--- a/c\n+++ b/c\n@@ -1 +1 @@\n-1\n+c\n",
        expected: After(&[("a", "one\n"), ("b", "1\n2\n"), ("c", "c\n")]),
    },
    Case {
        name: "a mail",
        before: &[("a", "1\n")],
        patch: "From 0123 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n a | 2 +-\n\ndiff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n-- \n2.50.0\n\n",
        expected: After(&[("a", "one\n")]),
    },
    Case {
        name: "quoted names",
        before: &[("stra\u{df}e \"x\"", "1\n")],
        patch: "diff --git \"a/stra\\303\\237e \\\"x\\\"\" \"b/stra\\303\\237e \\\"x\\\"\"\n--- \"a/stra\\303\\237e \\\"x\\\"\"\n+++ \"b/stra\\303\\237e \\\"x\\\"\"\n@@ -1 +1 @@\n-1\n+one\n",
        expected: After(&[("stra\u{df}e \"x\"", "one\n")]),
    },
];

#[tokio::test]
async fn numbers_are_hints() {
    check(NUMBERS_ARE_HINTS).await;
}

const NUMBERS_ARE_HINTS: &[Case] = &[
    Case {
        name: "the number chooses",
        before: &[("a", "x\n1\nx\n2\nx\n")],
        patch: "--- a/a\n+++ b/a\n@@ -3 +3 @@\n-x\n+y\n",
        expected: After(&[("a", "x\n1\ny\n2\nx\n")]),
    },
    Case {
        name: "the nearest place, and it is said",
        before: &[("a", "x\n1\n2\n3\nx\n")],
        patch: "--- a/a\n+++ b/a\n@@ -4 +4 @@\n-x\n+y\n",
        expected: AfterSaying(&[("a", "x\n1\n2\n3\ny\n")], &["more than one place", "line 5"]),
    },
    Case {
        name: "wrong numbers, one place",
        before: &[("a", "1\n2\n3\n4\n")],
        patch: "--- a/a\n+++ b/a\n@@ -100,7 +90,9 @@\n 2\n-3\n+three\n",
        expected: After(&[("a", "1\n2\nthree\n4\n")]),
    },
    Case {
        name: "the second hunk drifts with the first",
        before: &[("a", "0\n0\nx\n1\nx\n2\nx\n3\n")],
        patch: "--- a/a\n+++ b/a\n@@ -2 +2 @@\n-1\n+one\n@@ -3 +3 @@\n-x\n+y\n",
        expected: After(&[("a", "0\n0\nx\none\ny\n2\nx\n3\n")]),
    },
    Case {
        name: "no numbers at all",
        before: &[("a", "fn f() {\n  1\n}\nfn g() {\n  1\n}\n")],
        patch: "--- a/a\n+++ b/a\n@@ fn g() { @@\n-  1\n+  2\n }\n",
        expected: After(&[("a", "fn f() {\n  1\n}\nfn g() {\n  2\n}\n")]),
    },
    Case {
        name: "no context",
        before: &[("a", "1\n2\n3\n")],
        patch: "--- a/a\n+++ b/a\n@@ -1,0 +2 @@\n+1.5\n@@ -3,0 +5 @@\n+4\n",
        expected: After(&[("a", "1\n1.5\n2\n3\n4\n")]),
    },
    Case {
        name: "at the top",
        before: &[("a", "1\n")],
        patch: "--- a/a\n+++ b/a\n@@ -0,0 +1 @@\n+0\n",
        expected: After(&[("a", "0\n1\n")]),
    },
    Case {
        name: "removed lines that look like the next file",
        before: &[("a", "-- x\n1\n")],
        patch: "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n--- x\n+++ y\n 1\n",
        expected: After(&[("a", "++ y\n1\n")]),
    },
];

#[tokio::test]
async fn diffs_that_cannot_be_meant() {
    check_refused(&[("a", "1\n2\n")], DIFFS_THAT_CANNOT_BE_MEANT).await;
}

const DIFFS_THAT_CANNOT_BE_MEANT: Refusals = &[
    ("two names", "--- a/a\n+++ b/b\n@@ -1 +1 @@\n-1\n+2\n", &["two different files", "`rename from`"]),
    ("no file", "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-1\n+2\n", &["both sides"]),
    ("new file with context", "--- /dev/null\n+++ b/n\n@@ -1 +1,2 @@\n 1\n+2\n", &["only added lines"]),
    ("not all deleted", "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", &["does not remove all of its lines"]),
    (
        "deletes other lines",
        "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-9\n",
        &["`a`, hunk 1 of 1", "not found"],
    ),
    ("mode", "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", &["at line 2", "chmod"]),
    ("copy", "diff --git a/a b/b\ncopy from a\ncopy to b\n", &["add the file instead"]),
    ("binary", "diff --git a/a b/a\nindex 1..2\nBinary files a/a and b/a differ\n", &["binary"]),
    (
        "link",
        "diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+a\n",
        &["links"],
    ),
    ("no hunks", "diff --git a/a b/a\nindex 1..1 100644\n", &["no hunks"]),
    ("beyond the end", "--- a/a\n+++ b/a\n@@ -9,0 +10 @@\n+x\n", &["after line 9", "only 2 lines"]),
    ("junk in a hunk", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\njunk\n", &["at line 6", "`junk`"]),
];
