//! What models were used for: fed once, summed up every way, removed with its session.

use jiff::Timestamp;
use ostler_index::{Index, IndexUpdate, ModelUse, UsageGrouping, UsageQuery, UsageReport, UsageTotal};
use ostler_types::{Cost, Session, Usage};

use crate::{IndexFixture, id, session, update};

/// A use of so many tokens each way, at so many seconds, with its price in billionths if it has one.
fn used(seq: u64, at: i64, model: &str, tokens: u64, nanos: Option<u64>) -> ModelUse {
    let usage = Usage {
        input_tokens: tokens,
        output_tokens: tokens,
        cached_tokens: tokens,
        cache_write_tokens: tokens,
        reasoning_tokens: tokens,
        cost_usd: nanos.map(Cost::from_nanos),
    };
    ModelUse { seq, at: Timestamp::from_second(at).unwrap(), model: model.to_owned(), usage }
}

fn uses(session: Session, after_seq: u64, last_seq: u64, uses: Vec<ModelUse>) -> IndexUpdate {
    IndexUpdate { uses, ..update(session, after_seq, last_seq, &[]) }
}

/// Each row's key, number of steps, input tokens and billionths of a dollar.
fn rows(report: &UsageReport) -> Vec<(&str, u64, u64, Option<u64>)> {
    report
        .rows
        .iter()
        .map(|row| (row.key.as_str(), row.sum.steps, tokens(&row.sum), nanos(&row.sum)))
        .collect()
}

fn tokens(sum: &UsageTotal) -> u64 {
    sum.usage.input_tokens
}

