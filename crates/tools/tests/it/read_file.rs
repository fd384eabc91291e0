//! Reading files: lines, limits, encodings, images, and what is no text.

use serde_json::{Value, json};

use crate::fixture::ToolFixture;

#[tokio::test]
async fn lines_are_given_with_their_numbers() {
    let fixture = ToolFixture::with(&[("a.txt", "one\r\ntwo\nthree"), ("d/empty", "")]);
    let absolute = fixture.path("a.txt").to_string_lossy().into_owned();
    for (input, text, start, end) in [
        (json!({"path": "a.txt"}), "1\tone\r\n2\ttwo\n3\tthree", 1, 3),
        (json!({"path": "./d/../a.txt", "end_line": 1}), "1\tone\r\n", 1, 1),
        (json!({"path": "a.txt", "start_line": 2, "end_line": 2}), "2\ttwo\n", 2, 2),
        (json!({"path": absolute, "start_line": 3, "end_line": 99}), "3\tthree", 3, 3),
    ] {
        let outcome = fixture.ok("read_file", input).await;
        assert_eq!(outcome.text, text);
        assert!(outcome.attachments.is_empty());
        assert_eq!(
            outcome.details.unwrap(),
            json!({
                "start_line": start, "end_line": end, "total_lines": 3, "bytes": 14, "truncated": false,
                "encoding": "utf-8",
            })
        );
    }
    assert_eq!(fixture.ok("read_file", json!({"path": "d/empty"})).await.text, "[`d/empty` is empty.]");
    let text = fixture.refusal("read_file", json!({"path": "a.txt", "start_line": 4})).await;
    assert_eq!(text, "`a.txt` has only 3 lines; `start_line` was 4.");
}

#[tokio::test]
async fn what_is_missing_or_no_file_is_said() {
    let fixture = ToolFixture::with(&[("d/a", "x")]);
    fixture.link("loop", "loop");
    fixture.link("inside", "d/a");
    for (path, expected) in [
        ("b", "`b` does not exist; paths are relative to"),
        ("d", "`d` is a directory, not a file."),
        (".", "`.` is a directory, not a file."),
        ("d/a/b", "part of the path is not a directory"),
        ("a\0b", "`a\\u{0}b` cannot be opened"),
        ("loop", "it has symbolic links that may not be followed"),
    ] {
        let text = fixture.refusal("read_file", json!({"path": path})).await;
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(fixture.ok("read_file", json!({"path": "inside"})).await.text, "1\tx");
}

#[tokio::test]
async fn a_long_file_is_read_in_parts() {
    let fixture = ToolFixture::new();
    let content: String = (1..=20_000).map(|line| format!("this is line number {line}\n")).collect();
    let numbered: String = (1..=20_000).map(|line| format!("{line}\tthis is line number {line}\n")).collect();
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
            format!("[Showing lines {start} to {end} of 20000. Continue with start_line {}.]", end + 1);
        read.push_str(outcome.text.strip_suffix(&note).expect("the note says how to read on"));
        start = end + 1;
    }
    assert_eq!(parts, 3);
    assert!(read == numbered, "the parts make up the file");
}

#[tokio::test]
async fn long_lines_are_cut_between_characters() {
    let fixture = ToolFixture::new();
    for character in ["é", "漢", "🦀", "x"] {
        let long = character.repeat(300_000);
        fixture.put("a.txt", format!("{}\n{long}\nend\n", "x".repeat(2_000)));
        let outcome = fixture.ok("read_file", json!({"path": "a.txt"})).await;
        let lines: Vec<&str> = outcome.text.lines().collect();
        assert_eq!(lines[0], format!("1\t{}", "x".repeat(2_000)));
        let bytes = long.len() + 1;
        let cut = character.repeat(2_000);
        assert_eq!(
            lines[1],
            format!("2\t{cut} [line truncated after 2000 characters; it has {bytes} bytes]")
        );
        assert_eq!(lines[2..], ["3\tend"]);
    }
}

#[tokio::test]
async fn a_huge_file_is_read_where_it_is_asked_for() {
    let fixture = ToolFixture::with(&[("sparse", "")]);
    let file = std::fs::OpenOptions::new().write(true).open(fixture.path("sparse")).unwrap();
    file.set_len(1 << 40).unwrap();
    let text = fixture.refusal("read_file", json!({"path": "sparse"})).await;
    assert!(text.contains("binary data of 1099511627776 bytes"), "{text}");
    fixture.put("lines", "0123456789abcde\n".repeat(1 << 20));
    let outcome = fixture
        .ok("read_file", json!({"path": "lines", "start_line": 1_000_000, "end_line": 1_000_000}))
        .await;
    assert_eq!(outcome.text, "1000000\t0123456789abcde\n");
}

