//! Reads the answer of `git status --porcelain=v2 -z`. What it does not know it passes over.

/// How a repository stands.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PorcelainStatus {
    /// None where HEAD is at no branch.
    pub(super) branch: Option<String>,
    /// None before the first commit.
    pub(super) commit: Option<String>,
    pub(super) upstream: Option<String>,
    pub(super) ahead: Option<u64>,
    pub(super) behind: Option<u64>,
    pub(super) stashes: u64,
    pub(super) staged: Vec<PorcelainChange>,
    pub(super) unstaged: Vec<PorcelainChange>,
    pub(super) untracked: Vec<PorcelainChange>,
    pub(super) conflicted: Vec<PorcelainChange>,
}

/// One path that is not as it was.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PorcelainChange {
    pub(super) change_kind: &'static str,
    pub(super) path: String,
    /// What it was called, where it was renamed or copied.
    pub(super) from: Option<String>,
}

impl PorcelainStatus {
    pub(super) fn parse(bytes: &[u8]) -> PorcelainStatus {
        let text = String::from_utf8_lossy(bytes);
        let mut status = PorcelainStatus::default();
        let mut lines = text.split_terminator('\0');
        while let Some(line) = lines.next() {
            let Some((kind, rest)) = line.split_once(' ') else {
                continue;
            };
            match kind {
                "#" => status.header(rest),
                "1" => status.change(rest, 7, None),
                // The next line is what a renamed path was called.
                "2" => status.change(rest, 8, lines.next()),
                "u" => {
                    let path = rest.splitn(10, ' ').nth(9);
                    status.conflicted.extend(path.map(|path| PorcelainChange::new("conflict", path, None)));
                }
                "?" => status.untracked.push(PorcelainChange::new("new", rest, None)),
                _ => {}
            }
        }
        status
    }

    fn header(&mut self, header: &str) {
        let Some((name, value)) = header.split_once(' ') else {
            return;
        };
        match name {
            "branch.oid" if value != "(initial)" => self.commit = Some(value.to_owned()),
            "branch.head" if value != "(detached)" => self.branch = Some(value.to_owned()),
            "branch.upstream" => self.upstream = Some(value.to_owned()),
            "branch.ab" => {
                let mut counts =
                    value.split(' ').map(|count| count.trim_start_matches(['+', '-']).parse().ok());
                (self.ahead, self.behind) = (counts.next().flatten(), counts.next().flatten());
            }
            "stash" => self.stashes = value.parse().unwrap_or(0),
            _ => {}
        }
    }

    /// Takes a changed path, which comes after `fields` other fields.
    fn change(&mut self, rest: &str, fields: usize, from: Option<&str>) {
        let mut letters = rest.chars();
        let (staged, unstaged) = (letters.next().unwrap_or('.'), letters.next().unwrap_or('.'));
        let Some(path) = rest.splitn(fields + 1, ' ').nth(fields) else {
            return;
        };
        if let Some(what) = what(staged) {
            self.staged.push(PorcelainChange::new(what, path, from));
        }
        if let Some(what) = what(unstaged) {
            self.unstaged.push(PorcelainChange::new(what, path, None));
        }
    }
}

impl PorcelainChange {
    fn new(what: &'static str, path: &str, from: Option<&str>) -> PorcelainChange {
        PorcelainChange { change_kind: what, path: path.to_owned(), from: from.map(str::to_owned) }
    }
}

fn what(letter: char) -> Option<&'static str> {
    Some(match letter {
        '.' => return None,
        'M' => "modified",
        'T' => "type changed",
        'A' => "added",
        'D' => "deleted",
        'R' => "renamed",
        'C' => "copied",
        _ => "changed",
    })
}

#[cfg(test)]
mod tests {
    use super::{PorcelainChange, PorcelainStatus};

    #[test]
    fn every_kind_of_line_is_read() {
        let status = PorcelainStatus::parse(
            b"# branch.oid 1234\0# branch.head main\0# branch.upstream origin/main\0# branch.ab +2 -3\0# stash 4\0\
              1 MD N... 100644 100644 000000 aa bb a file\0\
              2 R. N... 100644 100644 100644 aa bb R100 new name\0old name\0\
              u UU N... 100644 100644 100644 100644 aa bb cc both sides\0? not tracked/\0! ignored\0odd\0",
        );
        let expected = PorcelainStatus {
            branch: Some("main".to_owned()),
            commit: Some("1234".to_owned()),
            upstream: Some("origin/main".to_owned()),
            ahead: Some(2),
            behind: Some(3),
            stashes: 4,
            staged: vec![
                PorcelainChange::new("modified", "a file", None),
                PorcelainChange::new("renamed", "new name", Some("old name")),
            ],
            unstaged: vec![PorcelainChange::new("deleted", "a file", None)],
            untracked: vec![PorcelainChange::new("new", "not tracked/", None)],
            conflicted: vec![PorcelainChange::new("conflict", "both sides", None)],
        };
        assert_eq!(status, expected);
    }

    #[test]
    fn a_new_or_detached_head_has_no_commit_or_no_branch() {
        let new = PorcelainStatus::parse(b"# branch.oid (initial)\0# branch.head main\0");
        assert_eq!((new.branch.as_deref(), new.commit), (Some("main"), None));
        let detached = PorcelainStatus::parse(b"# branch.oid 12\0# branch.head (detached)\0");
        assert_eq!((detached.branch, detached.commit.as_deref()), (None, Some("12")));
        assert_eq!(PorcelainStatus::parse(b"1\x002 \0u x\0\xff\0# x\x001 MM\0"), PorcelainStatus::default());
    }
}
