//! Sessions from outside: taken as they are, or refused with the line that is wrong.

use std::io::{Cursor, Read, Seek, Write};
use std::path::Path;

use ostler_recorder::SessionViews;
use ostler_recorder::export::{ArchiveFolders, write_ndjson, write_zip};
use ostler_recorder::import::{ImportError, ImportedArchive, read_ndjson, read_transcript};
use ostler_types::{
    AgentEvent, Event, MessageEvent, NewRecord, NewSession, Policy, Record, Role, SessionId, State,
    StepEvent, TurnEvent, Usage,
};
use serde_json::Value;
use uuid::Uuid;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use crate::exports::{folder, lines};
use crate::folder_files::FolderFiles;
use crate::session_builder::{SessionBuilder, at, session_id};

fn exported(story: &SessionBuilder) -> String {
    let mut bytes = Vec::new();
    write_ndjson(lines(&story.records), &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn line_of(error: &ImportError) -> u64 {
    match error {
        ImportError::Damaged { line, .. } => *line,
        ImportError::Refused(_) | ImportError::Io(_) => panic!("{error}"),
    }
}

#[test]
fn a_log_is_read_with_its_chain() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/logs/v1-every-event/events.ndjson");
    let log = std::fs::read_to_string(path).unwrap();
    let imported = read_ndjson(log.as_bytes(), None).unwrap();
    assert_eq!(imported.records.len(), log.lines().count());
    assert_eq!(State::fold(&imported.records).unwrap().session.title, imported.session.title);
    // A word that is changed, a line that is gone, and a chain that is gone: each is told with its line.
    let changed = log.replacen("think about horses", "think about cows!!", 1);
    assert_eq!(line_of(&read_ndjson(changed.as_bytes(), None).unwrap_err()), 2);
    let without: Vec<&str> = log.lines().enumerate().filter(|(n, _)| *n != 4).map(|(_, line)| line).collect();
    assert_eq!(line_of(&read_ndjson(without.join("\n").as_bytes(), None).unwrap_err()), 5);
    let bare = log.lines().nth(2).unwrap().replace(",\"chain\":\"9d928e8a506d5363\"", "");
    let mixed: Vec<&str> = log.lines().take(2).chain([bare.as_str()]).collect();
    assert_eq!(line_of(&read_ndjson(mixed.join("\n").as_bytes(), None).unwrap_err()), 3);
}

#[test]
fn damage_is_refused_with_its_line() {
    let story = SessionBuilder::eventful(false);
    let good = exported(&story);
    let all: Vec<&str> = good.lines().collect();
    let with = |at: usize, line: &str| {
        let mut lines = all.clone();
        lines[at] = line;
        lines.join("\n")
    };
    let other = all[3].replace(&session_id().to_string(), "sess_00000000000000000000000000000009");
    for (text, line, what) in [
        (with(2, "{\"seq\":3"), 3, "not a record"),
        (with(2, ""), 3, "not a record"),
        (with(4, all[3]), 5, "seq 4, where 5"),
        (with(3, &other), 4, "another session"),
        (with(5, &all[5].replacen("{\"seq\":6", "{\"seq\":7", 1)), 6, "seq 7, where 6"),
        (all[1..].join("\n"), 1, "seq 2, where 1"),
        (with(1, &all[0].replacen("{\"seq\":1", "{\"seq\":2", 1)), 2, "a second time"),
        (all[1].replacen("{\"seq\":2", "{\"seq\":1", 1), 1, "does not create"),
        (with(1, &"x".repeat(5 << 20)), 2, "more than 4 MiB"),
    ] {
        let error = read_ndjson(text.as_bytes(), None).unwrap_err();
        assert_eq!(line_of(&error), line, "{error}");
        assert!(error.to_string().contains(what), "{error}");
    }
    let mut bytes = good.clone().into_bytes();
    let second_line = all[0].len() + 10;
    bytes[second_line] = 0xff;
    assert_eq!(line_of(&read_ndjson(&bytes[..], None).unwrap_err()), 2);
    assert!(matches!(read_ndjson(&b""[..], None), Err(ImportError::Refused(_))));
    // Line ends of another system, and a last line without one, are no damage.
    let windows = all.join("\r\n");
    assert_eq!(read_ndjson(windows.as_bytes(), None).unwrap().records, story.records);
}

#[test]
fn a_second_copy_is_another_session() {
    let mut story = SessionBuilder::from_session(NewSession {
        parent_session_id: Some(SessionId::new(Uuid::from_u128(1))),
        idempotency_key: Some("key".into()),
        log_root: Some("/somewhere".into()),
        name: Some("worker".into()),
        ..NewSession::new(session_id(), at(0), "/w", "m")
    });
    story.user("hello").answer("", "hi", &[]);
    story.end_turn().set_verbose(true);
    let id = SessionId::new(Uuid::from_u128(99));
    let imported = read_ndjson(exported(&story).as_bytes(), Some(id)).unwrap();
    assert!(!serde_json::to_string(&imported.records).unwrap().contains(&session_id().to_string()));
    assert_eq!(imported.session.id, id);
    let state = State::fold(&imported.records).unwrap();
    assert_eq!(state.session.parent_session_id, None);
    assert_eq!(
        (state.session.idempotency_key, state.session.log_root, state.session.name),
        (None, None, None)
    );
    let kept =
        |records: &[Record]| records.iter().map(|record| record.event.name().as_str()).collect::<Vec<_>>();
    assert_eq!(kept(&imported.records), kept(&story.records));
}

#[test]
fn a_file_does_not_decide_what_a_session_may_do() {
    let mut policy = Policy::default();
    policy.approval.require_for_kinds.clear();
    let root = Some("/etc".to_owned());
    let story = SessionBuilder::from_session(NewSession {
        policy,
        log_root: root,
        raw_log: true,
        ..NewSession::new(session_id(), at(0), "/w", "m")
    });
    let imported = read_ndjson(exported(&story).as_bytes(), None).unwrap();
    let session = imported.local_description(Policy::default());
    assert_eq!((session.policy, session.log_root, session.raw_log), (Policy::default(), None, false));
}

#[test]
fn what_the_records_made_of_a_session_stays() {
    let mut story = SessionBuilder::eventful(false);
    story.user("the title").answer("", "hi", &[]);
    story.end_turn();
    let imported = read_ndjson(exported(&story).as_bytes(), None).unwrap();
    let stands = State::fold(&story.records).unwrap().session;
    let adopted = imported.local_description(Policy::default());
    assert_eq!((&adopted.title, adopted.status, adopted.usage), (&stands.title, stands.status, stands.usage));
    assert!(adopted.title.is_some() && adopted.usage.input_tokens > 0, "{adopted:?}");
}

#[test]
fn what_answers_took_can_be_left_out_and_nothing_else_moves() {
    let mut story = SessionBuilder::eventful(true);
    let last = *story.messages.last().unwrap();
    story.compact(Some(last), "in short", Vec::new());
    let mut records = Vec::new();
    for record in std::mem::take(&mut story.records) {
        let used = match &record.event {
            Event::Message(MessageEvent::ModelOutputCompleted { message, usage, .. }) => {
                Some((Some(message.id), *usage))
            }
            Event::Turn(TurnEvent::Failed { .. }) => {
                Some((None, Usage { input_tokens: 7, ..Usage::default() }))
            }
            _ => None,
        };
        records.push(record.clone());
        if let Some((message_id, usage)) = used {
            let event =
                Event::Step(StepEvent::UsageRecorded { model: "test:model".to_owned(), message_id, usage });
            records.push(Record { event, ..record });
        }
    }
    for (number, record) in records.iter_mut().enumerate() {
        record.seq = number as u64 + 1;
    }
    let ended = records
        .iter()
        .find(|record| matches!(record.event, Event::Turn(TurnEvent::Completed { .. })))
        .unwrap()
        .seq;
    if let Some(Event::Agent(AgentEvent::ContextCompacted { compaction })) =
        records.last_mut().map(|record| &mut record.event)
    {
        compaction.first_kept_seq = ended;
    }
    story.records = records;
    let mut imported = read_ndjson(exported(&story).as_bytes(), None).unwrap();
    let before = imported.records.clone();
    imported.remove_usage();
    let is_use = |record: &&Record| matches!(record.event, Event::Step(StepEvent::UsageRecorded { .. }));
    assert!(
        before.iter().any(|record| is_use(&record)) && !imported.records.iter().any(|record| is_use(&record))
    );
    for (number, record) in imported.records.iter().enumerate() {
        assert_eq!(record.seq, number as u64 + 1);
    }
    // A compaction still names the record that it named.
    let kept = |records: &[Record]| {
        let first = records.iter().find_map(|record| match &record.event {
            Event::Agent(AgentEvent::ContextCompacted { compaction }) => Some(compaction.first_kept_seq),
            _ => None,
        });
        let first = first.expect("the story has a compaction");
        let from = records.iter().filter(|record| record.seq >= first && !is_use(record));
        from.map(|record| record.event.name().as_str()).collect::<Vec<_>>()
    };
    assert_eq!(kept(&before), kept(&imported.records));
}

fn files(archive: &mut ImportedArchive<impl Read + Seek>) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut keep = |name: &str, content: Vec<u8>| {
        files.push((name.to_owned(), content));
        Ok(())
    };
    archive.files(&mut keep).unwrap();
    files
}

