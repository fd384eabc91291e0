//! Takes secrets out of text that is written down a second time, such as a summary. It knows secrets by how
//! they look, so it catches the usual ones and no others; see [`redact`] for which.

/// What is put in the place of a secret.
const REDACTED: &str = "[redacted]";
/// How provider keys and access tokens begin, and how long they are at least.
const PREFIXES: &[(&str, usize)] = &[
    ("sk-", 20),
    ("sk_live_", 16),
    ("sk_test_", 16),
    ("rk_live_", 16),
    ("pk_live_", 16),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghu_", 20),
    ("ghs_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("glpat-", 20),
    ("xoxb-", 16),
    ("xoxp-", 16),
    ("xoxa-", 16),
    ("xapp-", 16),
    ("AKIA", 20),
    ("ASIA", 20),
    ("AIza", 30),
    ("hf_", 20),
    ("npm_", 20),
    ("pypi-", 20),
    ("gsk_", 20),
    ("xai-", 20),
    ("dop_v1_", 20),
    ("SG.", 20),
    ("eyJ", 40),
];
/// Names, in lower case and without `_` and `-`, whose values are secret wherever they end a name.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "secretkey",
    "apikey",
    "accesskey",
    "accesstoken",
    "authtoken",
    "privatekey",
    "clientsecret",
    "refreshtoken",
    "bearertoken",
];
/// Tokens of random letters of both cases and digits are secrets when they are at least this long.
const RANDOM_LENGTH: usize = 40;

/// The text with secrets replaced by `[redacted]`:
///
/// - blocks from `-----BEGIN … PRIVATE KEY-----` to their end;
/// - the values of `Authorization`, `Proxy-Authorization`, `Cookie`, `Set-Cookie` and `X-Api-Key` headers, and
///   whatever follows `Bearer`;
/// - values assigned (`=` or `:`) to names that end in `password`, `secret`, `api_key`, `access_token` and the
///   like;
/// - tokens that begin as the keys of well-known providers do, and JSON web tokens;
/// - passwords in `scheme://user:password@host`;
/// - tokens of 40 and more letters of both cases mixed with digits. Hashes in hex stay.
pub fn redact(text: &str) -> String {
    let mut redacted = String::with_capacity(text.len());
    let mut in_key = false;
    for line in text.split_inclusive('\n') {
        if in_key {
            in_key = !line.contains("-----END");
            continue;
        }
        if let Some(start) = line.find("-----BEGIN").filter(|_| line.contains("PRIVATE KEY")) {
            redacted.push_str(&line[..start]);
            redacted.push_str(REDACTED);
            if line.ends_with('\n') {
                redacted.push('\n');
            }
            in_key = !line[start..].contains("-----END");
            continue;
        }
        redact_line(line, &mut redacted);
    }
    redacted
}

fn redact_line(line: &str, redacted: &mut String) {
    if let Some(value) = header_value(line) {
        redacted.push_str(&line[..value]);
        redacted.push_str(REDACTED);
        // What quotes and commas close after a header belongs to the text around it.
        let kept = line[value..].trim_end();
        let closing = kept.trim_end_matches(['"', '\'', ',', '}', ')', ']', '\\', '`', ';']);
        redacted.push_str(&line[value + closing.len()..]);
        return;
    }
    // Whether the token now read is the value of a secret name, or follows `Bearer`.
    let mut is_secret = false;
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(|character: char| !is_token(character)).unwrap_or(rest.len());
        let (token, after) = rest.split_at(end);
        let gap_end = after.find(is_token).unwrap_or(after.len());
        let (gap, next) = after.split_at(gap_end);
        let is_password = gap.starts_with('@') && redacted.ends_with(':') && has_scheme(redacted);
        if !token.is_empty() && (is_secret || is_password || is_key(token)) {
            redacted.push_str(REDACTED);
        } else {
            redacted.push_str(token);
        }
        redacted.push_str(gap);
        is_secret = !token.is_empty()
            && (is_assigned(gap) && is_secret_name(token)
                || token.eq_ignore_ascii_case("bearer") && gap.trim().is_empty() && !gap.is_empty());
        rest = next;
    }
}