#[tokio::test]
async fn encodings_are_told_and_said() {
    let fixture = ToolFixture::new();
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        format!("\u{feff}{text}").encode_utf16().flat_map(bytes).collect()
    };
    let table: [(&str, Vec<u8>, &str, &str); 7] = [
        ("plain", b"caf\xc3\xa9\n".to_vec(), "1\tcafé\n", "utf-8"),
        (
            "mark",
            b"\xef\xbb\xbfcaf\xc3\xa9\n".to_vec(),
            "1\tcafé\n[The file begins with a byte-order mark, which is not shown.]",
            "utf-8",
        ),
        (
            "little",
            utf16("é\r\n🦀", u16::to_le_bytes),
            "1\té\r\n2\t🦀\n[The file is UTF-16 (little-endian) with a byte-order mark.]",
            "utf-16le",
        ),
        (
            "big",
            utf16("é\r\n🦀", u16::to_be_bytes),
            "1\té\r\n2\t🦀\n[The file is UTF-16 (big-endian) with a byte-order mark.]",
            "utf-16be",
        ),
        (
            "latin1",
            b"caf\xe9\n".to_vec(),
            "1\tcafé\n[The file is not UTF-8; it is shown as Latin-1 (a guess).]",
            "latin-1",
        ),
        (
            "mixed",
            b"caf\xc3\xa9 \xff\n".to_vec(),
            "1\tcafé \u{fffd}\n[Some bytes are not UTF-8 and are shown as \u{fffd}.]",
            "utf-8",
        ),
        (
            "only mark",
            b"\xef\xbb\xbf".to_vec(),
            "1\t\n[The file begins with a byte-order mark, which is not shown.]",
            "utf-8",
        ),
    ];
    for (path, bytes, text, encoding) in table {
        fixture.put(path, bytes);
        let outcome = fixture.ok("read_file", json!({"path": path})).await;
        assert_eq!(outcome.text, text, "{path}");
        assert_eq!(outcome.details.unwrap()["encoding"], encoding, "{path}");
    }
}

/// A PNG of one pixel, as far as anybody here looks at it.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0";

#[tokio::test]
async fn images_are_handed_on() {
    let fixture = ToolFixture::new();
    let table: [(&str, &[u8], Value); 4] = [
        ("a.png", PNG, json!({"mime_type": "image/png", "width": 640, "height": 480})),
        ("b.gif", b"GIF89a\x03\0\x02\0\0\0\0;", json!({"mime_type": "image/gif", "width": 3, "height": 2})),
        ("broken.png", b"\x89PNG\r\n\x1a\n", json!({"mime_type": "image/png"})),
        ("photo.txt", b"\xff\xd8\xff\xe0", json!({"mime_type": "image/jpeg"})),
    ];
    for (path, bytes, image) in table {
        fixture.put(path, bytes);
        let outcome = fixture.ok("read_file", json!({"path": path, "start_line": 5})).await;
        let mime_type = image["mime_type"].as_str().unwrap().to_owned();
        assert!(outcome.text.starts_with(&format!("[`{path}` is an image ({mime_type}")), "{}", outcome.text);
        assert_eq!(outcome.details.unwrap(), json!({"bytes": bytes.len(), "image": image}), "{path}");
        assert_eq!(outcome.attachments, [(mime_type, bytes.to_vec())], "{path}");
    }
    let mut large = PNG.to_vec();
    large.resize(3_750_001, 0);
    fixture.put("large.png", large);
    let text = fixture.refusal("read_file", json!({"path": "large.png"})).await;
    assert!(text.contains("3750001 bytes; the limit is 3750000"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_read_is_named() {
    let fixture = ToolFixture::new();
    let table: [(&str, &[u8], &str); 4] = [
        ("data", b"text\0more", "it is binary data of 9 bytes"),
        ("paper.pdf", b"%PDF-1.7\n", "it is a PDF document of 9 bytes. Convert it"),
        ("a.zip", b"PK\x03\x04\0", "it is a ZIP archive"),
        ("program", b"\x7fELF\0", "it is an ELF executable"),
    ];
    for (path, bytes, expected) in table {
        fixture.put(path, bytes);
        let text = fixture.refusal("read_file", json!({"path": path})).await;
        assert!(text.contains(expected), "{text}");
    }
}