/// An archive of these files, as any program may write it.
fn archive(entries: &[(&str, &[u8])], options: SimpleFileOptions) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        zip.start_file(*name, options).unwrap();
        zip.write_all(content).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

fn refusal(zip: &[u8]) -> String {
    ImportedArchive::open(Cursor::new(zip)).err().expect("it is refused").to_string()
}

#[test]
fn an_archive_of_an_earlier_version_is_read() {
    let zip = include_bytes!("../../../../testdata/exports/v1.zip");
    let mut archive = ImportedArchive::open(Cursor::new(zip)).unwrap();
    assert_eq!(archive.session(None).unwrap().records, SessionBuilder::eventful(false).records);
    let names: Vec<String> = files(&mut archive).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["attachments/a b.png", "artifacts/turn_0190f3c4a5b67c8d9e0f112233445566/out.txt"]);
}

#[test]
fn an_archive_that_another_program_wrote_is_read() {
    let story = SessionBuilder::eventful(false);
    let log = exported(&story);
    for options in [
        SimpleFileOptions::default(),
        SimpleFileOptions::default().compression_method(CompressionMethod::Stored),
        SimpleFileOptions::default().large_file(true),
    ] {
        let zip = archive(&[("events.ndjson", log.as_bytes()), ("attachments/x", b"y")], options);
        let mut archive = ImportedArchive::open(Cursor::new(zip)).unwrap();
        assert_eq!(archive.session(None).unwrap().records, story.records);
        assert_eq!(files(&mut archive), [("attachments/x".to_owned(), b"y".to_vec())]);
    }
}

