//! Fixtures are data directories like any other: the log and the index find in them what was asked for.

use std::sync::Arc;

use ostler_bench::fixture::DataFixture;
use ostler_eventlog::{FileLog, Log, RealDisk};
use ostler_index::{Index, ListFilter, OpenedIndex, SqliteIndex};

#[tokio::test]
async fn a_fixture_is_whole_settled_and_listed() {
    let root = tempfile::tempdir().unwrap();
    let fixture = DataFixture::make(root.path(), 12, 5000).await.unwrap();
    let log = FileLog::open(&fixture.data, Arc::new(RealDisk)).unwrap();
    assert_eq!(log.sessions(None, 100).await.unwrap().len(), 13);
    assert!(log.unsettled().await.unwrap().is_empty());
    assert_eq!(log.last_seq(DataFixture::id(3)).await.unwrap(), 6);
    let check = log.check(fixture.long_id()).await.unwrap();
    assert!(check.damage.is_none() && check.records >= 5000, "{check:?}");
    let (index, opened) = SqliteIndex::open(&fixture.data.join("index.db")).unwrap();
    assert_eq!(opened, OpenedIndex::Existing);
    assert_eq!(index.position(fixture.long_id()).await.unwrap(), check.records);
    let page = index.list(ListFilter { limit: 5, ..ListFilter::default() }).await.unwrap();
    assert_eq!(page.sessions[0].session.id, fixture.long_id());
    assert_eq!(page.sessions.len(), 5);
    drop((log, index));
    // What is there is not made again.
    let again = DataFixture::make(root.path(), 12, 5000).await.unwrap();
    assert_eq!(again.long_id(), fixture.long_id());
}
