//! Changes of files as an editor shows them: the lines before and after, read back from a unified diff.

use std::path::Path;

use agent_client_protocol::v1::schema::Diff;

/// The change of a file, hunk by hunk: of each the lines around it and what was there before and after. A
/// file that is new has nothing before.
pub fn to_diffs(path: &Path, is_new: bool, unified: &str) -> Vec<Diff> {
    let (mut hunks, mut in_hunk) = (Vec::<(String, String)>::new(), false);
    for line in unified.split_inclusive('\n') {
        if line.starts_with("@@") {
            in_hunk = true;
            hunks.push((String::new(), String::new()));
            continue;
        }
        let Some((before, after)) = hunks.last_mut().filter(|_| in_hunk) else { continue };
        // The first character says what the line is; no other than these begins one.
        match (line.as_bytes().first(), line.get(1..)) {
            (Some(b' '), Some(text)) => {
                before.push_str(text);
                after.push_str(text);
            }
            (Some(b'-'), Some(text)) => before.push_str(text),
            (Some(b'+'), Some(text)) => after.push_str(text),
            (Some(b'\\'), _) => {}
            _ => in_hunk = false,
        }
    }
    let diff = |(before, after): (String, String)| {
        Diff::new(path, after).old_text((!is_new || !before.is_empty()).then_some(before))
    };
    hunks.into_iter().map(diff).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::to_diffs;

    #[test]
    fn a_hunk_becomes_what_was_and_what_is() {
        let unified = "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -9 +9,2 @@\n--- old\n+++ new\n+more\n\\ No newline at end of file\n";
        let diffs = to_diffs(Path::new("/w/x"), false, unified);
        let found: Vec<_> =
            diffs.iter().map(|diff| (diff.old_text.as_deref(), diff.new_text.as_str())).collect();
        assert_eq!(
            found,
            [(Some("one\ntwo\nthree\n"), "one\n2\nthree\n"), (Some("-- old\n"), "++ new\nmore\n")]
        );
    }

    #[test]
    fn a_new_file_has_nothing_before() {
        let diffs = to_diffs(Path::new("/w/x"), true, "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+hello\n");
        assert_eq!((diffs[0].old_text.as_deref(), diffs[0].new_text.as_str()), (None, "hello\n"));
    }
}