#[test]
fn an_archive_that_is_too_much_is_refused() {
    let (plain, log) = (SimpleFileOptions::default(), ("events.ndjson", &b"x"[..]));
    let names: Vec<String> = (0..10_000).map(|number| format!("n{number}")).collect();
    let mut many: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b""[..])).collect();
    many.push(log);
    assert!(refusal(&archive(&many, plain)).contains("more entries"), "too many entries");
    let wide: Vec<String> =
        (0..200).map(|number| format!("{number}/{}", "x/".repeat(30_000) + "x")).collect();
    let mut wide: Vec<(&str, &[u8])> = wide.iter().map(|name| (name.as_str(), &b""[..])).collect();
    wide.push(log);
    assert!(refusal(&archive(&wide, plain)).contains("more entries"), "too large a directory");
    let zeros = vec![0; (64 << 20) + 1];
    let bomb = archive(&[log, ("attachments/bomb", &zeros)], plain);
    assert!(bomb.len() < 1 << 20 && refusal(&bomb).contains("larger than"), "too large a file");
    // Many entries of one content, each of which may be.
    let part = archive(&[log, ("attachments/0", &zeros[1..])], plain);
    let mut zip = ZipWriter::new_append(Cursor::new(part)).unwrap();
    for number in 1..17 {
        zip.shallow_copy_file("attachments/0", &format!("attachments/{number}")).unwrap();
    }
    let bomb = zip.finish().unwrap().into_inner();
    assert!(refusal(&bomb).contains("larger than"), "too much in all");
}

