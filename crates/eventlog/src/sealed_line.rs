//! One line of a log: how a record is sealed with its chain, and how a line proves that it is whole.
//!
//! Where a line stands in its file is not known here; `walk` and `seek` know.

use sha2::{Digest, Sha256};

/// The longest line, without its line feed.
pub(crate) const MAX_LINE: usize = 4 << 20;
/// The most that one append may write.
pub(crate) const MAX_APPEND: usize = 16 << 20;
/// How a line ends: `,"chain":"`, sixteen digits, `"}`.
const SUFFIX: usize = CHAIN_MEMBER.len() + 16 + 2;
const CHAIN_MEMBER: &[u8] = b",\"chain\":\"";

/// A record's chain: sixteen hex digits that stand for it and for every record before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordChain([u8; 16]);

impl RecordChain {
    /// What the first record follows.
    pub(crate) const START: RecordChain = RecordChain([b'0'; 16]);

    /// The chain of the record whose JSON is `body` and a closing brace.
    fn next(&self, body: &[u8]) -> RecordChain {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        hasher.update(body);
        hasher.update(b"}");
        let digest: [u8; 32] = hasher.finalize().into();
        let mut raw = [0; 8];
        raw.copy_from_slice(&digest[..8]);
        RecordChain::from_raw(raw)
    }

    /// The chain with these eight bytes.
    pub(crate) fn from_raw(raw: [u8; 8]) -> RecordChain {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = [0; 16];
        for (pair, byte) in hex.chunks_exact_mut(2).zip(raw) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        RecordChain(hex)
    }

    /// Its eight bytes.
    pub(crate) fn raw(&self) -> [u8; 8] {
        let digit = |byte: u8| if byte.is_ascii_digit() { byte - b'0' } else { byte - b'a' + 10 };
        let mut raw = [0; 8];
        for (byte, pair) in raw.iter_mut().zip(self.0.chunks_exact(2)) {
            *byte = digit(pair[0]) << 4 | digit(pair[1]);
        }
        raw
    }

    /// The chain that a line says it has, unproven.
    pub(crate) fn claimed(line: &[u8]) -> Option<RecordChain> {
        let suffix = &line[line.len().checked_sub(SUFFIX)?..];
        let digits = suffix.strip_prefix(CHAIN_MEMBER)?.strip_suffix(b"\"}")?;
        let hex = digits.iter().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex { digits.try_into().ok().map(RecordChain) } else { None }
    }
}

/// The length of the line that a record's JSON becomes.
pub(crate) fn sealed_length(plain: &[u8]) -> usize {
    plain.len() - 1 + SUFFIX
}

/// Appends the line of a record to `out`, without a line feed, and returns its chain. `plain` is the
/// record's JSON.
pub(crate) fn seal(plain: &[u8], previous: RecordChain, out: &mut Vec<u8>) -> RecordChain {
    let body = &plain[..plain.len() - 1];
    let chain = previous.next(body);
    out.extend_from_slice(body);
    out.extend_from_slice(CHAIN_MEMBER);
    out.extend_from_slice(&chain.0);
    out.extend_from_slice(b"\"}");
    chain
}

/// The record's JSON in a line, without its chain.
pub(crate) fn without_chain(line: &[u8]) -> Vec<u8> {
    let mut plain = line[..line.len() - SUFFIX].to_vec();
    plain.push(b'}');
    plain
}

/// Takes the space off a line that has one: it says that the append to which the line belongs goes on
/// in the next line, so that a crash cannot leave part of an append behind unnoticed.
pub(crate) fn strip_continuation(raw: &[u8]) -> (&[u8], bool) {
    match raw.strip_suffix(b" ") {
        Some(line) if line.ends_with(b"}") => (line, true),
        Some(_) | None => (raw, false),
    }
}

