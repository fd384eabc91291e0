//! What a command prints, kept within bounds: shown as it comes, remembered up to a limit, and for
//! the model cut to head and tail. It reads nothing itself; the process loop feeds it.

use std::borrow::Cow;

use ostler_runner::OutputSink;

use crate::text::{head, tail};

/// How much of the output the model sees.
const SHOWN_BYTES: usize = 32 * 1024;
/// How much of the output is kept.
const KEPT_BYTES: usize = 8 * 1024 * 1024;

/// The output of one command, both streams in the order in which they came.
pub(crate) struct OutputCapture<'a> {
    sink: &'a OutputSink,
    kept: String,
    tail: String,
    total: usize,
}

/// The output when the command is over.
pub(crate) struct CapturedOutput {
    /// Head and tail.
    pub(crate) text: String,
    /// All that was kept, where `text` leaves some out.
    pub(crate) whole: Option<Vec<u8>>,
}

impl<'a> OutputCapture<'a> {
    pub(crate) fn new(sink: &'a OutputSink) -> OutputCapture<'a> {
        OutputCapture { sink, kept: String::new(), tail: String::new(), total: 0 }
    }

    /// Takes what a stream printed. What is not kept is not shown either: it is only counted.
    pub(crate) fn push(&mut self, stream: &'static str, text: &str) {
        if text.is_empty() {
            return;
        }
        let was_full = self.kept.len() < self.total;
        self.total += text.len();
        if !was_full {
            let part = head(text, KEPT_BYTES - self.kept.len());
            self.kept.push_str(part);
            if !part.is_empty() {
                (self.sink)(stream, part);
            }
            if part.len() < text.len() {
                (self.sink)(stream, "\n[Output limit reached; the rest is not shown.]\n");
            }
        }
        self.tail.push_str(text);
        if self.tail.len() > 4 * SHOWN_BYTES {
            self.tail = tail(&self.tail, SHOWN_BYTES).to_owned();
        }
    }

    pub(crate) fn finish(self) -> CapturedOutput {
        if self.total <= SHOWN_BYTES {
            return CapturedOutput { text: self.kept, whole: None };
        }
        let first = head(&self.kept, SHOWN_BYTES / 2);
        let last = tail(&self.tail, SHOWN_BYTES / 2);
        let left_out = self.total - first.len() - last.len();
        let kept = if self.kept.len() < self.total {
            format!("; only the first {} of {} bytes were kept", self.kept.len(), self.total)
        } else {
            String::new()
        };
        let text = format!("{first}\n[… {left_out} bytes truncated{kept} …]\n{last}");
        CapturedOutput { text, whole: Some(self.kept.into_bytes()) }
    }
}

/// Makes text of the bytes of one stream, whose reads may end within a character.
#[derive(Default)]
pub(crate) struct OutputDecoder {
    /// The start of a character whose rest has not come: three bytes at most.
    pending: Vec<u8>,
}

impl OutputDecoder {
    pub(crate) fn push<'a>(&mut self, bytes: &'a [u8]) -> Cow<'a, str> {
        // Nearly all output is text that is cut between characters, and there may be very much of it.
        if self.pending.is_empty()
            && let Ok(text) = std::str::from_utf8(bytes)
        {
            return Cow::Borrowed(text);
        }
        let mut data = std::mem::take(&mut self.pending);
        data.extend_from_slice(bytes);
        let mut text = String::with_capacity(data.len());
        let mut at = 0;
        for chunk in data.utf8_chunks() {
            text.push_str(chunk.valid());
            at += chunk.valid().len() + chunk.invalid().len();
            if chunk.invalid().is_empty() {
                continue;
            }
            if at == data.len() && is_incomplete(chunk.invalid()) {
                self.pending = chunk.invalid().to_vec();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        Cow::Owned(text)
    }

    /// What is left when the stream has ended.
    pub(crate) fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.pending).is_empty() { "" } else { "\u{fffd}" }
    }
}

fn is_incomplete(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_err_and(|error| error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::{KEPT_BYTES, OutputCapture, OutputDecoder, SHOWN_BYTES};

    #[test]
    fn characters_are_put_together_again() {
        let text = "aé漢🦀z";
        for split in 0..=text.len() {
            let mut decoder = OutputDecoder::default();
            let (first, second) = text.as_bytes().split_at(split);
            let decoded = decoder.push(first).into_owned() + &decoder.push(second) + decoder.finish();
            assert_eq!(decoded, text, "split at {split}");
        }
        let mut decoder = OutputDecoder::default();
        let decoded: String = text.bytes().map(|byte| decoder.push(&[byte]).into_owned()).collect();
        assert_eq!(decoded, text);
    }

    #[test]
    fn bytes_that_are_no_text_are_replaced() {
        let mut decoder = OutputDecoder::default();
        assert_eq!(decoder.push(b"a\xffb\xc3"), "a\u{fffd}b");
        assert_eq!(decoder.push(b"c"), "\u{fffd}c");
        assert_eq!(decoder.push(b"\xf0\x9f"), "");
        assert_eq!(decoder.finish(), "\u{fffd}");
        assert_eq!(decoder.finish(), "");
    }

    #[test]
    fn short_output_is_kept_as_it_is() {
        let mut capture = OutputCapture::new(&|_, _| {});
        capture.push("stdout", "one\n");
        capture.push("stderr", "two\n");
        let captured = capture.finish();
        assert_eq!(captured.text, "one\ntwo\n");
        assert_eq!(captured.whole, None);
    }

    #[test]
    fn long_output_keeps_head_and_tail_and_all_that_fits() {
        let shown = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&shown);
        let sink = move |_: &'static str, text: &str| {
            counter.fetch_add(text.len(), Ordering::Relaxed);
        };
        let mut capture = OutputCapture::new(&sink);
        capture.push("stdout", "first");
        let filler = "é".repeat(500_000);
        for _ in 0..20 {
            capture.push("stdout", &filler);
        }
        capture.push("stdout", "last");
        let captured = capture.finish();
        assert!(captured.text.starts_with("firsté"));
        assert!(captured.text.ends_with("élast"));
        assert!(captured.text.len() <= SHOWN_BYTES + 200, "{}", captured.text.len());
        assert!(captured.text.contains("bytes truncated; only the first"));
        let whole = captured.whole.expect("the output was cut");
        assert!(whole.len() <= KEPT_BYTES && whole.len() >= KEPT_BYTES - 1);
        let shown = shown.load(Ordering::Relaxed);
        assert!(shown >= whole.len() && shown < whole.len() + 200, "{shown}");
    }
}