#[test]
fn an_archive_that_lies_is_refused() {
    let plain = SimpleFileOptions::default();
    let twice = archive(&[("events.ndjson", b"x"), ("attachments/a", b"1"), ("attachments/A", b"2")], plain);
    assert!(refusal(&twice).contains("two entries"));
    let mut same =
        archive(&[("events.ndjson", b"x"), ("attachments/a", b"1"), ("attachments/b", b"2")], plain);
    while let Some(at) = same.windows(13).position(|name| name == b"attachments/b") {
        same[at + 12] = b'a';
    }
    assert!(refusal(&same).contains("two entries"));
    // Sizes that the directory does not tell as they are: the content counts.
    let zeros = vec![0; 1 << 20];
    let honest = archive(&[("events.ndjson", &zeros)], plain);
    let directory = honest.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    for (field, size) in [(20, 0_u32), (20, u32::MAX - 1), (24, 0), (24, 1), (24, u32::MAX - 1)] {
        let mut lying = honest.clone();
        lying[directory + field..directory + field + 4].copy_from_slice(&size.to_le_bytes());
        if let Ok(mut archive) = ImportedArchive::open(Cursor::new(&lying)) {
            assert!(archive.session(None).is_err(), "{field}: {size}");
        }
    }
    for (field, value, what) in [(8, 1, "encrypted"), (10, 12, "compressed by bzip2"), (10, 99, "AES")] {
        let mut odd = honest.clone();
        odd[directory + field] = value;
        assert!(refusal(&odd).contains("damaged"), "{what}");
    }
}

#[test]
fn a_damaged_archive_is_refused_whole() {
    let story = SessionBuilder::eventful(false);
    let dir = folder(&story);
    let scratch = dir.path().join("scratch");
    let folders = ArchiveFolders { session: dir.path(), views: dir.path(), scratch: &scratch };
    let mut zip = Vec::new();
    write_zip(folders, &FolderFiles(dir.path()), lines(&story.records), at(0), &mut zip).unwrap();
    let good = files(&mut ImportedArchive::open(Cursor::new(&zip)).unwrap());
    for at in (0..zip.len()).step_by(31) {
        for flip in [0x01, 0x55, 0xff] {
            let mut bad = zip.clone();
            bad[at] ^= flip;
            if let Ok(mut archive) = ImportedArchive::open(Cursor::new(&bad)) {
                assert_eq!(archive.session(None).unwrap().records, story.records, "byte {at} with {flip:#x}");
                // A name has no checksum; what is read under it has.
                for (name, content) in files(&mut archive) {
                    assert!(
                        good.iter().any(|(_, known)| *known == content),
                        "byte {at} with {flip:#x}: {name}"
                    );
                }
            }
        }
    }
    for length in (0..zip.len()).step_by(53) {
        assert!(ImportedArchive::open(Cursor::new(&zip[..length])).is_err(), "cut to {length}");
    }
    let renamed = |from: &str, to: &str| {
        let text: Vec<u8> = zip.clone();
        let mut out = text.clone();
        for at in 0..text.len() - from.len() {
            if &text[at..at + from.len()] == from.as_bytes() {
                out[at..at + from.len()].copy_from_slice(to.as_bytes());
            }
        }
        out
    };
    for (from, to, what) in [
        ("attachments/a b.png", "../../../../../evil", "unsafe name"),
        ("attachments/a b.png", "attachments\\..\\x.pn", "unsafe name"),
        ("attachments/a b.png", "/etc/cron.d/x/y/z.t", "unsafe name"),
        ("events.ndjson", "events.ndjsox", "no events.ndjson"),
        ("transcript.jsonl", "./././events.ndj", "unsafe name"),
    ] {
        let error = ImportedArchive::open(Cursor::new(renamed(from, to))).err().unwrap().to_string();
        assert!(error.contains(what), "{error}");
    }
}

const TRANSCRIPT: &str = r#"{"role":"user","content":"What is here?","timestamp":1772600768089}
{"role":"assistant","content":"Let me look.","timestamp":1772600769089,"runId":"x"}
{"role":"tool_result","content":"a.txt","timestamp":1772600770089,"toolName":"bash"}
{"role":"tool_result","content":"b.txt","timestamp":1772600771089,"toolName":"bash"}
{"role":"assistant","content":"Two files.","timestamp":1772600772089}