/// Where the value begins, in a line with a header that is secret as a whole.
fn header_value(line: &str) -> Option<usize> {
    const HEADERS: &[&str] = &["authorization", "cookie", "set-cookie", "x-api-key", "proxy-authorization"];
    let lower = line.to_ascii_lowercase();
    HEADERS.iter().find_map(|header| {
        let start = lower.find(header)?;
        let before = lower[..start].chars().next_back();
        if before.is_some_and(|before| before.is_ascii_alphanumeric() || matches!(before, '-' | '_')) {
            return None;
        }
        let after = &lower[start + header.len()..];
        let quotes = after.len() - after.trim_start_matches(['"', '\'']).len();
        let colon = after[quotes..].starts_with(':');
        let value = start + header.len() + quotes + 1;
        let space = line
            .get(value..)
            .map_or(0, |value| value.len() - value.trim_start_matches([' ', '"', '\'']).len());
        let is_empty = line.get(value + space..).is_none_or(|value| value.trim().is_empty());
        (colon && !is_empty).then_some(value + space)
    })
}

fn is_token(character: char) -> bool {
    character.is_ascii_alphanumeric()
        || matches!(character, '-' | '_' | '.' | '+' | '/' | '~' | '$' | '!' | '%')
}

/// Whether what stands between two tokens assigns the second to the first.
fn is_assigned(gap: &str) -> bool {
    let trimmed =
        gap.trim_matches(|character: char| character.is_whitespace() || matches!(character, '"' | '\''));
    matches!(trimmed, "=" | ":" | ":=" | "=>") && !gap.contains('\n')
}

fn is_secret_name(token: &str) -> bool {
    let name: String = token
        .chars()
        .filter(|character| !matches!(character, '-' | '_'))
        .collect::<String>()
        .to_ascii_lowercase();
    NAMES.iter().any(|secret| name.ends_with(secret))
}

fn is_key(token: &str) -> bool {
    let known = PREFIXES.iter().any(|(prefix, length)| token.starts_with(prefix) && token.len() >= *length);
    known && token.bytes().any(|byte| byte.is_ascii_digit()) || is_random(token)
}

/// Whether a token has both cases and digits well mixed, as no path and no name has.
fn is_random(token: &str) -> bool {
    let token = token.trim_end_matches('.');
    if token.len() < RANDOM_LENGTH
        || token.contains(['.', '$', '%', '!', '~'])
        || token.matches('/').count() > 2
    {
        return false;
    }
    let count = |is: fn(&u8) -> bool| token.bytes().filter(is).count();
    let (upper, lower, digits) =
        (count(u8::is_ascii_uppercase), count(u8::is_ascii_lowercase), count(u8::is_ascii_digit));
    let tenth = token.len() / 10;
    upper > tenth && lower > tenth && digits >= 3
}

/// Whether the text so far ends within the user part of an address.
fn has_scheme(text: &str) -> bool {
    let start = text.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    text[start..].split_once("://").is_some_and(|(_, rest)| !rest.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::redact;

    #[test]
    fn secrets_are_taken_out() {
        for (text, expected) in [
            ("key sk-ant-api03-abcdefghij0123456789 ok", "key [redacted] ok"),
            ("Authorization: Bearer abc.def\nnext", "Authorization: [redacted]\nnext"),
            ("curl -H 'authorization: Basic dXNlcg==' x", "curl -H 'authorization: [redacted]"),
            ("{\"Authorization\": \"Bearer abc\"}", "{\"Authorization\": \"[redacted]\"}"),
            ("use bearer abcdef please", "use bearer [redacted] please"),
            ("DB_PASSWORD=hunter2 make", "DB_PASSWORD=[redacted] make"),
            ("password: 'x y'", "password: '[redacted] y'"),
            ("\"api_key\": \"abc\",", "\"api_key\": \"[redacted]\","),
            ("postgres://me:pa55@host/db", "postgres://me:[redacted]@host/db"),
            ("aws AKIAIOSFODNN7EXAMPLE0", "aws [redacted]"),
            (
                "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nafter",
                "[redacted]\nafter",
            ),
            ("t eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk1", "t [redacted]"),
            ("Zm9vYmFyMTIzNDU2Nzg5MEFCQ0RFRkdISUpLTE1OT1BR", "[redacted]"),
        ] {
            assert_eq!(redact(text), expected);
        }
    }

    #[test]
    fn ordinary_text_stays() {
        for text in [
            "",
            "commit 9e8c1b37c2f0aa55d1b0e5a6f7c8d9e0f1a2b3c4",
            "fn authorization_header() {}",
            "the password is asked for; see src/password.rs:12",
            "crates/context/src/compaction/compose_of_the_summary.rs",
            "if token == expected { return }",
            "https://example.org/a:b@c",
            "ratio = 3:4, time 12:30",
            "sk-learn is a library",
        ] {
            assert_eq!(redact(text), text);
        }
    }
}
