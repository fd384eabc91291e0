//! `multipart/form-data`, taken apart in place: which fields there are, and where their contents lie in
//! a body that is wholly there. What the fields mean is left to the route.
//!
//! Our own, because `multer` (which axum uses as well) would lose three things. It copies a body that is in memory into
//! a buffer of its own, and an upload has paid for one copy only. It takes the first bytes that look like the boundary
//! for the end of a file, even where others follow on the same line and the file goes on. And it puts no limit on the
//! bytes of a field's headers.

use std::ops::Range;

use axum::http::{HeaderMap, header};
use memchr::memmem::Finder;
use ostler_door_kit::DoorError;

/// Fields that are looked at; a form for one file has one.
const MAX_FIELDS: usize = 16;
/// Bytes of headers before a field.
const MAX_HEADERS: usize = 8 << 10;

/// A field of a form.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FormField {
    pub(super) name: String,
    /// What the file is called, as the client says.
    pub(super) file_name: Option<String>,
    /// Where its content lies in the body.
    pub(super) content: Range<usize>,
}

/// The boundary, if the body says that it is a form.
pub(super) fn boundary(headers: &HeaderMap) -> Option<String> {
    let kind = headers.get(header::CONTENT_TYPE)?.to_str().ok()?;
    let mut params = params(kind);
    let essence = params.next().map(|(name, _)| name)?;
    if essence != "multipart/form-data" {
        return None;
    }
    let boundary = params.find(|(name, _)| name == "boundary").map(|(_, value)| value)?;
    (1..=70).contains(&boundary.len()).then_some(boundary)
}

/// The fields of a form.
pub(super) fn fields(body: &[u8], boundary: &str) -> Result<Vec<FormField>, DoorError> {
    let line = format!("\r\n--{boundary}");
    let delimiters = Finder::new(line.as_bytes());
    // The first delimiter may be the very beginning, without a line before it.
    let mut at = if body.starts_with(&line.as_bytes()[2..]) {
        delimiter_end(body, line.len() - 2)
    } else {
        next_delimiter(body, 0, &delimiters).and_then(|(_, end)| delimiter_end(body, end))
    };
    let mut fields = Vec::new();
    loop {
        let start = match at {
            Some(Delimiter::Last) => return Ok(fields),
            Some(Delimiter::Field(start)) => start,
            None => return Err(malformed("it does not end with its boundary")),
        };
        if fields.len() == MAX_FIELDS {
            return Err(malformed("it has too many fields"));
        }
        let (headers, content) = headers(body, start)?;
        let (end, after) = next_delimiter(body, content, &delimiters)
            .ok_or_else(|| malformed("a field does not end with the boundary"))?;
        let (name, file_name) = disposition(headers)?;
        fields.push(FormField { name, file_name, content: content..end });
        at = delimiter_end(body, after);
    }
}

/// What comes after a boundary.
enum Delimiter {
    /// A field, whose headers begin here.
    Field(usize),
    /// Nothing that counts.
    Last,
}

/// Where the next delimiter begins and its boundary ends. The same bytes with others right behind them
/// are content.
fn next_delimiter(body: &[u8], mut from: usize, delimiters: &Finder<'_>) -> Option<(usize, usize)> {
    loop {
        let start = from + delimiters.find(&body[from..])?;
        let end = start + delimiters.needle().len();
        if delimiter_end(body, end).is_some() {
            return Some((start, end));
        }
        from = start + 2;
    }
}

fn delimiter_end(body: &[u8], end: usize) -> Option<Delimiter> {
    let rest = body.get(end..)?;
    if rest.starts_with(b"--") {
        return Some(Delimiter::Last);
    }
    let blanks = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    rest[blanks..].starts_with(b"\r\n").then_some(Delimiter::Field(end + blanks + 2))
}

/// The headers of a field, and where its content begins.
fn headers(body: &[u8], start: usize) -> Result<(&[u8], usize), DoorError> {
    let window = &body[start..body.len().min(start + MAX_HEADERS)];
    if window.starts_with(b"\r\n") {
        return Err(malformed("a field has no name"));
    }
    let length = memchr::memmem::find(window, b"\r\n\r\n")
        .ok_or_else(|| malformed("the headers of a field do not end"))?;
    Ok((&window[..length], start + length + 4))
}

/// The name of a field and of its file.
fn disposition(headers: &[u8]) -> Result<(String, Option<String>), DoorError> {
    let headers = String::from_utf8_lossy(headers);
    let value = headers.split("\r\n").find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.trim().eq_ignore_ascii_case("content-disposition").then_some(value)
    });
    let (mut name, mut file_name) = (None, None);
    for (param, value) in params(value.unwrap_or_default()).skip(1) {
        match param.as_str() {
            "name" => name = Some(value),
            "filename" => file_name = Some(from_form(&value)),
            _ => {}
        }
    }
    Ok((name.ok_or_else(|| malformed("a field has no name"))?, file_name))
}