{"role":"user","content":"Thanks","timestamp":1772600773089}
{"role":"user","content":"Really","timestamp":1772600774089,"extra":1}
{"role":"assistant","content":"Welcome","timestamp":1772600775089}"#;

fn told(text: &str) -> Result<Vec<NewRecord>, ImportError> {
    let mut ids = 0;
    read_transcript(text.as_bytes(), "other:model", &mut || {
        ids += 1;
        Uuid::from_u128(ids)
    })
}

#[test]
fn a_transcript_becomes_turns() {
    let records = told(TRANSCRIPT).unwrap();
    let names: Vec<&str> = records.iter().map(|record| record.event.name().as_str()).collect();
    assert_eq!(
        names,
        [
            "message_added",
            "turn_started",
            "model_output_completed",
            "tool_batch_started",
            "tool_call_completed",
            "tool_call_completed",
            "tool_batch_completed",
            "model_output_completed",
            "turn_completed",
            "message_added",
            "turn_started",
            "message_added",
            "model_output_completed",
            "turn_completed",
        ]
    );
    let mut story = SessionBuilder::new();
    for NewRecord { ts, turn_id, event } in records {
        let (seq, session_id) = (story.records.len() as u64 + 1, session_id());
        story.records.push(Record { seq, ts, session_id, turn_id, event });
    }
    let state = State::fold(&story.records).unwrap();
    assert!(state.turn.is_none() && state.unanswered.is_empty() && state.turns.len() == 2);
    let mut conversation = ostler_types::Conversation::default();
    story.records.iter().for_each(|record| conversation.apply(record));
    let messages = conversation.messages();
    let said: Vec<(Role, String)> = messages.iter().map(|message| (message.role, message.text())).collect();
    assert_eq!(said[2], (Role::Tool, "a.txt".to_owned()));
    assert_eq!((said.len(), &said[7]), (8, &(Role::Assistant, "Welcome".to_owned())));
    assert_eq!(messages[1].tool_calls().count(), 2, "each result has its call");
    assert_eq!(messages[0].created_at, at(1));
}

#[test]
fn our_own_transcripts_come_back() {
    let transcript = |records: &[Record]| {
        let dir = tempfile::tempdir().unwrap();
        let mut views = SessionViews::open(dir.path(), session_id()).unwrap();
        views.apply(records).unwrap();
        std::fs::read_to_string(dir.path().join("transcript.jsonl")).unwrap()
    };
    let said = |text: &str| -> Vec<Value> {
        let line = |line: &str| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            // Turns get ids of their own.
            line.as_object_mut().unwrap().remove("runId");
            line
        };
        text.lines().map(line).collect()
    };
    let first = transcript(&SessionBuilder::eventful(false).records);
    let mut again = SessionBuilder::new();
    for NewRecord { ts, turn_id, event } in told(&first).unwrap() {
        let (seq, session_id) = (again.records.len() as u64 + 1, session_id());
        again.records.push(Record { seq, ts, session_id, turn_id, event });
    }
    assert_eq!(said(&transcript(&again.records)), said(&first));
}

#[test]
fn a_transcript_that_is_none_is_refused_with_its_line() {
    for (text, line) in [
        ("nonsense", 1),
        (
            "{\"role\":\"user\",\"content\":\"a\",\"timestamp\":1}\n{\"role\":\"system\",\"content\":\"x\",\"timestamp\":1}",
            2,
        ),
        ("{\"role\":\"user\",\"content\":\"a\",\"timestamp\":9223372036854775807}", 1),
        ("[]", 1),
    ] {
        assert_eq!(line_of(&told(text).unwrap_err()), line, "{text}");
    }
    assert!(told("").unwrap().is_empty());
    // A tool that speaks first is given an answer that called it.
    let alone = told("{\"role\":\"tool_result\",\"content\":\"x\",\"timestamp\":1}").unwrap();
    assert_eq!(alone[0].event.name().as_str(), "turn_started");
    assert_eq!(alone.last().unwrap().event.name().as_str(), "turn_completed");
}
