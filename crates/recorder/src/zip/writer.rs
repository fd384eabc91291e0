//! Writing an archive from its beginning to its end, without going back.

use std::io::{self, Write};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use miniz_oxide::DataFormat;
use miniz_oxide::deflate::CompressionLevel;
use miniz_oxide::deflate::core::CompressorOxide;
use miniz_oxide::deflate::stream::deflate;
use miniz_oxide::{MZFlush, MZStatus};

use super::checksum::Checksum;
use super::{DEFLATED, DESCRIPTOR, DIRECTORY_HEADER, END, LOCAL_HEADER, NAME_IS_UTF8, SIZES_FOLLOW};

/// Bytes that are compressed at a time.
const BUFFER: usize = 32 << 10;
/// The version of the format that is needed: 2.0, for deflate.
const VERSION: u16 = 20;
/// Made on Unix, so that the mode below is understood.
const MADE_BY: u16 = 3 << 8 | VERSION;
/// A regular file for its owner alone.
const MODE: u32 = 0o100_600 << 16;

/// Writes an archive. Without [`ZipWriter::finish`] it is none.
pub(crate) struct ZipWriter<W> {
    out: W,
    position: u64,
    /// The date and the time of all entries, as the format has them.
    stamp: [u8; 4],
    entries: Vec<Written>,
}

struct Written {
    name: String,
    checksum: u32,
    compressed: u32,
    size: u32,
    offset: u32,
}

impl<W: Write> ZipWriter<W> {
    /// An archive whose entries say that they were written then.
    pub(crate) fn new(out: W, at: Timestamp) -> ZipWriter<W> {
        ZipWriter { out, position: 0, stamp: stamp(at), entries: Vec::new() }
    }

    /// Adds a file with what `write` writes.
    pub(crate) fn add(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let offset = self.limited(self.position)?;
        self.put(&LOCAL_HEADER.to_le_bytes())?;
        self.put(&VERSION.to_le_bytes())?;
        self.put_common([0; 3], name)?;
        self.put(&0_u16.to_le_bytes())?;
        self.put(name.as_bytes())?;
        let mut entry = Compressing::new(&mut self.out);
        write(&mut entry)?;
        let (checksum, compressed, size) = entry.finish()?;
        self.position += compressed;
        let sizes = [checksum, self.limited(compressed)?, self.limited(size)?];
        self.put(&DESCRIPTOR.to_le_bytes())?;
        sizes.iter().try_for_each(|number| self.put(&number.to_le_bytes()))?;
        let [checksum, compressed, size] = sizes;
        self.entries.push(Written { name: name.to_owned(), checksum, compressed, size, offset });
        Ok(())
    }

    /// Writes the directory, which makes it an archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let start = self.limited(self.position)?;
        let entries = std::mem::take(&mut self.entries);
        for entry in &entries {
            self.put(&DIRECTORY_HEADER.to_le_bytes())?;
            self.put(&MADE_BY.to_le_bytes())?;
            self.put(&VERSION.to_le_bytes())?;
            self.put_common([entry.checksum, entry.compressed, entry.size], &entry.name)?;
            // No extra field, no comment, the first disk, no internal attributes.
            self.put(&[0; 8])?;
            self.put(&MODE.to_le_bytes())?;
            self.put(&entry.offset.to_le_bytes())?;
            self.put(entry.name.as_bytes())?;
        }
        let length = self.limited(self.position)? - start;
        let count = u16::try_from(entries.len()).map_err(|_| too_large())?;
        self.put(&END.to_le_bytes())?;
        self.put(&[0; 4])?;
        self.put(&count.to_le_bytes())?;
        self.put(&count.to_le_bytes())?;
        self.put(&length.to_le_bytes())?;
        self.put(&start.to_le_bytes())?;
        self.put(&[0; 2])?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// What both kinds of header have in common: from the flags to the length of the name.
    fn put_common(&mut self, sizes: [u32; 3], name: &str) -> io::Result<()> {
        self.put(&(SIZES_FOLLOW | NAME_IS_UTF8).to_le_bytes())?;
        self.put(&DEFLATED.to_le_bytes())?;
        let stamp = self.stamp;
        self.put(&stamp)?;
        sizes.iter().try_for_each(|number| self.put(&number.to_le_bytes()))?;
        let length = u16::try_from(name.len()).map_err(|_| too_large())?;
        self.put(&length.to_le_bytes())?;
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    fn limited(&self, number: u64) -> io::Result<u32> {
        u32::try_from(number).ok().filter(|number| *number < u32::MAX).ok_or_else(too_large)
    }
}

/// Compresses one entry on its way out.
struct Compressing<'a, W> {
    out: &'a mut W,
    compressor: Box<CompressorOxide>,
    buffer: Vec<u8>,
    checksum: Checksum,
    compressed: u64,
    size: u64,
}

impl<'a, W: Write> Compressing<'a, W> {
    fn new(out: &'a mut W) -> Compressing<'a, W> {
        let compressor =
            CompressorOxide::with_format_and_level(DataFormat::Raw, CompressionLevel::DefaultLevel);
        Compressing {
            out,
            compressor: Box::new(compressor),
            buffer: vec![0; BUFFER],
            checksum: Checksum::new(),
            compressed: 0,
            size: 0,
        }
    }

    /// The checksum, and how many bytes it became and was.
    fn finish(mut self) -> io::Result<(u32, u64, u64)> {
        while self.compress(&[], MZFlush::Finish)?.1 != MZStatus::StreamEnd {}
        Ok((self.checksum.value(), self.compressed, self.size))
    }

    fn compress(&mut self, bytes: &[u8], flush: MZFlush) -> io::Result<(usize, MZStatus)> {
        let result = deflate(&mut self.compressor, bytes, &mut self.buffer, flush);
        let status =
            result.status.map_err(|error| io::Error::other(format!("cannot compress: {error:?}")))?;
        self.out.write_all(&self.buffer[..result.bytes_written])?;
        self.compressed += result.bytes_written as u64;
        Ok((result.bytes_consumed, status))
    }
}

impl<W: Write> Write for Compressing<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (consumed, _) = self.compress(rest, MZFlush::None)?;
            rest = &rest[consumed..];
        }
        self.checksum.update(bytes);
        self.size += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The time and the date in two bytes each. There are no years before 1980 and after 2107.
fn stamp(at: Timestamp) -> [u8; 4] {
    let at = at.to_zoned(TimeZone::UTC);
    let year = at.year().clamp(1980, 2107) - 1980;
    let part = |number: i8| u16::try_from(number).unwrap_or(0);
    let time = part(at.hour()) << 11 | part(at.minute()) << 5 | (part(at.second()) / 2);
    let date = u16::try_from(year).unwrap_or(0) << 9 | part(at.month()) << 5 | part(at.day());
    let ([a, b], [c, d]) = (time.to_le_bytes(), date.to_le_bytes());
    [a, b, c, d]
}

fn too_large() -> io::Error {
    let text = "the session is larger than a zip archive can be; export it as ndjson instead";
    io::Error::new(io::ErrorKind::FileTooLarge, text)
}