/// A header's value in lower case, then its parameters; names in lower case, values as they are.
fn params(value: &str) -> impl Iterator<Item = (String, String)> + '_ {
    let mut rest = Some(value);
    std::iter::from_fn(move || {
        let (piece, after) = until_semicolon(rest?);
        rest = after;
        let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
        Some((name.trim().to_ascii_lowercase(), unquoted(value.trim())))
    })
}

/// The text up to a semicolon that is not in quotes, and what is behind it.
fn until_semicolon(text: &str) -> (&str, Option<&str>) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            ';' if !quoted => return (&text[..at], Some(&text[at + 1..])),
            _ => {}
        }
    }
    (text, None)
}

fn unquoted(value: &str) -> String {
    let Some(inner) = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')) else {
        return value.to_owned();
    };
    // A backslash before anything else is that of a path, written by a client that does not escape.
    inner.replace("\\\\", "\\").replace("\\\"", "\"")
}

/// Browsers write three characters of a file's name in this way, and no others.
fn from_form(name: &str) -> String {
    name.replace("%22", "\"").replace("%0D", "\r").replace("%0A", "\n")
}

fn malformed(what: &str) -> DoorError {
    DoorError::bad_request("malformed_multipart", format!("the body is not a form: {what}"))
}

#[cfg(test)]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header};

    use super::{boundary, fields};

    /// Name, file name and content.
    type Read = (String, Option<String>, Vec<u8>);

    fn read(body: &[u8]) -> Result<Vec<Read>, u16> {
        let fields = fields(body, "b0").map_err(|error| error.status.as_u16())?;
        Ok(fields
            .into_iter()
            .map(|field| (field.name, field.file_name, body[field.content].to_vec()))
            .collect())
    }

    #[test]
    fn a_form_is_taken_apart() {
        let body = b"preamble\r\n--b0\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a;\\\"b\\\".png\"\r\n\
            Content-Type: image/png\r\n\r\n\0\r\n--b0x\r\n--b\r\n\r\n--b0  \r\ncontent-disposition:form-data;name=x\r\n\r\n\
            \r\n--b0--\r\nepilogue";
        let file = ("file".to_owned(), Some("a;\"b\".png".to_owned()), b"\0\r\n--b0x\r\n--b\r\n".to_vec());
        assert_eq!(read(body).unwrap(), [file, ("x".to_owned(), None, Vec::new())]);
        assert_eq!(read(b"--b0--").unwrap(), []);
    }

    #[test]
    fn names_are_read_as_clients_write_them() {
        for (written, name) in [
            ("C:\\dir\\x.png", "C:\\dir\\x.png"),
            ("a%22b%0D%0A.txt", "a\"b\r\n.txt"),
            ("100%.txt", "100%.txt"),
            ("文件.txt", "文件.txt"),
            ("", ""),
        ] {
            let body = format!(
                "--b0\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{written}\"\r\n\r\nx\r\n--b0--\r\n"
            );
            assert_eq!(read(body.as_bytes()).unwrap()[0].1.as_deref(), Some(name));
        }
    }

    #[test]
    fn what_is_no_form_is_refused() {
        let field = "Content-Disposition: form-data; name=\"file\"\r\n\r\nx";
        for body in [
            String::new(),
            "x".to_owned(),
            "--b0".to_owned(),
            "--b0\r\n".to_owned(),
            format!("--b0\r\n{field}"),
            format!("--b0\r\n{field}\r\n--b0"),
            format!("--b0\r\n{field}\r\n--b1--"),
            format!("--b0\n{field}\n--b0--"),
            "--b0\r\n\r\nx\r\n--b0--".to_owned(),
            "--b0\r\nContent-Type: a/b\r\n\r\nx\r\n--b0--".to_owned(),
            format!("--b0\r\nX: {}\r\n{field}\r\n--b0--", "x".repeat(9000)),
            format!("{}--b0--", format!("--b0\r\n{field}\r\n").repeat(17)),
        ] {
            assert_eq!(read(body.as_bytes()), Err(400), "{:.80}", body.escape_debug().to_string());
        }
    }

    #[test]
    fn the_boundary_is_found() {
        for (kind, found) in [
            ("multipart/form-data; boundary=x", Some("x")),
            ("Multipart/Form-Data; charset=utf-8; Boundary=\"a b;c\"", Some("a b;c")),
            ("multipart/form-data", None),
            ("multipart/form-data; boundary=", None),
            ("multipart/mixed; boundary=x", None),
            ("application/json; boundary=x", None),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(kind))]);
            assert_eq!(boundary(&headers).as_deref(), found, "{kind}");
        }
    }
}
