//! What models put around a patch, and what they leave out.

use super::Expected::After;
use super::{Case, Files, Refusals, check, check_refused};

const BEFORE: Files = &[("a", "1\n2\n")];
const AFTER: Files = &[("a", "one\n2\n")];

#[tokio::test]
async fn wrappers_are_taken_off() {
    for (name, patch) in [
        ("no envelope", "*** Update File: a\n@@\n-1\n+one\n"),
        ("only the end", "*** Update File: a\n@@\n-1\n+one\n*** End Patch\n"),
        (
            "blank lines around",
            "\n\n*** Begin Patch\n\n*** Update File: a\n@@\n-1\n+one\n\n*** End Patch\n\n",
        ),
        ("spaces after marks", "*** Begin Patch  \n*** Update File: a \n@@ \n-1\n+one\n*** End Patch \t\n"),
        ("spaces before the first mark", "  *** Begin Patch\n*** Update File: a\n-1\n+one\n*** End Patch"),
        ("crlf", "*** Begin Patch\r\n*** Update File: a\r\n@@\r\n-1\r\n+one\r\n*** End Patch\r\n"),
        ("here-document", "<<'EOF'\n*** Begin Patch\n*** Update File: a\n-1\n+one\n*** End Patch\nEOF\n"),
        (
            "command",
            "apply_patch <<\"PATCH\"\n*** Begin Patch\n*** Update File: a\n-1\n+one\n*** End Patch\nPATCH",
        ),
        ("bare tag", "<<EOF\n*** Update File: a\n-1\n+one\nEOF"),
        ("fence", "```\n*** Begin Patch\n*** Update File: a\n-1\n+one\n*** End Patch\n```"),
        ("fence with a language", "```diff\n--- a/a\n+++ b/a\n@@ -1 +1 @@\n-1\n+one\n```\n"),
        (
            "fence and here-document",
            "```bash\napply_patch <<'EOF'\n*** Begin Patch\n*** Update File: a\n-1\n+one\n*** End Patch\nEOF\n```",
        ),
        (
            "unified in an envelope",
            "*** Begin Patch\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+one\n 2\n*** End Patch",
        ),
    ] {
        check(&[Case { name, before: BEFORE, patch, expected: After(AFTER) }]).await;
    }
}

#[tokio::test]
async fn what_may_be_only_a_part_is_refused() {
    check_refused(BEFORE, WHAT_MAY_BE_ONLY_A_PART_IS_REFUSED).await;
}

const WHAT_MAY_BE_ONLY_A_PART_IS_REFUSED: Refusals = &[
    ("no end", "*** Begin Patch\n*** Update File: a\n-1\n+one\n", &["no `*** End Patch`"]),
    (
        "two patches",
        "*** Begin Patch\n*** Update File: a\n-1\n+one\n*** End Patch\n*** Begin Patch\n*** Delete File: a\n*** End Patch\n",
        &["at line 6", "nothing after `*** End Patch`"],
    ),
    ("blank", " \n\n", &["The patch is empty"]),
    ("empty envelope", "*** Begin Patch\n*** End Patch", &["The patch is empty", "Nothing was changed"]),
    ("prose", "please change 1 to one", &["at line 1", "`please change 1 to one`", "*** Update File"]),
    (
        "prose before the patch",
        "Here it is:\n*** Begin Patch\n*** Update File: a\n-1\n+one\n*** End Patch",
        &["at line 1", "`Here it is:`"],
    ),
    (
        "unknown section",
        "*** Begin Patch\n*** Rename File: a\n*** End Patch",
        &["at line 2", "`*** Rename File: a`"],
    ),
    ("no path", "*** Begin Patch\n*** Update File:\n-1\n*** End Patch", &["at line 2"]),
    (
        "no sign",
        "*** Begin Patch\n*** Update File: a\n@@\n 1\nx\n*** End Patch",
        &["at line 5", "found `x`", "starting with a space"],
    ),
    (
        "no plus",
        "*** Begin Patch\n*** Add File: b\n+x\ny\n*** End Patch",
        &["at line 4", "starting with `+`"],
    ),
    (
        "no lines",
        "*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch",
        &["hunk at line 3 has no lines"],
    ),
    ("context diff", "*** a/a\n--- b/a\n***************\n*** 1,2 ****\n! 1\n", &["at line 1"]),
];
