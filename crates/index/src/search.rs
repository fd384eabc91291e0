//! Full-text search: from what people type to which sessions have it, and where.
//!
//! Results are listed by activity, not by rank, so a search first learns every session that has a
//! match. That takes a walk through the match's rowids, which needs no text and no row to be read; the
//! order and the other filters are `list`'s.

use ostler_types::Role;
use rusqlite::Connection;

use crate::IndexError;
use crate::list::MatchedMessage;
use crate::schema::SEQ_BITS;

/// Bytes of a search that are looked at. More is a text that was pasted by mistake.
const QUERY_BYTES: usize = 1000;
/// Words of a search that are looked at.
const MAX_WORDS: usize = 32;
/// Up to so many sessions it is quicker to look at each than to walk all in order.
const SMALL_RESULT: usize = 2000;
/// Characters in a snippet, at most. One word may be as long as a whole text.
const SNIPPET_CHARS: usize = 240;

/// What people typed, in FTS5's language; `None` when it has no word. Each word is quoted, so that nothing
/// in it has a meaning there, and the quote itself never gets in: it separates phrases.
pub(crate) fn expression(q: &str) -> Option<String> {
    // FTS5 reads the expression as a C string.
    let q = q[..q.floor_char_boundary(QUERY_BYTES)].replace('\0', " ");
    let mut rest = q.trim();
    let mut words = Vec::new();
    let mut unfinished = false;
    while !rest.is_empty() && words.len() < MAX_WORDS {
        let (word, after) = match rest.strip_prefix('"') {
            Some(phrase) => {
                unfinished = !phrase.contains('"');
                phrase.split_once('"').unwrap_or((phrase, ""))
            }
            None => {
                unfinished = true;
                rest.split_at(rest.find(|c: char| c == '"' || c.is_whitespace()).unwrap_or(rest.len()))
            }
        };
        if !word.trim().is_empty() {
            words.push(format!("\"{word}\""));
        }
        rest = after.trim_start();
    }
    // Nearly every text has a word that begins with a given letter. In scripts that do not part their words, one
    // character says much more.
    let letter = words.last().is_some_and(|word| word.len() == "\"a\"".len());
    let star = if unfinished && !letter { " *" } else { "" };
    (!words.is_empty()).then(|| words.join(" ") + star)
}

/// The sessions that have a match, each with the rowid of its newest one, ordered by number.
pub(crate) struct SearchMatches(Vec<(i64, i64)>);

impl SearchMatches {
    pub(crate) fn is_small(&self) -> bool {
        self.0.len() <= SMALL_RESULT
    }

    pub(crate) fn sessions(&self) -> impl Iterator<Item = i64> {
        self.0.iter().map(|(num, _)| *num)
    }

    /// The newest match in a session, if it has one.
    pub(crate) fn newest_match(&self, num: i64) -> Option<i64> {
        let at = self.0.binary_search_by_key(&num, |(num, _)| *num).ok()?;
        Some(self.0[at].1)
    }
}

/// Every session that has a match.
pub(crate) fn find(connection: &Connection, expression: &str) -> Result<SearchMatches, IndexError> {
    let mut statement =
        connection.prepare_cached("SELECT rowid FROM texts WHERE texts MATCH ?1 ORDER BY rowid")?;
    let mut rows = statement.query([expression])?;
    let mut found: Vec<(i64, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let rowid: i64 = row.get(0)?;
        let num = rowid >> SEQ_BITS;
        match found.last_mut() {
            Some((last, newest)) if *last == num => *newest = rowid,
            Some(_) | None => found.push((num, rowid)),
        }
    }
    Ok(SearchMatches(found))
}

/// A match with the text around it.
pub(crate) struct SearchSnippet {
    pub(crate) text: String,
    pub(crate) source: Option<MatchedMessage>,
}

/// The newest match of each of these sessions, as (place in `nums`, snippet).
pub(crate) fn snippets(
    connection: &Connection,
    expression: &str,
    found: &SearchMatches,
    nums: &[i64],
) -> Result<Vec<(usize, SearchSnippet)>, IndexError> {
    // The plus keeps FTS5 from looking up each rowid for itself, which would search anew for each.
    let sql = "SELECT rowid, snippet(texts, 0, '', '', '…', 16), message_id, role FROM texts
               WHERE texts MATCH ?1 AND +rowid IN (SELECT value FROM json_each(?2))";
    let wanted: Vec<i64> = nums.iter().filter_map(|num| found.newest_match(*num)).collect();
    let wanted = serde_json::Value::from(wanted).to_string();
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([expression, &wanted])?;
    let mut snippets = Vec::with_capacity(nums.len());
    while let Some(row) = rows.next()? {
        let rowid: i64 = row.get(0)?;
        let Some(at) = nums.iter().position(|num| *num == rowid >> SEQ_BITS) else { continue };
        let text = one_line(&row.get::<_, String>(1)?);
        let message: Option<(String, String)> = row.get::<_, Option<String>>(2)?.zip(row.get(3)?);
        let source = message.map(|(id, role)| source(rowid, &id, &role)).transpose()?;
        snippets.push((at, SearchSnippet { text, source }));
    }
    Ok(snippets)
}

fn source(rowid: i64, message_id: &str, role: &str) -> Result<MatchedMessage, IndexError> {
    let damaged = || IndexError::Damaged(format!("text {rowid} is of message {message_id} and role {role}"));
    let roles = [Role::System, Role::User, Role::Assistant, Role::Tool];
    Ok(MatchedMessage {
        seq: (rowid & ((1 << SEQ_BITS) - 1)).cast_unsigned(),
        message_id: message_id.parse().map_err(|_| damaged())?,
        role: roles.into_iter().find(|known| known.as_str() == role).ok_or_else(damaged)?,
    })
}

fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SNIPPET_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::expression;

    #[test]
    fn what_people_type_is_only_words_and_phrases() {
        let cases = [
            ("", None),
            (" \t\n", None),
            ("\"", None),
            ("\"\" \" \"", None),
            ("\0", None),
            ("horse", Some(r#""horse" *"#)),
            (" red  horse ", Some(r#""red" "horse" *"#)),
            (r#""red horse""#, Some(r#""red horse""#)),
            (r#""red horse" ba"#, Some(r#""red horse" "ba" *"#)),
            (r#"ba "red ho"#, Some(r#""ba" "red ho" *"#)),
            (r#"a"b"c"#, Some(r#""a" "b" "c""#)),
            (r#"a"b"cd"#, Some(r#""a" "b" "cd" *"#)),
            ("a 馬", Some(r#""a" "馬" *"#)),
            ("a OR b*", Some(r#""a" "OR" "b*" *"#)),
            ("NEAR(a, -b) ^c:", Some(r#""NEAR(a," "-b)" "^c:" *"#)),
            ("a\0b", Some(r#""a" "b""#)),
        ];
        for (q, wanted) in cases {
            assert_eq!(expression(q).as_deref(), wanted, "{q:?}");
        }
        assert_eq!(expression(&"a ".repeat(10_000)).unwrap().matches("\"a\"").count(), super::MAX_WORDS);
        assert!(expression(&"ä".repeat(10_000)).unwrap().len() <= super::QUERY_BYTES + 10);
    }
}
