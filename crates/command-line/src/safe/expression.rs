//! Programs whose words are a small language: `find`, `test`, `[[` and `sed`.

use super::options::{Options, operands};
use crate::{Word, list};

/// Tests and actions of `find` that take no value and only read or print.
const FIND_ALONE: &str = "\
    -H -L -P -a -and -o -or -not -true -false -empty -readable -writable -executable -prune -print \
    -print0 -ls -quit -depth -d -mount -xdev -follow -daystart -nouser -nogroup -noleaf \
    -ignore_readdir_race -warn -nowarn";
/// The ones that take one value.
const FIND_VALUED: &str = "\
    -name -iname -path -ipath -wholename -iwholename -lname -ilname -regex -iregex -regextype -type \
    -xtype -size -mtime -mmin -atime -amin -ctime -cmin -newer -anewer -cnewer -newermt -maxdepth \
    -mindepth -perm -user -group -uid -gid -links -inum -samefile -fstype -used -printf -context";

pub(super) fn find_is_safe(words: &[Word]) -> bool {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(text) = word.literal() else {
            let Word::Unknown { prefix, .. } = word else { return false };
            if word.could_be_option() || prefix.starts_with(['(', ')', '!', ',']) {
                return false;
            }
            continue;
        };
        if list::has(FIND_VALUED, text) {
            if words.next().is_none_or(|value| value.literal().is_none()) {
                return false;
            }
        } else if text.starts_with('-') && !list::has(FIND_ALONE, text) {
            return false;
        }
    }
    true
}

/// `-v` evaluates the name that it is given. A word that is not known could be it.
pub(super) fn test_is_safe(words: &[Word]) -> bool {
    words.iter().all(|word| match word.literal() {
        Some(text) => !matches!(text, "-v" | "-R"),
        None => !word.could_be_option(),
    })
}

/// Operators that compare numbers evaluate their words. Those that another shell would read as redirects or
/// as the end of the command are left out too, because the line may end up with one.
pub(super) fn double_test_is_safe(words: &[Word]) -> bool {
    const DOUBTFUL: &[&str] =
        &["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R", "&&", "||", "<", ">", "(", ")", "=~"];
    words.iter().all(|word| word.literal().is_none_or(|text| !DOUBTFUL.contains(&text)))
}

const SED: Options = Options::letters("nErsuz", "").long("quiet silent regexp-extended separate");

/// Only `sed -n` with a script that prints lines: other commands of `sed` write files and start programs.
pub(super) fn sed_is_safe(words: &[Word]) -> bool {
    let quiet = words
        .iter()
        .any(|word| matches!(word.literal(), Some("-n" | "--quiet" | "--silent" | "-nE" | "-En" | "-nr")));
    let Some(operands) = operands(words, &SED) else { return false };
    let Some(script) = operands.first().and_then(|word| word.literal()) else { return false };
    quiet && script.split(';').all(prints_lines)
}

/// `5p`, `$p`, `5,10p`, `/pattern/p`, `/from/,/to/p`
fn prints_lines(command: &str) -> bool {
    let Some(address) = command.trim().strip_suffix('p') else { return false };
    let Some(rest) = after_address(address) else { return false };
    match rest.strip_prefix(',') {
        Some(second) => after_address(second.strip_prefix('+').unwrap_or(second)) == Some(""),
        None => rest.is_empty(),
    }
}

fn after_address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(pattern) = text.strip_prefix('/') {
        let (pattern, rest) = pattern.split_once('/')?;
        return (!pattern.contains(['\\', '\n', '['])).then_some(rest);
    }
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    (rest.len() < text.len()).then_some(rest)
}