/// Proves that a line is record `seq` of a session and follows the record with the chain `previous`;
/// returns its own chain, or what is wrong.
pub(crate) fn verify(
    line: &[u8],
    session: &str,
    seq: u64,
    previous: RecordChain,
) -> Result<RecordChain, &'static str> {
    if line.len() > MAX_LINE {
        return Err("the line is longer than a record may be");
    }
    let header = LineHeader::parse(line).ok_or("the line is not a record")?;
    if header.seq != seq {
        return Err("the record has another seq than its place calls for");
    }
    if header.session != session {
        return Err("the record belongs to another session");
    }
    let claimed = RecordChain::claimed(line).ok_or("the record has no chain")?;
    if previous.next(&line[..line.len() - SUFFIX]) != claimed {
        return Err("the record does not match its chain");
    }
    Ok(claimed)
}

/// What stands at the head of every line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LineHeader<'a> {
    pub(crate) seq: u64,
    pub(crate) session: &'a str,
    pub(crate) name: &'a str,
}

impl<'a> LineHeader<'a> {
    /// Reads it by the order of the members, which is part of the format.
    pub(crate) fn parse(line: &'a [u8]) -> Option<LineHeader<'a>> {
        let (seq, rest) = seq(line)?;
        let (_, rest) = quoted(rest.strip_prefix(b",\"ts\":")?)?;
        let (session, rest) = quoted(rest.strip_prefix(b",\"session_id\":")?)?;
        let rest = rest.strip_prefix(b",\"turn_id\":")?;
        let rest = match rest.strip_prefix(b"null") {
            Some(rest) => rest,
            None => quoted(rest)?.1,
        };
        let (name, rest) = quoted(rest.strip_prefix(b",\"type\":")?)?;
        rest.strip_prefix(b",\"data\":")?;
        Some(LineHeader { seq, session, name })
    }
}

/// The seq at the head of a line, and what follows it.
pub(crate) fn seq(line: &[u8]) -> Option<(u64, &[u8])> {
    let rest = line.strip_prefix(b"{\"seq\":")?;
    let digits = rest.iter().position(|byte| !byte.is_ascii_digit())?;
    let seq = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
    Some((seq, &rest[digits..]))
}

/// A string without escapes, as ids, times and names are, and what follows it.
fn quoted(bytes: &[u8]) -> Option<(&str, &[u8])> {
    let rest = bytes.strip_prefix(b"\"")?;
    let end = memchr::memchr(b'"', &rest[..rest.len().min(256)])?;
    Some((std::str::from_utf8(&rest[..end]).ok()?, &rest[end + 1..]))
}

#[cfg(test)]
mod tests {
    use ostler_types::{Event, Record, SessionEvent, SessionId, TurnId};
    use uuid::Uuid;

    use super::{LineHeader, RecordChain, seal, verify};

    #[test]
    fn the_members_of_a_line_have_one_order() {
        let session_id = SessionId::new(Uuid::from_u128(7));
        let record = Record {
            seq: 1,
            ts: "2026-11-15T12:00:00.25Z".parse().unwrap(),
            session_id,
            turn_id: Some(TurnId::new(Uuid::from_u128(8))),
            event: Event::Session(SessionEvent::Completed { by: "an \"odd\" } name".to_owned() }),
        };
        let plain = serde_json::to_vec(&record).unwrap();
        let mut line = Vec::new();
        let chain = seal(&plain, RecordChain::START, &mut line);
        let text = String::from_utf8(line.clone()).unwrap();
        assert!(
            text.starts_with(
                "{\"seq\":1,\"ts\":\"2026-11-15T12:00:00.25Z\",\
                 \"session_id\":\"sess_00000000000000000000000000000007\",\
                 \"turn_id\":\"turn_00000000000000000000000000000008\",\
                 \"type\":\"session_completed\",\"data\":{\"by\":"
            ),
            "{text}"
        );
        assert_eq!(LineHeader::parse(&line).unwrap().name, "session_completed");
        assert_eq!(verify(&line, &session_id.to_string(), 1, RecordChain::START), Ok(chain));
        assert_eq!(RecordChain::from_raw(chain.raw()), chain);
        assert_eq!(serde_json::from_slice::<Record>(&line).unwrap(), record);
        assert!(verify(&line, &session_id.to_string(), 1, chain).is_err());
        assert!(verify(&line, "sess_00000000000000000000000000000009", 1, RecordChain::START).is_err());
        assert!(verify(&line, &session_id.to_string(), 2, RecordChain::START).is_err());
    }
}
