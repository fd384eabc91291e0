//! Patches that do not fit, or that name what may not be changed. Nothing changes, whatever came before
//! in the same patch.

use super::{Files, Refusals, check_refused};

const FILE: Files = &[("a", "fn f() {\n    one();\n    two();\n}\nfn g() {\n    one();\n    three();\n}\n")];

#[tokio::test]
async fn a_hunk_that_does_not_fit_says_where_it_came_nearest() {
    check_refused(FILE, A_HUNK_THAT_DOES_NOT_FIT_SAYS_WHERE_IT_CAME_NEAREST).await;
}

const A_HUNK_THAT_DOES_NOT_FIT_SAYS_WHERE_IT_CAME_NEAREST: Refusals = &[
    (
        "wrong context",
        "*** Update File: a\n@@\n fn g() {\n     one();\n-    two();\n+    2\n }\n",
        &[
            "`a`, hunk 1 of 1 (line 2 of the patch): its lines were not found in the file.",
            "closest match is at line 5, where 3 of 4 lines match; first difference at line 7: expected `    two();`, found `    three();`",
            "Nothing was changed. Read the file again",
        ],
    ),
    (
        "wrong second hunk",
        "*** Update File: a\n@@\n-    two();\n+    2\n@@\n fn g() {\n-    four();\n+    4\n",
        &[
            "hunk 2 of 2 (line 5 of the patch)",
            "not found after line 3",
            "line 6: expected `    four();`, found `    one();`",
        ],
    ),
    (
        "wrong order",
        "*** Update File: a\n@@\n-    three();\n+    3\n@@\n-    two();\n+    2\n",
        &[
            "hunk 2 of 2",
            "not found after line 7. They are at line 3, but hunks must be in the order of the file",
        ],
    ),
    (
        "overlap",
        "*** Update File: a\n@@\n-    one();\n-    two();\n+    1\n@@\n-    two();\n+    2\n",
        &[
            "hunk 2 of 2",
            "They are at line 3, but hunks must be in the order of the file and must not overlap",
        ],
    ),
    (
        "not the end",
        "*** Update File: a\n@@\n-    three();\n+    3\n*** End of File\n",
        &["not found at the end of the file. They are at line 7, but there they are not at the end"],
    ),
    (
        "beyond the end",
        "*** Update File: a\n@@\n     three();\n }\n-more\n",
        &["2 of 3 lines match", "expected `more`, found the end of the file"],
    ),
    (
        "wrong header",
        "*** Update File: a\n@@ fn h() {\n-    one();\n+    1\n",
        &["its header `fn h() {` was not found after line 0", "Nothing was changed"],
    ),
    (
        "right header, other function",
        "*** Update File: a\n@@ fn g() {\n-    two();\n+    2\n",
        &["not found after line 5. They are at line 3"],
    ),
    (
        "applied before",
        "*** Update File: a\n@@\n     one();\n-    2\n+    two();\n }\n",
        &["Its result is already at line 2: it may have been applied before"],
    ),
    ("nothing alike", "*** Update File: a\n@@\n-zzz\n+y\n", &["No line in the file is similar"]),
    (
        "a hidden character is shown",
        "*** Update File: a\n@@\n     one();\n-    two()\u{200b};\n+    2\n",
        &["expected `    two()\\u{200b};`, found `    two();`"],
    ),
    ("no change", "*** Update File: a\n@@\n fn g() {\n", &["the patch changes nothing in it"]),
    (
        "the same again",
        "*** Update File: a\n@@\n-fn g() {\n+fn g() {\n",
        &["the patch changes nothing in it"],
    ),
    (
        "the second file fails",
        "*** Add File: b/c\n+x\n*** Update File: a\n-zzz\n+y\n",
        &["`a`, hunk 1 of 1", "Nothing was changed"],
    ),
];

#[tokio::test]
async fn files_that_may_not_be_changed() {
    check_refused(FILES_BEFORE, FILES_THAT_MAY_NOT_BE_CHANGED).await;
}

const FILES_BEFORE: Files = &[("a", "1\n"), ("b", "1\n"), ("d/x", "1\n"), (".git/config", "1\n")];

