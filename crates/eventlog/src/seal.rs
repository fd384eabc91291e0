//! Turns new records into the lines that every storage keeps and every client is shown. Pure, so that two storages
//! keep the same bytes. Where the lines go is left to each storage.

use bytes::Bytes;
use ostler_types::{NewRecord, Record, SessionId};

use crate::log::{LogError, LogLine};
use crate::sealed_line::{MAX_APPEND, MAX_LINE, RecordChain, seal, sealed_length, verify, without_chain};

/// The lines of records that follow `previous`, the session's newest line; `None` for a new session.
pub fn seal_records(
    session: SessionId,
    first_seq: u64,
    previous: Option<&LogLine>,
    records: Vec<NewRecord>,
) -> Result<Vec<LogLine>, LogError> {
    let (encoded, _) = encode(session, first_seq, records)?;
    let mut chain = previous.and_then(|line| RecordChain::claimed(&line.bytes)).unwrap_or(RecordChain::START);
    let sealed = encoded.iter().zip(first_seq..).map(|(plain, seq)| {
        let mut bytes = Vec::with_capacity(sealed_length(plain));
        chain = seal(plain, chain, &mut bytes);
        LogLine { seq, bytes: Bytes::from(bytes) }
    });
    Ok(sealed.collect())
}

/// The records in lines that another log sealed, as JSON without their chains, once each line is proven to follow
/// the one before it; `previous` is the session's newest line. Sealed again, they are the same bytes.
pub fn unseal_lines(
    session: SessionId,
    previous: Option<&LogLine>,
    lines: &[LogLine],
) -> Result<Vec<Vec<u8>>, LogError> {
    let mut chain = previous.and_then(|line| RecordChain::claimed(&line.bytes)).unwrap_or(RecordChain::START);
    let (id, next_seq) = (session.to_string(), previous.map_or(1, |line| line.seq + 1));
    let mut records = Vec::with_capacity(lines.len());
    let mut total = 0;
    for (line, seq) in lines.iter().zip(next_seq..) {
        let damaged = |what: &str| LogError::Damaged { seq, offset: None, what: what.to_owned() };
        chain = verify(&line.bytes, &id, seq, chain).map_err(damaged)?;
        total += line.bytes.len() + 2;
        records.push(without_chain(&line.bytes));
    }
    if total > MAX_APPEND {
        return Err(LogError::TooLarge { size: total, limit: MAX_APPEND });
    }
    Ok(records)
}

/// The records as JSON with their seqs, and their size.
pub(crate) fn encode(
    session_id: SessionId,
    first_seq: u64,
    records: Vec<NewRecord>,
) -> Result<(Vec<Vec<u8>>, usize), LogError> {
    let (mut encoded, mut total) = (Vec::with_capacity(records.len()), 0);
    for (NewRecord { ts, turn_id, event }, seq) in records.into_iter().zip(first_seq..) {
        let record = Record { seq, ts, session_id, turn_id, event };
        let plain = serde_json::to_vec(&record)
            .map_err(|error| LogError::Io(format!("a record cannot be written as JSON: {error}")))?;
        let size = sealed_length(&plain);
        if size > MAX_LINE {
            return Err(LogError::TooLarge { size, limit: MAX_LINE });
        }
        total += size + 2;
        encoded.push(plain);
    }
    if total > MAX_APPEND {
        return Err(LogError::TooLarge { size: total, limit: MAX_APPEND });
    }
    Ok((encoded, total))
}
