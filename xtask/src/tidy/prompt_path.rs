//! The path of a prompt in `ARCHITECTURE.md`: each function that it names is in the file that it names.

use super::TidyFinding;
use super::tree::RepositoryTree;
use crate::rust_text;

const DOCUMENT: &str = "ARCHITECTURE.md";
const HEADING: &str = "## The path of a prompt";
const STEPS: usize = 10;

/// Every step names a function and its file.
pub(super) fn functions_are_where_it_says(tree: &RepositoryTree) -> Vec<TidyFinding> {
    let document = tree.file(DOCUMENT).map_or("", |file| file.text.as_str());
    let section = document.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    let section: Vec<(usize, &str)> = section.take_while(|(_, line)| !line.starts_with("## ")).collect();
    let finding = |at: usize, text: String| TidyFinding::new(DOCUMENT, at + 1, text);
    let mut findings = Vec::new();
    let steps: Vec<usize> = (0..section.len()).filter(|at| is_step(section[*at].1)).collect();
    for (step, begin) in steps.iter().enumerate() {
        let end = steps.get(step + 1).copied().unwrap_or(section.len());
        let text: Vec<&str> = section[*begin..end].iter().map(|(_, line)| *line).collect();
        let text = text.join(" ");
        let quoted: Vec<&str> = text.split('`').skip(1).step_by(2).collect();
        let named: Vec<&[&str]> = quoted.windows(2).filter(|pair| pair[1].starts_with("crates/")).collect();
        if named.is_empty() {
            findings.push(finding(
                section[*begin].0,
                "a step names a function and, in brackets, its file".to_owned(),
            ));
        }
        for pair in named {
            let function = pair[0].rsplit("::").next().unwrap_or_default();
            let code = tree.file(pair[1]).map(|file| rust_text::scan(&file.text).code).unwrap_or_default();
            if !rust_text::functions(&code).iter().any(|known| known.name == function) {
                findings.push(finding(section[*begin].0, format!("`{}` is not in `{}`", pair[0], pair[1])));
            }
        }
    }
    if !document.is_empty() && steps.len() != STEPS {
        findings.push(finding(0, format!("the path of a prompt has {} steps, not {STEPS}", steps.len())));
    }
    findings
}

/// Whether a line begins a step: a number and a dot.
fn is_step(line: &str) -> bool {
    line.split_once(". ").is_some_and(|(number, _)| number.parse::<usize>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::functions_are_where_it_says;
    use crate::tidy::tree::RepositoryTree;

    fn found(step: &str) -> Vec<String> {
        let steps: String = (1..=10).map(|number| format!("{number}. {step}\n")).collect();
        let document = format!("# A\n\n## The path of a prompt\n\n{steps}\n## Code map\n1. `x`\n");
        let tree = RepositoryTree::from_files(&[
            ("ARCHITECTURE.md", &document),
            ("crates/a/src/lib.rs", "impl A { fn there() {} }\n// fn gone() {}\n"),
        ]);
        functions_are_where_it_says(&tree).into_iter().map(|finding| finding.text).collect()
    }

    #[test]
    fn a_function_that_is_not_there_is_found() {
        assert_eq!(found("`A::there` (`crates/a/src/lib.rs`) does it"), Vec::<String>::new());
        assert_eq!(
            found("`A::before` → `A::there`\n   (`crates/a/src/lib.rs`) does `it`"),
            Vec::<String>::new()
        );
        for wrong in [
            "`A::gone` (`crates/a/src/lib.rs`) does it",
            "`A::there` (`crates/a/src/moved.rs`) does it",
            "`A::there` does it",
        ] {
            assert_eq!(found(wrong).len(), 10, "{wrong}");
        }
    }

    #[test]
    fn a_path_of_other_length_is_found() {
        let tree = RepositoryTree::from_files(&[("ARCHITECTURE.md", "# A\n")]);
        assert_eq!(functions_are_where_it_says(&tree).len(), 1);
    }
}
