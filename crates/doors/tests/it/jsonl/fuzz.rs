//! Bytes that nobody meant: mutated lines and streams, from a fixed seed. The same is fuzzed for longer by the
//! targets in `fuzz/`, and here with `OSTLER_FUZZ_ROUNDS`.

use ostler_doors::jsonl::read_command;
use ostler_line_framing::{FramedLine, LineFramer};

/// Rounds in an ordinary run.
const ROUNDS: u64 = 20_000;

const SEEDS: &[&str] = &[
    r#"{"type":"prompt","text":"hi","session_id":"sess_0190f3c4a5b67c8d9e0f112233445566","delivery":"steer"}"#,
    r#"{"type":"start_session","cwd":"/w","model":"a:b","system_prompt":"s","session_file":"f","parent_session":"p","set_active":true}"#,
    r#"{"type":"ui_response","id":"ui_1","result":{"a":[1,2,null]},"error":null}"#,
    r#"{"type":"close_session","session_id":null}"#,
    "{\"type\":\"ping\",\"text\":\"\u{2028}😀\"}\r\n{\"type\":\"quit\"}\n\n",
];

/// A generator that is the same in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn mutated(&mut self) -> Vec<u8> {
        let mut bytes = SEEDS[self.below(SEEDS.len())].as_bytes().to_vec();
        for _ in 0..self.below(6) {
            let at = self.below(bytes.len() + 1).min(bytes.len());
            match self.below(5) {
                0 => bytes.insert(at, self.next() as u8),
                1 => bytes.truncate(at),
                2 if at < bytes.len() => bytes[at] = self.next() as u8,
                3 if at < bytes.len() => {
                    bytes.remove(at);
                }
                _ => {
                    let other = SEEDS[self.below(SEEDS.len())].as_bytes();
                    let from = self.below(other.len());
                    bytes.splice(at..at, other[from..].iter().copied());
                }
            }
        }
        bytes
    }
}

fn rounds() -> u64 {
    std::env::var("OSTLER_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(ROUNDS)
}

/// What every decoder of lines must agree with, whatever the pieces.
fn expected(bytes: &[u8], limit: usize) -> Vec<Option<Vec<u8>>> {
    let mut parts: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    if parts.last().is_some_and(|last| last.is_empty()) {
        parts.pop();
    }
    let line = |part: &[u8]| {
        let part = part.strip_suffix(b"\r").unwrap_or(part);
        (part.len() <= limit).then(|| part.to_vec())
    };
    parts.into_iter().map(line).collect()
}

#[test]
fn fuzz_short_framing() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    for round in 0..rounds() {
        let bytes: Vec<u8> = (0..=random.below(3)).flat_map(|_| random.mutated()).collect();
        let limit = 1 + random.below(200);
        let (mut lines, mut found, mut at) = (LineFramer::new(limit), Vec::new(), 0);
        while at < bytes.len() {
            let end = (at + 1 + random.below(40)).min(bytes.len());
            lines.push(&bytes[at..end]);
            at = end;
            while let Some(framed) = lines.next_line() {
                found.push(framed);
            }
            assert!(lines.buffered() <= limit + 1, "round {round}");
        }
        found.extend(lines.finish());
        let found: Vec<Option<Vec<u8>>> = found
            .into_iter()
            .map(|framed| match framed {
                FramedLine::Line(line) | FramedLine::Unterminated(line) => Some(line.to_vec()),
                FramedLine::TooLong => None,
            })
            .collect();
        assert_eq!(found, expected(&bytes, limit), "round {round}, limit {limit}: {bytes:?}");
    }
}

#[test]
fn fuzz_short_commands() {
    let mut random = Random(0xD1B5_4A32_D192_ED03);
    let mut good = 0_u64;
    for _ in 0..rounds() {
        let bytes = random.mutated();
        match read_command(&bytes) {
            Ok(command) => {
                good += 1;
                // What was read can be written, and read again to the same.
                let line = serde_json::to_vec(&command).unwrap();
                assert_eq!(read_command(&line).as_ref(), Ok(&command));
            }
            Err(bad) => assert!(!bad.message.is_empty() && bad.message.len() < 1000),
        }
    }
    assert!(good > 100, "the mutations leave some lines whole");
}
