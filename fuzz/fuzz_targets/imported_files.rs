//! Whatever is given as a session file, an export or a transcript: it is refused with a reason, or it is a session
//! that can be taken in, folded and gone on with. The first byte says what the rest is given as.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use ostler_recorder::import::{ImportError, ImportedArchive, ImportedSession, read_ndjson, read_transcript};
use ostler_types::{Command, Conversation, DecisionFacts, Policy, State, decide};
use uuid::Uuid;

fuzz_target!(|data: &[u8]| {
    let [kind, bytes @ ..] = data else { return };
    match kind % 3 {
        0 => take_in(read_ndjson(bytes, None)),
        1 => {
            let mut count = 0;
            let mut next_id = || {
                count += 1;
                Uuid::from_u128(count)
            };
            match read_transcript(bytes, "test:one", &mut next_id) {
                Ok(records) => assert!(records.len() <= 6 * bytes.len()),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
        }
        _ => match ImportedArchive::open(Cursor::new(bytes)) {
            Ok(mut archive) => {
                take_in(archive.session(None));
                archive.files(&mut |name, _| {
                    assert!(!name.contains("..") && !name.starts_with('/'));
                    Ok(())
                })
                .expect("what was found to be whole can be read");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        },
    }
});

fn take_in(read: Result<ImportedSession, ImportError>) {
    let mut imported = match read {
        Ok(imported) => imported,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(imported.local_description(Policy::default()).id, imported.session.id);
    let mut conversation = Conversation::default();
    imported.records.iter().for_each(|record| conversation.apply(record));
    if let Some(state) = State::fold(&imported.records) {
        for resumable in [false, true] {
            _ = decide(&state, Command::Recover { resumable }, &DecisionFacts::default());
        }
    }
    imported.remove_usage();
    assert!(imported.records.iter().zip(1..).all(|(record, seq)| record.seq == seq));
}
