//! What may happen to a session, as random moves: clients that ask for sense and nonsense, an agent
//! that behaves, and one that does not. How a move is carried out is left to [`crate::play`].

use ostler_types::{Delivery, Scope};
use proptest::prelude::{Just, Strategy, any, prop};
use proptest::{prop_oneof, strategy};

/// One move. A `pick` chooses among what there is when the move is made, or names nothing.
#[derive(Debug, Clone)]
pub(crate) enum HistoryMove {
    Submit {
        delivery: Delivery,
        auto_run: Option<bool>,
        key: Option<u8>,
        partial: bool,
    },
    Run,
    Withdraw {
        pick: u8,
    },
    Requeue {
        pick: u8,
        before: Option<Option<u8>>,
        delivery: Option<Delivery>,
        edit: bool,
    },
    Answer {
        pick: u8,
        approve: bool,
        scope: Scope,
        other_turn: bool,
    },
    Cancel {
        partial: bool,
    },
    Retry {
        pick: u8,
    },
    Update {
        pick: u8,
    },
    Close,
    Recover {
        resumable: bool,
        partial: bool,
    },
    Restart {
        resumable: bool,
        partial: bool,
    },
    /// What a well-behaved agent, or the person it waits for, would do next.
    Advance {
        pick: u8,
    },
    /// What an agent says, of the open turn unless it is `late`.
    Say {
        saying: Saying,
        late: bool,
    },
}

/// What an agent says, whether or not it makes sense.
#[derive(Debug, Clone)]
pub(crate) enum Saying {
    TakeSteering,
    Step { calls: Vec<NewCall> },
    BatchStarted { parallel: bool },
    BatchHalted { pick: u8 },
    BatchCompleted,
    Propose { pick: u8, standing: bool },
    Start { pick: u8, altered: bool },
    Finish { pick: u8, ok: bool },
    VerificationStarted,
    VerificationCompleted { ok: bool, feedback: bool },
    Completed,
    Failed { partial: bool },
}

/// A call that a model asks for.
#[derive(Debug, Clone)]
pub(crate) struct NewCall {
    /// Which tool, on what.
    pub(crate) pick: u8,
    /// Whether the model gives it an id that it has used before.
    pub(crate) used_id: bool,
}

/// A history of up to sixty moves.
pub(crate) fn histories() -> impl Strategy<Value = Vec<HistoryMove>> {
    prop::collection::vec(moves(), 1..60)
}

fn moves() -> impl Strategy<Value = HistoryMove> {
    prop_oneof![
        20 => any::<u8>().prop_map(|pick| HistoryMove::Advance { pick }),
        14 => (sayings(), prop::bool::weighted(0.1)).prop_map(|(saying, late)| HistoryMove::Say { saying, late }),
        8 => submissions(),
        1 => Just(HistoryMove::Run),
        2 => any::<u8>().prop_map(|pick| HistoryMove::Withdraw { pick }),
        3 => (any::<u8>(), any::<Option<Option<u8>>>(), prop::option::of(delivery()), any::<bool>())
            .prop_map(|(pick, before, delivery, edit)| HistoryMove::Requeue { pick, before, delivery, edit }),
        4 => answers(),
        2 => any::<bool>().prop_map(|partial| HistoryMove::Cancel { partial }),
        2 => any::<u8>().prop_map(|pick| HistoryMove::Retry { pick }),
        1 => any::<u8>().prop_map(|pick| HistoryMove::Update { pick }),
        1 => prop::bool::weighted(0.2).prop_map(|close| if close { HistoryMove::Close } else { HistoryMove::Run }),
        1 => any::<(bool, bool)>().prop_map(|(resumable, partial)| HistoryMove::Recover { resumable, partial }),
        1 => any::<(bool, bool)>().prop_map(|(resumable, partial)| HistoryMove::Restart { resumable, partial }),
    ]
}

fn delivery() -> impl Strategy<Value = Delivery> {
    prop_oneof![4 => Just(Delivery::Queue), 3 => Just(Delivery::Steer), 1 => Just(Delivery::Interrupt)]
}

fn submissions() -> impl Strategy<Value = HistoryMove> {
    let auto_run = prop_oneof![5 => Just(None), 2 => Just(Some(true)), 2 => Just(Some(false))];
    let key = prop::option::weighted(0.3, 0..4_u8);
    (delivery(), auto_run, key, any::<bool>()).prop_map(|(delivery, auto_run, key, partial)| {
        HistoryMove::Submit { delivery, auto_run, key, partial }
    })
}

fn answers() -> impl Strategy<Value = HistoryMove> {
    let scope = prop_oneof![Just(Scope::Once), Just(Scope::Session), Just(Scope::Always)];
    (any::<u8>(), any::<bool>(), scope, prop::bool::weighted(0.1)).prop_map(
        |(pick, approve, scope, other_turn)| HistoryMove::Answer { pick, approve, scope, other_turn },
    )
}

fn sayings() -> strategy::BoxedStrategy<Saying> {
    prop_oneof![
        2 => Just(Saying::TakeSteering),
        3 => prop::collection::vec(new_calls(), 0..4).prop_map(|calls| Saying::Step { calls }),
        1 => any::<bool>().prop_map(|parallel| Saying::BatchStarted { parallel }),
        1 => any::<u8>().prop_map(|pick| Saying::BatchHalted { pick }),
        1 => Just(Saying::BatchCompleted),
        3 => (any::<u8>(), prop::bool::weighted(0.2)).prop_map(|(pick, standing)| Saying::Propose { pick, standing }),
        4 => (any::<u8>(), prop::bool::weighted(0.2)).prop_map(|(pick, altered)| Saying::Start { pick, altered }),
        3 => any::<(u8, bool)>().prop_map(|(pick, ok)| Saying::Finish { pick, ok }),
        1 => Just(Saying::VerificationStarted),
        1 => any::<(bool, bool)>().prop_map(|(ok, feedback)| Saying::VerificationCompleted { ok, feedback }),
        1 => Just(Saying::Completed),
        1 => any::<bool>().prop_map(|partial| Saying::Failed { partial }),
    ]
    .boxed()
}

fn new_calls() -> impl Strategy<Value = NewCall> {
    (any::<u8>(), prop::bool::weighted(0.15)).prop_map(|(pick, used_id)| NewCall { pick, used_id })
}
