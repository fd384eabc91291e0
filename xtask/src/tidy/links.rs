//! Relative links between the documents. Links to other places need the network and are not followed.

use super::TidyFinding;
use super::tree::{RepositoryFile, RepositoryTree};

/// Every relative link of every Markdown file leads to a file or folder, and its anchor to a heading.
pub(super) fn dead_links(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let mut findings = Vec::new();
    for file in tree.ending(".md") {
        for (line, target) in links(&file.text) {
            if let Some(problem) = link_problem(tree, file, &target) {
                findings.push(TidyFinding::new(
                    &file.path,
                    line,
                    format!("the link to `{target}` is dead: {problem}"),
                ));
            }
        }
    }
    findings
}

fn link_problem(tree: &RepositoryTree, from: &RepositoryFile, target: &str) -> Option<String> {
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let path = if path.is_empty() { from.path.clone() } else { resolve(&from.path, path) };
    let Some(file) = tree.file(&path) else {
        let folder = format!("{path}/");
        let there = path.is_empty() || tree.files.iter().any(|file| file.path.starts_with(&folder));
        return (!there).then(|| format!("there is no `{path}` in the repository"));
    };
    let anchor = anchor.filter(|_| path.ends_with(".md"))?;
    let known = prose_lines(&file.text).any(|(_, line)| line.starts_with('#') && slug(&line) == anchor);
    (!known).then(|| format!("`{path}` has no heading `#{anchor}`"))
}

/// The path that a link means, relative to the repository. A link that climbs out of it leads nowhere.
fn resolve(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if parts.pop().is_none() {
                    return "..".to_owned();
                }
            }
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The targets of `[text](target)` outside code, with their lines; web addresses are left out.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose_lines(text) {
        let spoken: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        for rest in spoken.split("](").skip(1) {
            let target = rest.split([')', ' ']).next().unwrap_or_default().trim_matches(['<', '>']);
            if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                found.push((number, target.to_owned()));
            }
        }
    }
    found
}

/// The lines outside fenced blocks, with their numbers.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(number, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        (!fenced && !fence).then(|| (number + 1, line.to_owned()))
    })
}

/// A heading as its anchor, the way that GitHub makes them.
fn slug(heading: &str) -> String {
    let heading = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::dead_links;
    use crate::tidy::tree::RepositoryTree;

    fn found(link: &str) -> Vec<String> {
        let tree = RepositoryTree::from_files(&[
            ("README.md", "# Top\n## The `a_b` part, two\n"),
            ("docs/a.md", &format!("# A\nsee {link}\n")),
            ("docs/b.md", ""),
        ]);
        dead_links(&tree).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        for link in [
            "[b](b.md)",
            "[b](./b.md \"title\")",
            "[top](../README.md#the-a_b-part-two)",
            "[here](#a)",
            "[docs](../docs)",
            "[root](../)",
            "[web](https://example.com/x.md)",
            "`[code](gone.md)`",
            "\n```\n[fenced](gone.md)\n```\n",
        ] {
            assert_eq!(found(link), Vec::<String>::new(), "{link}");
        }
    }

    #[test]
    fn dead_links_are_found_with_their_line() {
        for link in [
            "[b](gone.md)",
            "[b](b.md) [c](c.md)",
            "[x](../README.md#gone)",
            "[x](#gone)",
            "[out](../../x.md)",
        ] {
            let lines = found(link);
            assert_eq!(lines.len(), 1, "{link}");
            assert!(lines[0].starts_with("docs/a.md:2: the link to"), "{lines:?}");
        }
    }
}
