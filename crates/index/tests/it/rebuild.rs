//! The index is a function of the logs: however they are fed, the answers are the same.

use ostler_index::{
    Index, IndexUpdate, ListFilter, ModelUse, SessionListing, UsageGrouping, UsageQuery, UsageReport,
};
use ostler_types::{Cost, SessionStatus, Usage};
use proptest::prelude::{Strategy, any, prop, proptest};
use proptest::test_runner::Config;

use crate::{IndexFixture, id, session, text};

const SESSIONS: u128 = 4;
const WORDS: [&str; 5] = ["horse", "stable", "hay", "Straße", "saddle-bag"];

/// A record of a log: what was said, or what changed.
#[derive(Debug, Clone)]
enum RandomLogChange {
    Said(usize, usize),
    Titled(Option<usize>),
    Archived(bool),
    Waits(bool),
    Used(usize, u64, Option<u64>),
}

fn change() -> impl Strategy<Value = RandomLogChange> {
    let word = 0..WORDS.len();
    proptest::prop_oneof![
        (word.clone(), word.clone()).prop_map(|(a, b)| RandomLogChange::Said(a, b)),
        proptest::option::of(word).prop_map(RandomLogChange::Titled),
        any::<bool>().prop_map(RandomLogChange::Archived),
        any::<bool>().prop_map(RandomLogChange::Waits),
        (0..WORDS.len(), any::<u64>(), proptest::option::of(any::<u64>()))
            .prop_map(|(model, tokens, nanos)| RandomLogChange::Used(model, tokens, nanos)),
    ]
}

/// The update from one record of a log to a later one.
fn between(n: u128, log: &[(i64, RandomLogChange)], after: usize, last: usize) -> IndexUpdate {
    let mut session = session(n, 0);
    let (mut texts, mut uses) = (Vec::new(), Vec::new());
    for (at, (time, change)) in log[..last].iter().enumerate() {
        session.updated_at = jiff::Timestamp::from_second(*time).unwrap();
        match change {
            RandomLogChange::Said(a, b) if at >= after => {
                texts.push(text(at as u64 + 1, &format!("{} and {}", WORDS[*a], WORDS[*b])));
            }
            RandomLogChange::Used(model, tokens, nanos) if at >= after => {
                let cost_usd = nanos.map(Cost::from_nanos);
                let usage = Usage { input_tokens: *tokens, cost_usd, ..Usage::default() };
                let (seq, at, model) = (at as u64 + 1, session.updated_at, WORDS[*model].to_owned());
                uses.push(ModelUse { seq, at, model, usage });
            }
            RandomLogChange::Said(..) | RandomLogChange::Used(..) => {}
            RandomLogChange::Titled(word) => {
                session.title = word.map(|word| format!("about {}", WORDS[word]))
            }
            RandomLogChange::Archived(archived) => session.archived = *archived,
            RandomLogChange::Waits(true) => session.status = SessionStatus::WaitingApproval,
            RandomLogChange::Waits(false) => session.status = SessionStatus::Active,
        }
    }
    IndexUpdate {
        session,
        running_turn_id: None,
        after_seq: after as u64,
        last_seq: last as u64,
        texts,
        uses,
    }
}

/// All that can be asked, as far as it matters here.
async fn answers(fixture: &IndexFixture) -> (Vec<SessionListing>, Vec<UsageReport>) {
    let mut answers = Vec::new();
    let queries =
        WORDS.map(Some).into_iter().chain([None, Some("ab"), Some("\"hay and horse\""), Some("about st")]);
    for q in queries.map(|q| q.map(str::to_owned)) {
        for archived in [None, Some(true)] {
            for status in [None, Some(SessionStatus::Active)] {
                answers.push(
                    fixture
                        .list(ListFilter { q: q.clone(), archived, status, ..ListFilter::default() })
                        .await,
                );
            }
        }
    }
    let mut reports = Vec::new();
    for by in [
        UsageGrouping::Day,
        UsageGrouping::Model,
        UsageGrouping::Session,
        UsageGrouping::Workspace,
        UsageGrouping::Total,
    ] {
        reports.push(fixture.usage(UsageQuery::new(by)).await);
    }
    (answers, reports)
}

async fn fed_whole(logs: &[Vec<(i64, RandomLogChange)>]) -> (Vec<SessionListing>, Vec<UsageReport>) {
    let fixture = IndexFixture::new();
    for (n, log) in (0..SESSIONS).zip(logs) {
        fixture.index.update(between(n, log, 0, log.len())).await.unwrap();
    }
    answers(&fixture).await
}

/// Fed in pieces, some twice, some too late or never; then caught up as the engine does it.
async fn fed_badly(
    logs: &[Vec<(i64, RandomLogChange)>],
    pieces: &[(usize, usize, usize)],
) -> (Vec<SessionListing>, Vec<UsageReport>) {
    let mut fixture = IndexFixture::new();
    for (which, from, to) in pieces {
        let n = which % logs.len();
        let log = &logs[n];
        let (from, to) = (from % log.len(), 1 + to % log.len());
        if from < to {
            fixture.index.update(between(n as u128, log, from, to)).await.unwrap();
        } else if from == to {
            fixture = fixture.reopen().0;
        } else if from == log.len() - 1 {
            fixture.index.remove(id(n as u128)).await.unwrap();
        }
    }
    fixture.index.flush().await.unwrap();
    for (n, log) in (0..SESSIONS).zip(logs) {
        let position = usize::try_from(fixture.index.position(id(n)).await.unwrap()).unwrap();
        if position < log.len() {
            fixture.index.update(between(n, log, position, log.len())).await.unwrap();
        }
    }
    answers(&fixture).await
}

proptest! {
    #![proptest_config(Config { cases: 24, failure_persistence: None, ..Config::default() })]

    #[test]
    fn however_the_logs_are_fed_the_answers_are_the_same(
        logs in prop::collection::vec(prop::collection::vec((0..20i64, change()), 1..12), SESSIONS as usize),
        pieces in prop::collection::vec((any::<usize>(), any::<usize>(), any::<usize>()), 0..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            assert_eq!(fed_badly(&logs, &pieces).await, fed_whole(&logs).await);
        });
    }
}
