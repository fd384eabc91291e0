//! The envelope format: sections, hunks, headers, anchors, and lines that are spelled a little
//! differently.

use super::Expected::{After, AfterSaying};
use super::{Case, check};

const CLASSES: &str = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 1\n";

#[tokio::test]
async fn sections() {
    check(SECTIONS).await;
}

const SECTIONS: &[Case] = &[
    Case {
        name: "update",
        before: &[("a", "1\n2\n3\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n 1\n-2\n+two\n 3\n*** End Patch",
        expected: AfterSaying(&[("a", "1\ntwo\n3\n")], &["Updated a: 1 line added, 1 removed.\n"]),
    },
    Case {
        name: "the first hunk needs no @@",
        before: &[("a", "1\n2\n")],
        patch: "*** Begin Patch\n*** Update File: a\n-1\n+one\n*** End Patch",
        expected: After(&[("a", "one\n2\n")]),
    },
    Case {
        name: "add in a new folder",
        before: &[],
        patch: "*** Begin Patch\n*** Add File: d/e/a\n+one\n+\n+two\n*** End Patch",
        expected: AfterSaying(&[("d/e/a", "one\n\ntwo\n")], &["Added d/e/a: 3 lines added, 0 removed.\n"]),
    },
    Case {
        name: "add an empty file",
        before: &[],
        patch: "*** Begin Patch\n*** Add File: a\n*** End Patch",
        expected: After(&[("a", "")]),
    },
    Case {
        name: "an added empty line without its sign",
        before: &[],
        patch: "*** Begin Patch\n*** Add File: a\n+one\n\n+two\n\n*** End Patch",
        expected: After(&[("a", "one\n\ntwo\n")]),
    },
    Case {
        name: "delete",
        before: &[("a", "1\n2\n"), ("b", "")],
        patch: "*** Begin Patch\n*** Delete File: a\n*** End Patch",
        expected: AfterSaying(&[("b", "")], &["Deleted a: 0 lines added, 2 removed.\n"]),
    },
    Case {
        name: "move with a change",
        before: &[("a", "1\n2\n")],
        patch: "*** Begin Patch\n*** Update File: a\n*** Move to: d/b\n@@\n-1\n+one\n*** End Patch",
        expected: AfterSaying(&[("d/b", "one\n2\n")], &["Moved a to d/b: 1 line added, 1 removed.\n"]),
    },
    Case {
        name: "move without a change",
        before: &[("a", "1\n2")],
        patch: "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch",
        expected: After(&[("b", "1\n2")]),
    },
    Case {
        name: "all kinds in one patch",
        before: &[("a", "1\n"), ("b", "2\n"), ("c", "3\n")],
        patch: "*** Begin Patch\n*** Update File: a\n-1\n+one\n\n*** Delete File: b\n*** Add File: d\n+4\n*** Update File: c\n*** Move to: e\n@@\n-3\n+three\n*** End Patch\n",
        expected: After(&[("a", "one\n"), ("d", "4\n"), ("e", "three\n")]),
    },
    Case {
        name: "one file updated in two sections",
        before: &[("a", "1\n2\n3\n")],
        patch: "*** Begin Patch\n*** Update File: a\n-3\n+three\n*** Update File: ./a\n-1\n+one\n*** End Patch",
        expected: After(&[("a", "one\n2\nthree\n")]),
    },
    Case {
        name: "all lines are removed",
        before: &[("a", "1\n2\n")],
        patch: "*** Begin Patch\n*** Update File: a\n-1\n-2\n*** End Patch",
        expected: After(&[("a", "")]),
    },
    Case {
        name: "an empty file is filled",
        before: &[("a", "")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n+1\n+2\n*** End Patch",
        expected: After(&[("a", "1\n2\n")]),
    },
    Case {
        name: "names with spaces and other scripts",
        before: &[("ein ordner/straße 漢.txt", "1\n")],
        patch: "*** Begin Patch\n*** Update File: ein ordner/straße 漢.txt\n-1\n+2\n*** End Patch",
        expected: After(&[("ein ordner/straße 漢.txt", "2\n")]),
    },
];

#[tokio::test]
async fn hunks_and_their_order() {
    check(HUNKS_AND_THEIR_ORDER).await;
}

const HUNKS_AND_THEIR_ORDER: &[Case] = &[
    Case {
        name: "several hunks",
        before: &[("a", "1\n2\n3\n4\n5\n6\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n 1\n-2\n@@\n 4\n-5\n+five\n+more\n*** End Patch",
        expected: After(&[("a", "1\n3\n4\nfive\nmore\n6\n")]),
    },
    Case {
        name: "the first of several places, and it is said",
        before: &[("a", "x\n1\nx\n2\nx\n3\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch",
        expected: AfterSaying(
            &[("a", "y\n1\nx\n2\nx\n3\n")],
            &["Hunk 1 of a matches in more than one place; it was applied at line 1"],
        ),
    },
    Case {
        name: "the first place after the last hunk",
        before: &[("a", "x\n1\nx\n2\nx\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n-1\n+one\n@@\n-x\n+y\n@@\n-x\n+z\n*** End Patch",
        expected: AfterSaying(&[("a", "x\none\ny\n2\nz\n")], &["Hunk 2 of a matches", "applied at line 3"]),
    },
    Case {
        name: "equal hunks one after the other",
        before: &[("a", "x\nx\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n+1\n x\n@@\n+2\n x\n*** End Patch",
        expected: AfterSaying(&[("a", "1\nx\n2\nx\n")], &["more than one place"]),
    },
    Case {
        name: "hunks that share their context",
        before: &[("a", "1\n2\n3\n4\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n-1\n+one\n 2\n 3\n@@\n 2\n 3\n-4\n+four\n*** End Patch",
        expected: After(&[("a", "one\n2\n3\nfour\n")]),
    },
    Case {
        name: "only added lines go to the end",
        before: &[("a", "1\n2\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n+3\n@@\n-1\n+one\n*** End Patch",
        expected: After(&[("a", "one\n2\n3\n")]),
    },
    Case {
        name: "an addition before and after",
        before: &[("a", "1\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n+0\n 1\n+2\n*** End Patch",
        expected: After(&[("a", "0\n1\n2\n")]),
    },
    Case {
        name: "numbers in an envelope are a hint",
        before: &[("a", "x\n1\nx\n2\nx\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@ -3,1 +3,1 @@\n-x\n+y\n*** End Patch",
        expected: After(&[("a", "x\n1\ny\n2\nx\n")]),
    },
    Case {
        name: "file names under the section's line",
        before: &[("a", "1\n2\n")],
        patch: "*** Begin Patch\n*** Update File: a\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n*** End Patch",
        expected: After(&[("a", "1\ntwo\n")]),
    },
    Case {
        name: "blank lines between hunks are no context",
        before: &[("a", "1\n2\n3\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n-1\n+one\n\n\n@@\n-3\n+three\n\n*** End Patch",
        expected: After(&[("a", "one\n2\nthree\n")]),
    },
    Case {
        name: "a blank line of the file without its space",
        before: &[("a", "1\n\n2\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n 1\n\n-2\n+two\n*** End Patch",
        expected: After(&[("a", "1\n\ntwo\n")]),
    },
    Case {
        name: "lines that look like marks",
        before: &[("a", "-- x\n++ y\n*** Update File: b\n@@ z\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n--- x\n+++ v\n ++ y\n-*** Update File: b\n+*** End Patch\n @@ z\n*** End Patch",
        expected: After(&[("a", "++ v\n++ y\n*** End Patch\n@@ z\n")]),
    },
];

#[tokio::test]
async fn headers_and_anchors() {
    check(HEADERS_AND_ANCHORS).await;
}

const HEADERS_AND_ANCHORS: &[Case] = &[
    Case {
        name: "a header narrows",
        before: &[("a", CLASSES)],
        patch: "*** Begin Patch\n*** Update File: a\n@@ class B:\n-        return 1\n+        return 2\n*** End Patch",
        expected: After(&[(
            "a",
            "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 1\n\nclass B:\n    def f(self):\n        return 2\n",
        )]),
    },
    Case {
        name: "headers nest",
        before: &[("a", CLASSES)],
        patch: "*** Begin Patch\n*** Update File: a\n@@ class A:\n@@     def g(self):\n-        return 1\n+        return 2\n*** End Patch",
        expected: After(&[(
            "a",
            "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n\nclass B:\n    def f(self):\n        return 1\n",
        )]),
    },
    Case {
        name: "a header that is cut short, and closed",
        before: &[("a", CLASSES)],
        patch: "*** Begin Patch\n*** Update File: a\n@@ def g @@\n-        return 1\n+        return 2\n*** End Patch",
        expected: After(&[(
            "a",
            "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n\nclass B:\n    def f(self):\n        return 1\n",
        )]),
    },
    Case {
        name: "a header that is repeated as context",
        before: &[("a", "x\nfn f() {\n  1\n}\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@ fn f() {\n fn f() {\n-  1\n+  2\n*** End Patch",
        expected: After(&[("a", "x\nfn f() {\n  2\n}\n")]),
    },
    Case {
        name: "two hunks under one header",
        before: &[("a", "fn f() {\n  1\n  2\n  3\n}\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@ fn f() {\n-  1\n+  one\n@@ fn f() {\n-  3\n+  three\n*** End Patch",
        expected: After(&[("a", "fn f() {\n  one\n  2\n  three\n}\n")]),
    },
    Case {
        name: "added lines go below the header",
        before: &[("a", "fn f() {\n}\nfn g() {\n}\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@ fn f() {\n+  1\n*** End Patch",
        expected: After(&[("a", "fn f() {\n  1\n}\nfn g() {\n}\n")]),
    },
    Case {
        name: "the end of the file",
        before: &[("a", "x\n1\nx\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End of File\n*** End Patch",
        expected: After(&[("a", "x\n1\ny\n")]),
    },
    Case {
        name: "the end of the file before blank lines",
        before: &[("a", "x\n1\nx\n\n\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End of File\n*** End Patch",
        expected: After(&[("a", "x\n1\ny\n\n\n")]),
    },
    Case {
        name: "a hunk after the end of the file",
        before: &[("a", "1\n2\n"), ("b", "1\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@\n 2\n+3\n*** End of File\n*** Update File: b\n-1\n+one\n*** End Patch",
        expected: After(&[("a", "1\n2\n3\n"), ("b", "one\n")]),
    },
];

#[tokio::test]
async fn lines_that_are_spelled_differently() {
    check(LINES_THAT_ARE_SPELLED_DIFFERENTLY).await;
}

const LINES_THAT_ARE_SPELLED_DIFFERENTLY: &[Case] = &[
    Case {
        name: "trailing space in the file stays in what is kept",
        before: &[("a", "1  \n2\t\n3 \n")],
        patch: "*** Begin Patch\n*** Update File: a\n 1\n-2\n+two\n 3\n*** End Patch",
        expected: After(&[("a", "1  \ntwo\n3 \n")]),
    },
    Case {
        name: "indentation drifts, and what is kept keeps its own",
        before: &[("a", "\tif x:\n\t\ty()\n\t\tz()\n")],
        patch: "*** Begin Patch\n*** Update File: a\n     if x:\n-        y()\n+\t\tw()\n         z()\n*** End Patch",
        expected: After(&[("a", "\tif x:\n\t\tw()\n\t\tz()\n")]),
    },
    Case {
        name: "an exact place comes before a similar one",
        before: &[("a", " x\n1\nx\n")],
        patch: "*** Begin Patch\n*** Update File: a\n-x\n+y\n*** End Patch",
        expected: After(&[("a", " x\n1\ny\n")]),
    },
    Case {
        name: "quotes, dashes and spaces of a typesetter",
        before: &[("a", "\u{201c}Don\u{2019}t\u{201d}\u{a0}\u{2013} he said\nx\n")],
        patch: "*** Begin Patch\n*** Update File: a\n \"Don't\" - he said\n-x\n+y\n*** End Patch",
        expected: After(&[("a", "\u{201c}Don\u{2019}t\u{201d}\u{a0}\u{2013} he said\ny\n")]),
    },
    Case {
        name: "a header with other space",
        before: &[("a", "fn f()  \n{\n  1\n}\n")],
        patch: "*** Begin Patch\n*** Update File: a\n@@ fn f()\n {\n-  1\n+  2\n*** End Patch",
        expected: After(&[("a", "fn f()  \n{\n  2\n}\n")]),
    },
];
