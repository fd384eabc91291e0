//! Reading an archive that anybody may have made. Every number in it is a claim: sizes are counted while reading,
//! and the checksum decides.

use std::io::{self, Read, Seek, SeekFrom};

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZError, MZFlush, MZStatus};

use super::checksum::Checksum;
use super::{DEFLATED, DIRECTORY_HEADER, ENCRYPTED, END, LOCAL_HEADER, STORED};

/// The bytes of the end record without its comment, and the longest comment.
const END_LENGTH: u64 = 22;
const MAX_COMMENT: u64 = 0xffff;
const DIRECTORY_ENTRY: usize = 46;
const LOCAL_ENTRY: usize = 30;
/// Entries in an archive. A session has at most a few hundred files.
const MAX_ENTRIES: usize = 10_000;
/// Bytes of the directory.
const MAX_DIRECTORY: u64 = 8 << 20;
const BUFFER: usize = 32 << 10;

/// An archive whose directory has been read.
pub(crate) struct ZipReader<R> {
    input: R,
    /// Its entries, in their order.
    pub(crate) entries: Vec<Entry>,
}

/// What the directory says of an entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    /// Its name, as it stands.
    pub(crate) name: String,
    method: u16,
    checksum: u32,
    compressed: u64,
    offset: u64,
}

impl<R: Read + Seek> ZipReader<R> {
    /// Reads the directory.
    pub(crate) fn open(mut input: R) -> io::Result<ZipReader<R>> {
        let length = input.seek(SeekFrom::End(0))?;
        let tail_start = length.saturating_sub(END_LENGTH + MAX_COMMENT);
        let tail = read_at(&mut input, tail_start, length - tail_start)?;
        let signature = END.to_le_bytes();
        let found = tail.windows(END_LENGTH as usize).rposition(|window| window.starts_with(&signature));
        let end = &tail[found.ok_or_else(|| damaged("it is no zip archive, or its end is missing"))?..];
        let count = usize::from(number16(end, 10));
        let (size, start) = (u64::from(number32(end, 12)), u64::from(number32(end, 16)));
        if count > MAX_ENTRIES || size > MAX_DIRECTORY {
            return Err(damaged("it has more entries than a session can have"));
        }
        if start.checked_add(size).is_none_or(|end| end > length) {
            return Err(damaged("its directory is cut off"));
        }
        let directory = read_at(&mut input, start, size)?;
        let entries = parse_directory(&directory, count)?;
        Ok(ZipReader { input, entries })
    }

    /// The bytes of an entry, as they are read.
    pub(crate) fn read(&mut self, entry: &Entry) -> io::Result<EntryReader<'_, R>> {
        let header = read_at(&mut self.input, entry.offset, LOCAL_ENTRY as u64)?;
        if header.len() < LOCAL_ENTRY || number32(&header, 0) != LOCAL_HEADER {
            return Err(damaged("an entry is not where the directory says"));
        }
        let skipped = u64::from(number16(&header, 26)) + u64::from(number16(&header, 28));
        self.input.seek(SeekFrom::Start(entry.offset + LOCAL_ENTRY as u64 + skipped))?;
        let inflate = (entry.method == DEFLATED).then(|| InflateState::new_boxed(DataFormat::Raw));
        Ok(EntryReader {
            input: (&mut self.input).take(entry.compressed),
            inflate,
            buffer: vec![0; BUFFER],
            waiting: 0..0,
            checksum: Checksum::new(),
            expected: entry.checksum,
            ended: false,
        })
    }
}

/// Reads one entry. The last read fails if the bytes were not those that the directory promised.
pub(crate) struct EntryReader<'a, R> {
    input: io::Take<&'a mut R>,
    inflate: Option<Box<InflateState>>,
    buffer: Vec<u8>,
    /// What of the buffer is still to be inflated.
    waiting: std::ops::Range<usize>,
    checksum: Checksum,
    expected: u32,
    ended: bool,
}

impl<R: Read> Read for EntryReader<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ended || out.is_empty() {
            return Ok(0);
        }
        let read = match self.inflate.is_some() {
            true => self.inflate(out)?,
            false => self.input.read(out)?,
        };
        self.checksum.update(&out[..read]);
        if read == 0 {
            self.ended = true;
            if self.checksum.value() != self.expected {
                return Err(damaged("an entry does not match its checksum"));
            }
        }
        Ok(read)
    }
}