const FILES_THAT_MAY_NOT_BE_CHANGED: Refusals = &[
    ("missing", "*** Update File: none\n-1\n+2\n", &["`none` does not exist", "Nothing was changed"]),
    ("missing folder", "*** Update File: none/x\n-1\n+2\n", &["`none/x` does not exist"]),
    ("missing, deleted", "*** Delete File: none\n", &["`none` does not exist"]),
    ("add over a file", "*** Add File: a\n+2\n", &["`a` cannot be patched: it already exists", "write_file"]),
    ("add over a folder", "*** Add File: d\n+2\n", &["`d` is a directory"]),
    ("add under a file", "*** Add File: a/x\n+2\n", &["part of the path is not a directory"]),
    ("delete a folder", "*** Delete File: d\n", &["`d` is a directory"]),
    ("update a folder", "*** Update File: d\n-1\n+2\n", &["`d` is a directory"]),
    (
        "move onto a file",
        "*** Update File: a\n*** Move to: b\n-1\n+2\n",
        &["`b` cannot be patched: it already exists"],
    ),
    (
        "move onto itself",
        "*** Update File: a\n*** Move to: ./a\n-1\n+2\n",
        &["`./a` cannot be patched", "twice"],
    ),
    ("move onto a folder", "*** Update File: a\n*** Move to: d\n-1\n+2\n", &["`d` is a directory"]),
    (
        "add twice",
        "*** Add File: n\n+1\n*** Add File: d/../n\n+2\n",
        &["`d/../n` cannot be patched", "names it twice"],
    ),
    ("add twice in a new folder", "*** Add File: n/n\n+1\n*** Add File: ./n/n\n+2\n", &["names it twice"]),
    ("update and delete", "*** Update File: a\n-1\n+2\n*** Delete File: a\n", &["`a`", "names it twice"]),
    ("delete and add", "*** Delete File: a\n*** Add File: a\n+2\n", &["names it twice"]),
    (
        "moved and updated",
        "*** Update File: a\n*** Move to: n\n*** Update File: a\n-1\n+2\n",
        &["names it twice"],
    ),
    ("moved and added", "*** Update File: a\n*** Move to: n\n*** Add File: n\n+2\n", &["names it twice"]),
    ("a file and a folder", "*** Add File: n\n+1\n*** Add File: n/n\n+2\n", &["Nothing was changed"]),
    ("git", "*** Update File: .git/config\n-1\n+2\n", &["inside `.git`"]),
    ("git, added", "*** Add File: .git/hooks/x\n+2\n", &["inside `.git`"]),
    ("git, moved to", "*** Update File: a\n*** Move to: .git/x\n-1\n+2\n", &["inside `.git`"]),
    ("git, deleted", "*** Delete File: .git/config\n", &["inside `.git`"]),
    ("outside", "*** Update File: ../outside/secret.txt\n-top secret\n+x\n", &["is outside the workspace"]),
    ("outside, added", "*** Add File: ../outside/new\n+x\n", &["is outside the workspace"]),
    ("outside, deep", "*** Add File: d/../../outside/new/new\n+x\n", &["is outside the workspace"]),
    ("outside, deleted", "*** Delete File: ../outside/secret.txt\n", &["is outside the workspace"]),
    (
        "outside, moved to",
        "*** Update File: a\n*** Move to: ../outside/a\n-1\n+2\n",
        &["is outside the workspace"],
    ),
    (
        "outside, moved from",
        "*** Update File: ../outside/secret.txt\n*** Move to: n\n",
        &["is outside the workspace"],
    ),
    ("absolute", "*** Add File: /tmp/ostler-new\n+x\n", &["is outside the workspace"]),
    (
        "absolute, unified",
        "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-1\n+2\n",
        &["is outside the workspace"],
    ),
    (
        "climbing, unified",
        "--- a/../../x\n+++ b/../../x\n@@ -1 +1 @@\n-1\n+2\n",
        &["is outside the workspace"],
    ),
    ("climbing through nothing", "*** Add File: none/../../x\n+2\n", &["does not exist"]),
    ("no name", "*** Add File: d/..\n+2\n", &["does not name a file"]),
];
