//! Reading from anywhere in a long log, without reading all of it.

use ostler_eventlog::Log;

use crate::fixture::{ALL, EPOCH, LogFixture, record, session};

const RECORDS: u64 = 20_000;

/// A log of lines of many lengths.
async fn long_log(data: &LogFixture) -> Vec<Vec<u8>> {
    let log = data.open();
    let id = session(1);
    let mut next = 1;
    while next <= RECORDS {
        let batch: Vec<_> = (next..next + 500)
            .map(|seq| {
                let size = if seq % 997 == 0 { 100_000 } else { (seq * 7919 % 300) as usize };
                record(&format!("{seq} {}", "x".repeat(size)))
            })
            .collect();
        log.append(id, EPOCH, next, batch).await.unwrap();
        next += 500;
    }
    let file = std::fs::read(data.log_path(id)).unwrap();
    let lines = file.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.map(|line| line.strip_suffix(b" ").unwrap_or(line).to_vec()).collect()
}

#[tokio::test]
async fn any_record_of_a_long_log_is_found_without_reading_the_rest() {
    let data = LogFixture::new();
    let naive = long_log(&data).await;
    assert_eq!(naive.len() as u64, RECORDS);
    let log = data.open();
    let id = session(1);
    let size = std::fs::metadata(data.log_path(id)).unwrap().len();

    assert_eq!(log.last_seq(id).await.unwrap(), RECORDS);
    let before = log.bytes_read();
    let tail = log.read(id, RECORDS - 5, ALL).await.unwrap();
    let read = log.bytes_read() - before;
    assert_eq!(tail.len(), 6);
    assert!(read < 400_000 && read < size / 10, "{read} of {size} bytes were read for the tail");

    let around = [1, 2, 3, 996, 997, 998, 10_000, RECORDS - 1, RECORDS];
    for from in around.into_iter().chain((1..RECORDS).step_by(613)) {
        let lines = log.read(id, from, 2_000).await.unwrap();
        assert!(!lines.is_empty());
        for (line, seq) in lines.iter().zip(from..) {
            assert_eq!(line.seq, seq);
            assert_eq!(&line.bytes[..], &naive[usize::try_from(seq).unwrap() - 1][..]);
        }
        let total: usize = lines.iter().map(|line| line.bytes.len()).sum();
        let last = lines.last().unwrap().bytes.len();
        assert!(total - last < 2_000, "more was read than asked for");
    }
    let mut all = Vec::new();
    while (all.len() as u64) < RECORDS {
        all.extend(log.read(id, all.len() as u64 + 1, 1 << 20).await.unwrap());
    }
    assert!(all.iter().zip(&naive).all(|(line, naive)| line.bytes[..] == naive[..]));
    assert!(log.read(id, RECORDS + 1, ALL).await.unwrap().is_empty());
    assert_eq!(log.check(id).await.unwrap().records, RECORDS);
}