impl<R: Read> EntryReader<'_, R> {
    fn inflate(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let state = self.inflate.as_mut().expect("only called for an entry that is deflated");
        loop {
            if self.waiting.is_empty() {
                self.waiting = 0..self.input.read(&mut self.buffer)?;
            }
            let cut_off = self.waiting.is_empty();
            let result = inflate(state, &self.buffer[self.waiting.clone()], out, MZFlush::None);
            self.waiting.start += result.bytes_consumed;
            match result.status {
                Ok(MZStatus::StreamEnd) => return Ok(result.bytes_written),
                Ok(MZStatus::Ok) | Err(MZError::Buf) if result.bytes_written > 0 => {
                    return Ok(result.bytes_written);
                }
                Ok(MZStatus::Ok) | Err(MZError::Buf) if !cut_off => {}
                _ => return Err(damaged("an entry cannot be decompressed")),
            }
        }
    }
}

fn parse_directory(directory: &[u8], count: usize) -> io::Result<Vec<Entry>> {
    let mut rest = directory;
    let mut entries = Vec::with_capacity(count);
    for _ in 0..count {
        if rest.len() < DIRECTORY_ENTRY || number32(rest, 0) != DIRECTORY_HEADER {
            return Err(damaged("its directory is not whole"));
        }
        let (name, extra, comment) = (number16(rest, 28), number16(rest, 30), number16(rest, 32));
        let name_end = DIRECTORY_ENTRY + usize::from(name);
        let end = name_end + usize::from(extra) + usize::from(comment);
        let name = rest.get(DIRECTORY_ENTRY..name_end).and_then(|name| std::str::from_utf8(name).ok());
        let name = name.ok_or_else(|| damaged("an entry has a name that is not UTF-8"))?.to_owned();
        let method = number16(rest, 10);
        if number16(rest, 8) & ENCRYPTED != 0 || !matches!(method, STORED | DEFLATED) {
            return Err(damaged("an entry is encrypted, or compressed in an unusual way"));
        }
        entries.push(Entry {
            name,
            method,
            checksum: number32(rest, 16),
            compressed: u64::from(number32(rest, 20)),
            offset: u64::from(number32(rest, 42)),
        });
        rest = rest.get(end..).ok_or_else(|| damaged("its directory is not whole"))?;
    }
    Ok(entries)
}

fn read_at(input: &mut (impl Read + Seek), start: u64, length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.seek(SeekFrom::Start(start))?;
    input.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn number16(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn number32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn damaged(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use jiff::Timestamp;

    use super::ZipReader;
    use crate::zip::ZipWriter;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ZipWriter::new(Vec::new(), Timestamp::UNIX_EPOCH);
        for (name, content) in files {
            writer.add(name, |out| content.chunks(1000).try_for_each(|some| out.write_all(some))).unwrap();
        }
        writer.finish().unwrap()
    }

    fn all(bytes: &[u8]) -> std::io::Result<Vec<(String, Vec<u8>)>> {
        let mut reader = ZipReader::open(Cursor::new(bytes))?;
        let entries = reader.entries.clone();
        let mut files = Vec::new();
        for entry in entries {
            let mut content = Vec::new();
            reader.read(&entry)?.take(10 << 20).read_to_end(&mut content)?;
            files.push((entry.name, content));
        }
        Ok(files)
    }

    #[test]
    fn what_is_written_is_read() {
        let noise: Vec<u8> = (0..300_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        let files: [(&str, &[u8]); 4] =
            [("a.txt", b"hello"), ("empty", b""), ("deep/ü.bin", &noise), ("zeros", &[0; 200_000])];
        let bytes = archive(&files);
        let read = all(&bytes).unwrap();
        assert_eq!(read.len(), files.len());
        for ((name, content), (read_name, read_content)) in files.iter().zip(&read) {
            assert_eq!((name, content), (&read_name.as_str(), &read_content.as_slice()));
        }
        assert!(bytes.len() < 310_000, "{}", bytes.len());
    }

    #[test]
    fn no_damaged_byte_gives_other_content() {
        let files: [(&str, &[u8]); 2] = [("a", b"hello, hello, hello"), ("b", b"world")];
        let good = archive(&files);
        let truth: Vec<Vec<u8>> = all(&good).unwrap().into_iter().map(|(_, content)| content).collect();
        for at in 0..good.len() {
            for flip in [0x01, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] ^= flip;
                if let Ok(read) = all(&bad) {
                    let read: Vec<Vec<u8>> = read.into_iter().map(|(_, content)| content).collect();
                    assert!(read == truth || read.len() < truth.len(), "byte {at} with {flip:#x}");
                }
            }
        }
        for length in 0..good.len() {
            assert!(all(&good[..length]).is_err(), "cut to {length}");
        }
    }
}