fn nanos(sum: &UsageTotal) -> Option<u64> {
    sum.usage.cost_usd.map(Cost::nanos)
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

#[tokio::test]
async fn each_use_counts_once_however_often_it_is_fed() {
    let fixture = IndexFixture::new();
    let first = uses(session(1, 1), 0, 2, vec![used(2, 10, "a:a", 5, Some(7))]);
    let second = uses(session(1, 2), 2, 4, vec![used(3, 20, "a:a", 6, Some(8)), used(4, 30, "b:b", 7, None)]);
    // The second comes before a hole is filled, and again when it is.
    for update in [&second, &first, &second, &first] {
        fixture.index.update(update.clone()).await.unwrap();
    }
    let all = fixture.usage(UsageQuery::new(UsageGrouping::Total)).await;
    assert_eq!(rows(&all), [("total", 3, 18, Some(15))]);
    let Usage { output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens, .. } = all.total.usage;
    assert_eq!([output_tokens, cached_tokens, cache_write_tokens, reasoning_tokens], [18; 4]);
    assert_eq!((all.total, all.total.unpriced_steps, all.left_out), (all.rows[0].sum, 1, 0));
    let (fixture, _) = fixture.reopen();
    assert_eq!(fixture.usage(UsageQuery::new(UsageGrouping::Total)).await, all);
}

#[tokio::test]
async fn a_session_goes_with_all_that_it_used() {
    let fixture = IndexFixture::new();
    for n in 1..=3 {
        let used = vec![used(2, 10, "a:a", 1, None), used(900_000, 20, "a:a", 1, None)];
        fixture.index.update(uses(session(n, 1), 0, 900_000, used)).await.unwrap();
    }
    fixture.index.remove(id(2)).await.unwrap();
    let report = fixture.usage(UsageQuery::new(UsageGrouping::Session)).await;
    let (one, three) = (id(1).to_string(), id(3).to_string());
    assert_eq!(rows(&report), [(one.as_str(), 2, 2, None), (three.as_str(), 2, 2, None)]);
    let gone = UsageQuery { session: Some(id(2)), ..UsageQuery::new(UsageGrouping::Total) };
    let gone = fixture.usage(gone).await;
    assert_eq!((gone.rows, gone.total), (vec![], UsageTotal::default()));
    fixture.index.clear().await.unwrap();
    assert_eq!(fixture.usage(UsageQuery::new(UsageGrouping::Day)).await.rows, []);
}

#[tokio::test]
async fn a_day_begins_where_the_asker_is() {
    let fixture = IndexFixture::new();
    let times =
        ["2026-03-01T21:59:59.999Z", "2026-03-01T22:00:00Z", "2026-03-01T23:59:59Z", "2026-03-02T00:00:00Z"];
    let mut all: Vec<ModelUse> =
        (2..).zip(times).map(|(seq, time)| used(seq, at(time).as_second(), "a:a", 1, None)).collect();
    all[0].at = at(times[0]);
    all.push(ModelUse { seq: 9, ..used(9, -1, "a:a", 100, None) });
    fixture.index.update(uses(session(1, 1), 0, 9, all)).await.unwrap();
    for (offset, wanted) in [
        (0, vec![("2026-03-02", 1), ("2026-03-01", 3), ("1969-12-31", 1)]),
        (120, vec![("2026-03-02", 3), ("2026-03-01", 1), ("1970-01-01", 1)]),
        (-330, vec![("2026-03-01", 4), ("1969-12-31", 1)]),
    ] {
        let query = UsageQuery { utc_offset_minutes: offset, ..UsageQuery::new(UsageGrouping::Day) };
        let report = fixture.usage(query).await;
        let days: Vec<(&str, u64)> =
            report.rows.iter().map(|row| (row.key.as_str(), row.sum.steps)).collect();
        assert_eq!(days, wanted, "{offset}");
        assert_eq!(report.total.steps, 5);
    }
    // What is asked for begins with its first moment and ends before its last.
    for (from, to, steps) in [
        (Some(times[0]), Some(times[0]), 0),
        (Some(times[0]), Some(times[1]), 1),
        (Some("2026-03-01T21:59:59.9991Z"), None, 3),
        (None, Some(times[3]), 4),
        (Some(times[3]), None, 1),
        (Some(times[3]), Some(times[0]), 0),
    ] {
        let query =
            UsageQuery { from: from.map(at), to: to.map(at), ..UsageQuery::new(UsageGrouping::Total) };
        assert_eq!(fixture.usage(query).await.total.steps, steps, "{from:?} {to:?}");
    }
}

#[tokio::test]
async fn filters_hold_alone_and_together_and_the_dearest_comes_first() {
    let fixture = IndexFixture::new();
    for n in 1..=4u128 {
        let place = if n % 2 == 0 { "/even" } else { "/odd" };
        let session = Session { workspace_path: place.to_owned(), ..session(n, 1) };
        let price = (n != 3).then_some(10 * n as u64);
        let used = vec![used(2, 100, "a:a", n as u64, price), used(3, 200, "b:b", 1000, Some(0))];
        fixture.index.update(uses(session, 0, 3, used)).await.unwrap();
    }
    let query = |by| UsageQuery::new(by);
    let workspaces = fixture.usage(query(UsageGrouping::Workspace)).await;
    assert_eq!(rows(&workspaces), [("/even", 4, 2006, Some(60)), ("/odd", 4, 2004, Some(10))]);
    assert_eq!(workspaces.rows[1].sum.unpriced_steps, 1);
    let models = fixture.usage(query(UsageGrouping::Model)).await;
    assert_eq!(rows(&models), [("a:a", 4, 10, Some(70)), ("b:b", 4, 4000, Some(0))]);
    let sessions = fixture.usage(query(UsageGrouping::Session)).await;
    let keys: Vec<String> = sessions.rows.iter().map(|row| row.key.clone()).collect();
    assert_eq!(keys, [4, 2, 1, 3].map(|n| id(n).to_string()));
    let odd = Some("/odd".to_owned());
    let only = |session, workspace, model: Option<&str>| UsageQuery {
        session,
        workspace,
        model: model.map(str::to_owned),
        ..query(UsageGrouping::Total)
    };
    for (query, steps) in [
        (only(Some(id(3)), None, None), 2),
        (only(None, odd.clone(), None), 4),
        (only(None, None, Some("b:b")), 4),
        (only(None, odd.clone(), Some("a:a")), 2),
        (only(Some(id(3)), odd.clone(), Some("a:a")), 1),
        (only(Some(id(2)), odd, None), 0),
        (only(None, Some("/od".to_owned()), None), 0),
        (only(None, None, Some("a:")), 0),
        (only(Some(id(99)), None, None), 0),
        (UsageQuery { from: Some(at("1970-01-01T00:02:30Z")), ..only(Some(id(1)), None, None) }, 1),
    ] {
        assert_eq!(fixture.usage(query.clone()).await.total.steps, steps, "{query:?}");
    }
}

#[tokio::test]
async fn a_price_that_is_not_known_is_not_nothing() {
    let fixture = IndexFixture::new();
    let used = vec![used(2, 1, "free:a", 5, Some(0)), used(3, 1, "odd:b", 5, None)];
    fixture.index.update(uses(session(1, 1), 0, 3, used)).await.unwrap();
    let report = fixture.usage(UsageQuery::new(UsageGrouping::Model)).await;
    assert_eq!(rows(&report), [("free:a", 1, 5, Some(0)), ("odd:b", 1, 5, None)]);
    assert_eq!(report.rows.iter().map(|row| row.sum.unpriced_steps).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((nanos(&report.total), report.total.unpriced_steps), (Some(0), 1));
}

#[tokio::test]
async fn sums_stay_at_their_end_and_hold_nothing_up() {
    let fixture = IndexFixture::new();
    let used = (2..10).map(|seq| used(seq, 1, "a:a", u64::MAX, Some(u64::MAX))).collect();
    fixture.index.update(uses(session(1, 1), 0, 10, used)).await.unwrap();
    for by in [
        UsageGrouping::Day,
        UsageGrouping::Model,
        UsageGrouping::Session,
        UsageGrouping::Workspace,
        UsageGrouping::Total,
    ] {
        let report = fixture.usage(UsageQuery::new(by)).await;
        assert_eq!(
            (report.total.steps, tokens(&report.total), nanos(&report.total)),
            (8, u64::MAX, Some(u64::MAX))
        );
    }
    assert_eq!(fixture.index.lost(), 0);
    let far = UsageQuery { utc_offset_minutes: i32::MAX, ..UsageQuery::new(UsageGrouping::Day) };
    assert_eq!(fixture.usage(far).await.rows[0].key, "1970-01-01");
}

#[tokio::test]
async fn a_long_report_is_cut_and_its_total_is_not() {
    let fixture = IndexFixture::new();
    for n in 0..1003u128 {
        let used = vec![used(2, i64::try_from(n).unwrap() * 86_400, "a:a", 1, Some(n as u64))];
        fixture.index.update(uses(session(n, 1), 0, 2, used)).await.unwrap();
    }
    for (by, first) in
        [(UsageGrouping::Session, id(1002).to_string()), (UsageGrouping::Day, "1972-09-29".to_owned())]
    {
        let report = fixture.usage(UsageQuery::new(by)).await;
        assert_eq!((report.rows.len(), report.left_out, report.total.steps), (1000, 3, 1003));
        assert_eq!((report.rows[0].key.clone(), nanos(&report.rows[0].sum)), (first, Some(1002)));
    }
}
