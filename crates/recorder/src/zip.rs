//! Zip archives, as much of them as a session needs: written in one pass, read with suspicion.
//!
//! No encryption, no zip64 and so nothing of 4 GiB, no folders as entries. What the entries mean is left to `export`
//! and `import`.

mod checksum;
mod reader;
mod writer;

pub(crate) use reader::{Entry, ZipReader};
pub(crate) use writer::ZipWriter;

/// The signatures that the parts of an archive begin with.
const LOCAL_HEADER: u32 = 0x0403_4b50;
const DESCRIPTOR: u32 = 0x0807_4b50;
const DIRECTORY_HEADER: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;

/// How an entry's bytes are stored.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;

/// Flags of an entry.
const ENCRYPTED: u16 = 1;
const SIZES_FOLLOW: u16 = 1 << 3;
const NAME_IS_UTF8: u16 = 1 << 11;
