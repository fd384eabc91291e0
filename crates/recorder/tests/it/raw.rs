//! `raw.jsonl`: line by line, and under everything that a disk does.

use std::fs::{self, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use ostler_recorder::RawWriter;
use ostler_types::{Clock, RawLine};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::{mode, names};

const LONG: Duration = Duration::from_secs(60);

struct FrozenClock;

impl Clock for FrozenClock {
    fn now(&self) -> Timestamp {
        "2026-03-04T05:06:07.089Z".parse().unwrap()
    }

    fn uuid(&self) -> Uuid {
        unreachable!("nothing here needs an id")
    }
}

fn open(path: &Path) -> RawWriter {
    RawWriter::open(path, Arc::new(FrozenClock)).unwrap()
}

fn request(text: &str) -> RawLine {
    RawLine::Request {
        endpoint: "https://example.org/v1/messages".into(),
        payload: json!({ "b": text, "a": [1.5] }),
    }
}

fn chunk(event: &str, chunk: &str) -> RawLine {
    RawLine::StreamChunk { event: event.into(), chunk: chunk.into() }
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn lines_stand_as_they_came() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raw.jsonl");
    let writer = open(&path);
    assert!(names(dir.path()).is_empty(), "there is no file before the first line");
    let sink = writer.sink();
    sink(request("hi\n\"ä\""));
    sink(RawLine::Response { status: 200, body: String::new() });
    sink(chunk("delta", r#"{"z": 1.0,"a":"ü"}"#));
    sink(chunk("", "{\n\"z\":\r\n[]}"));
    sink(chunk("", "[DONE]"));
    sink(chunk("", "\"quoted\""));
    sink(chunk("", "{broken"));
    drop(writer);
    let text = fs::read_to_string(&path).unwrap();
    let at = r#""timestamp":"2026-03-04T05:06:07.089Z""#;
    let expected = [
        format!(
            r#"{{"type":"request",{at},"endpoint":"https://example.org/v1/messages","payload":{{"b":"hi\n\"ä\"","a":[1.5]}}}}"#
        ),
        format!(r#"{{"type":"response",{at},"status":200,"body":""}}"#),
        format!(r#"{{"type":"stream_chunk",{at},"event":"delta","chunk":{{"z": 1.0,"a":"ü"}}}}"#),
        format!(r#"{{"type":"stream_chunk",{at},"event":"","chunk":{{"z":[]}}}}"#),
        format!(r#"{{"type":"stream_chunk",{at},"event":"","chunk":"[DONE]"}}"#),
        format!(r#"{{"type":"stream_chunk",{at},"event":"","chunk":"\"quoted\""}}"#),
        format!(r#"{{"type":"stream_chunk",{at},"event":"","chunk":"{{broken"}}"#),
    ];
    assert_eq!(text.lines().collect::<Vec<_>>(), expected);
    assert_eq!(mode(&path), 0o600);
    sink(chunk("", "too late"));
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
}

#[test]
fn a_later_writer_goes_on_after_the_last_whole_line() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raw.jsonl");
    let torn = "x".repeat(200_000);
    fs::write(&path, format!("{{\"type\":\"response\"}}\n{{\"type\":\"resp{torn}")).unwrap();
    let writer = open(&path);
    writer.sink()(chunk("", "{}"));
    writer.flush(LONG);
    assert_eq!(lines(&path).len(), 2);
    drop(writer);
    fs::write(&path, "torn from the start").unwrap();
    let writer = open(&path);
    writer.sink()(chunk("", "[1]"));
    drop(writer);
    assert_eq!(lines(&path).iter().map(|line| &line["chunk"]).collect::<Vec<_>>(), [&json!([1])]);
}

#[test]
fn a_full_file_says_so_once_and_takes_no_more() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raw.jsonl");
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).unwrap();
    file.seek(SeekFrom::Start((256 << 20) - 200)).unwrap();
    file.write_all(b"\n").unwrap();
    for _ in 0..2 {
        let writer = open(&path);
        let sink = writer.sink();
        sink(chunk("", "fits"));
        writer.flush(LONG);
        sink(chunk("", &"x".repeat(200)));
        sink(chunk("", "no more"));
        drop(writer);
    }
    let bytes = fs::read(&path).unwrap();
    let tail = String::from_utf8_lossy(&bytes[(256 << 20) - 199..]).into_owned();
    let tail: Vec<Value> = tail.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = tail.iter().map(|line| line["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["stream_chunk", "stopped"], "{tail:?}");
    assert!(tail[1]["reason"].as_str().unwrap().contains("256 MiB"));
}

#[test]
fn what_the_disk_does_not_take_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("later").join("raw.jsonl");
    let writer = open(&path);
    let sink = writer.sink();
    sink(request("lost"));
    sink(chunk("", "lost"));
    writer.flush(LONG);
    fs::create_dir(dir.path().join("later")).unwrap();
    sink(chunk("", "kept"));
    drop(writer);
    let lines = lines(&path);
    assert_eq!((lines[0]["type"].as_str(), lines[0]["count"].as_u64()), (Some("dropped"), Some(2)));
    assert_eq!((lines.len(), lines[1]["chunk"].as_str()), (2, Some("kept")));
}

#[test]
fn only_a_regular_file_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let (target, link) = (dir.path().join("target"), dir.path().join("raw.jsonl"));
    fs::write(&target, "").unwrap();
    std::os::unix::fs::symlink(&target, &link).unwrap();
    assert!(RawWriter::open(&link, Arc::new(FrozenClock)).is_err());
    assert!(RawWriter::open(dir.path(), Arc::new(FrozenClock)).is_err());
    fs::remove_file(&link).unwrap();
    let writer = open(&link);
    std::os::unix::fs::symlink(&target, &link).unwrap();
    writer.sink()(chunk("", "{}"));
    drop(writer);
    assert_eq!(fs::read_to_string(&target).unwrap(), "");
}

#[test]
fn many_threads_write_whole_lines() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("raw.jsonl");
    let writer = open(&path);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let sink = writer.sink();
            scope.spawn(move || (0..500).for_each(|n| sink(chunk("", &format!("[{n}]")))));
        }
    });
    writer.flush(LONG);
    let lines = lines(&path);
    assert_eq!(lines.len(), 2000);
    let sum: u64 = lines.iter().map(|line| line["chunk"][0].as_u64().unwrap()).sum();
    assert_eq!(sum, 4 * (499 * 500 / 2));
}
