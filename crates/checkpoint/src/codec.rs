//! Numbers and texts in files: numbers little-endian, texts after their length in four bytes. What
//! the fields mean is left to the files' own modules.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::digest::ContentDigest;

/// Appends fields.
#[derive(Debug, Default)]
pub(crate) struct FieldWriter(pub(crate) Vec<u8>);

impl FieldWriter {
    pub(crate) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(crate) fn u32(&mut self, number: u32) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, number: u64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn i64(&mut self, number: i64) {
        self.0.extend(number.to_le_bytes());
    }

    pub(crate) fn count(&mut self, number: usize) {
        self.u32(u32::try_from(number).expect("paths, targets and counts are bounded far below 4 GiB"));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    pub(crate) fn path(&mut self, path: &Path) {
        self.bytes(path.as_os_str().as_bytes());
    }

    pub(crate) fn digest(&mut self, digest: &ContentDigest) {
        self.0.extend_from_slice(&digest.0);
    }
}

/// What is still to be read. Every read says `None` where there is too little.
#[derive(Debug)]
pub(crate) struct FieldReader<'a>(pub(crate) &'a [u8]);

impl<'a> FieldReader<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (array, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*array)
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.u32()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    pub(crate) fn path(&mut self) -> Option<&'a Path> {
        self.bytes().map(|bytes| Path::new(OsStr::from_bytes(bytes)))
    }

    pub(crate) fn digest(&mut self) -> Option<ContentDigest> {
        self.array().map(ContentDigest)
    }
}

/// The FNV-1a sum, to tell a damaged file from a whole one.
pub(crate) fn fnv1a_checksum(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
