//! Whatever bytes a socket of the gateway sends, in whatever pieces: each message is a request or has an error that says
//! something, and how the bytes were cut does not matter. The first byte is the limit, the second the size of the pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ostler_doors::gateway::{DryRunOutcome, dry_run};

fuzz_target!(|data: &[u8]| {
    let [limit, piece, bytes @ ..] = data else { return };
    let (limit, piece) = (usize::from(*limit) + 1, usize::from(*piece) + 1);
    let heard = dry_run(bytes.chunks(piece), limit);
    assert_eq!(heard, dry_run([bytes], limit));
    for one in heard {
        if let DryRunOutcome::Refused(code, message) = one {
            assert!((-32700..=-32600).contains(&code) && !message.is_empty());
        }
    }
    // The same bytes as the content of one good frame, so that what is inside is reached too.
    let mut frame = vec![0x81, 0xff];
    frame.extend((bytes.len() as u64).to_be_bytes());
    frame.extend([0; 4]);
    frame.extend(bytes);
    assert_eq!(dry_run([frame.as_slice()], bytes.len().max(1)).len(), 1);
});
