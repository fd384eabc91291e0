//! Frames that nobody would send, from a fixed seed: for a moment with every run, and for as long as
//! `OSTLER_FUZZ_ROUNDS` says. `fuzz/` has the same for cargo-fuzz.

use ostler_doors::gateway::{DryRunOutcome, dry_run};

/// Messages to begin with.
const SEEDS: [&str; 6] = [
    r#"{"id":"1","method":"health.check"}"#,
    r#"{"id":2,"method":"sessions.create","params":{"agentId":"main"}}"#,
    r#"{"id":"3","method":"chat.send","params":{"sessionKey":"0190f3c4-a5b6-7c8d-9e0f-112233445566","message":"hi"}}"#,
    r#"{"id":"4","method":"chat.history","params":{"sessionKey":"0190f3c4-a5b6-7c8d-9e0f-112233445566","limit":5}}"#,
    r#"{"id":"5","method":"chat.abort","params":{"runId":"0190f3c4-a5b6-7c8d-9e0f-112233445566"}}"#,
    r#"{"id":"6","method":"exec.deny","params":{"approvalId":"0190f3c4-a5b6-7c8d-9e0f-112233445566","reason":"no"}}"#,
];

struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }

    /// A frame around a seed, most of the time a good one, with some bytes of it changed now and then.
    fn frame(&mut self) -> Vec<u8> {
        let mut content = SEEDS[self.below(SEEDS.len())].as_bytes().to_vec();
        if self.below(2) == 0 {
            let at = self.below(content.len());
            content[at] = self.below(256) as u8;
        }
        let kinds = [0x81, 0x81, 0x81, 0x82, 0x01, 0x80, 0x89, 0x8a, 0x88, 0xc1];
        let mut frame = vec![kinds[self.below(kinds.len())]];
        if frame[0] & 0x0f >= 8 {
            content.truncate(self.below(130));
        }
        let mask = [self.below(256) as u8, self.below(256) as u8, 0, self.below(256) as u8];
        match content.len() {
            short @ 0..126 => frame.push(0x80 | short as u8),
            long => {
                frame.push(0x80 | 126);
                frame.extend((long as u16).to_be_bytes());
            }
        }
        frame.extend(mask);
        frame.extend(content.iter().enumerate().map(|(index, byte)| byte ^ mask[index % 4]));
        if self.below(8) == 0 {
            let at = self.below(frame.len());
            frame[at] = self.below(256) as u8;
        }
        frame
    }
}

#[test]
fn fuzz_short_gateway() {
    let rounds = std::env::var("OSTLER_FUZZ_ROUNDS").ok().and_then(|rounds| rounds.parse().ok());
    let (mut random, mut requests, mut refused) = (Random(0x9E37_79B9_7F4A_7C15), 0, 0);
    for round in 0..rounds.unwrap_or(20_000_u64) {
        let bytes: Vec<u8> = (0..=random.below(4)).flat_map(|_| random.frame()).collect();
        let (limit, piece) = (1 + random.below(200), 1 + random.below(40));
        let heard = dry_run(bytes.chunks(piece), limit);
        assert_eq!(heard, dry_run([bytes.as_slice()], limit), "round {round}: {bytes:?}");
        for one in &heard {
            match one {
                DryRunOutcome::Request => requests += 1,
                DryRunOutcome::Refused(code, message) => {
                    refused += 1;
                    assert!((-32700..=-32600).contains(code) && !message.is_empty(), "round {round}");
                }
                DryRunOutcome::TooLarge | DryRunOutcome::Control | DryRunOutcome::Broken(_) => {}
            }
        }
    }
    assert!(requests > 100 && refused > 100, "{requests} requests, {refused} errors");
}
