//! Reading files: lines, limits, and what is no text.

use serde_json::json;

use crate::fixture::Fixture;

#[tokio::test]
async fn lines_are_given_as_they_are() {
    let fixture = Fixture::with(&[("a.txt", "one\r\ntwo\nthree"), ("d/empty", "")]);
    let absolute = fixture.path("a.txt").to_string_lossy().into_owned();
    for (input, text, start, end) in [
        (json!({"path": "a.txt"}), "one\r\ntwo\nthree", 1, 3),
        (json!({"path": "./d/../a.txt", "end_line": 1}), "one\r\n", 1, 1),
        (json!({"path": "a.txt", "start_line": 2, "end_line": 2}), "two\n", 2, 2),
        (json!({"path": absolute, "start_line": 3, "end_line": 99}), "three", 3, 3),
    ] {
        let outcome = fixture.ok("read_file", input).await;
        assert_eq!(outcome.text, text);
        assert_eq!(
            outcome.details.unwrap(),
            json!({"start_line": start, "end_line": end, "total_lines": 3, "bytes": 14, "truncated": false})
        );
    }
    assert_eq!(fixture.ok("read_file", json!({"path": "d/empty"})).await.text, "[`d/empty` is empty.]");
    let text = fixture.refusal("read_file", json!({"path": "a.txt", "start_line": 4})).await;
    assert_eq!(text, "`a.txt` has only 3 lines; `start_line` was 4.");
}

#[tokio::test]
async fn what_is_missing_or_no_file_is_said() {
    let fixture = Fixture::with(&[("d/a", "x")]);
    for (path, expected) in [
        ("b", "`b` does not exist; paths are relative to"),
        ("d", "`d` is a directory, not a file."),
        (".", "`.` is a directory, not a file."),
        ("d/a/b", "a part of it is not a directory"),
        ("a\0b", "`a\\u{0}b` cannot be opened"),
    ] {
        let text = fixture.refusal("read_file", json!({"path": path})).await;
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn a_long_file_is_read_in_parts() {
    let fixture = Fixture::new();
    let content: String = (1..=20_000).map(|line| format!("this is line number {line}\n")).collect();
    fixture.put("long.txt", &content);
    let (mut start, mut read, mut parts) = (1, String::new(), 0);
    loop {
        let outcome = fixture.ok("read_file", json!({"path": "long.txt", "start_line": start})).await;
        let details = outcome.details.unwrap();
        assert_eq!(details["total_lines"], 20_000);
        assert!(outcome.text.len() <= 256 * 1024 + 200);
        let end = details["end_line"].as_u64().unwrap();
        parts += 1;
        if details["truncated"] == false {
            read.push_str(&outcome.text);
            break;
        }
        let note =
            format!("[Lines {start} to {end} of 20000 are shown. Read on with start_line {}.]", end + 1);
        read.push_str(outcome.text.strip_suffix(&note).expect("the note says how to read on"));
        start = end + 1;
    }
    assert_eq!(parts, 2);
    assert!(read == content, "the parts make up the file");
}

#[tokio::test]
async fn long_lines_are_cut() {
    let fixture = Fixture::new();
    let long = "é".repeat(300_000);
    fixture.put("a.txt", format!("{}\n{long}\nend\n", "x".repeat(2_000)));
    let outcome = fixture.ok("read_file", json!({"path": "a.txt"})).await;
    let lines: Vec<&str> = outcome.text.lines().collect();
    assert_eq!(lines[0], "x".repeat(2_000));
    assert_eq!(
        lines[1],
        format!("{} [line cut after 2000 characters; it has 600001 bytes]", "é".repeat(2_000))
    );
    assert_eq!(lines[2], "end");
}

#[tokio::test]
async fn binary_files_are_refused_and_odd_bytes_replaced() {
    let fixture = Fixture::new();
    fixture.put("image", b"\x89PNG\r\n\x1a\n rest");
    fixture.put("data", b"text\0more");
    fixture.put("latin1", b"caf\xe9\n");
    let text = fixture.refusal("read_file", json!({"path": "image"})).await;
    assert_eq!(text, "`image` is not text: it is a PNG image of 13 bytes. Only text files are read.");
    let text = fixture.refusal("read_file", json!({"path": "data"})).await;
    assert!(text.contains("binary data of 9 bytes"), "{text}");
    let outcome = fixture.ok("read_file", json!({"path": "latin1"})).await;
    assert_eq!(outcome.text, "caf\u{fffd}\n[Some bytes are not UTF-8 and are shown as \u{fffd}.]");
}
