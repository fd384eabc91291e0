//! Whatever a line holds: it is a command that can be written and read again, or an error that says something.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ostler_doors::jsonl::read_command;

fuzz_target!(|data: &[u8]| {
    match read_command(data) {
        Ok(command) => {
            let line = serde_json::to_vec(&command).expect("a command can be written");
            assert_eq!(read_command(&line).as_ref(), Ok(&command));
        }
        Err(bad) => assert!(!bad.message.is_empty()),
    }
});
