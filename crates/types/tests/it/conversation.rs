//! What a model is shown of a log: the same from the whole log and from where a summary says that it may
//! be read from.

use ostler_types::{
    Command, CompactionTrigger, Conversation, Event, Message, NewCompaction, Part, Record, Role,
    SessionEvent, ToolCallId, TurnReport, results,
};

use crate::session_driver::{SessionDriver, read};

#[test]
fn a_summary_takes_the_place_of_what_it_covers() {
    let mut world = SessionDriver::new();
    answered(&mut world, "one");
    answered(&mut world, "two");
    let last = shown(&world, 1)[1].id;
    compact(&mut world, last, Some("the first turn"), &[]);
    let texts: Vec<String> = shown(&world, 1).iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["the first turn", "two", "let me see"]);
    assert_eq!(world.state.context.tokens, Some(7));
    assert_eq!(shown(&world, world.state.context.first_seq), shown(&world, 1));
}

#[test]
fn output_that_is_left_out_stays_so_when_read_from_a_later_record() {
    let mut world = SessionDriver::new();
    answered(&mut world, "one");
    world.submit("two");
    world.step(&[read("call_a")]);
    let finish = world.finish("call_a", true);
    world.report(finish);
    world.report(TurnReport::BatchCompleted);
    let conversation = shown(&world, 1);
    compact(&mut world, conversation[4].id, None, &["call_a"]);
    assert_eq!(shown(&world, 1)[4].text(), results::PRUNED);
    compact(&mut world, conversation[1].id, Some("one was answered"), &[]);
    let (whole, part) = (shown(&world, 1), shown(&world, world.state.context.first_seq));
    assert_eq!((whole.len(), whole[3].text()), (4, results::PRUNED.to_owned()));
    assert_eq!(whole, part);
    assert!(world.state.context.first_seq > 1);
}

#[test]
fn a_summary_of_a_summary_is_read_back_alone() {
    let mut world = SessionDriver::new();
    for round in 0..5 {
        answered(&mut world, &format!("question {round}"));
        let last = shown(&world, 1).last().expect("there are messages").id;
        compact(&mut world, last, Some(&format!("rounds up to {round}")), &[]);
        let part = shown(&world, world.state.context.first_seq);
        assert_eq!(part.len(), 1);
        assert_eq!(part, shown(&world, 1));
    }
}

fn answered(world: &mut SessionDriver, text: &str) {
    world.submit(text);
    world.step(&[]);
    let (stop_reason, verified, verification) = ("stop".to_owned(), None, None);
    world.report(TurnReport::Completed { stop_reason, verified, verification });
}

/// Records a compaction, in a turn of its own unless one is open.
fn compact(world: &mut SessionDriver, to: ostler_types::MessageId, summary: Option<&str>, pruned: &[&str]) {
    let own_turn = world.state.turn.is_none();
    if own_turn {
        let turn_id = world.turn_id();
        world.accept(Command::Compact { turn_id });
    }
    let mut conversation = Conversation::default();
    world.log.iter().for_each(|record| conversation.apply(record));
    let summary = summary.map(|text| world.message(Role::User, vec![Part::text(text)]));
    world.facts.first_kept_seq = conversation.seq_after(to);
    let compaction = NewCompaction {
        from_message_id: conversation.messages()[0].id,
        to_message_id: to,
        tokens_before: 70,
        tokens_after: 7,
        trigger: CompactionTrigger::Asked,
        summary,
        pruned: pruned.iter().map(|&id| ToolCallId(id.to_owned())).collect(),
    };
    world.report(TurnReport::Compacted(Box::new(compaction)));
    if own_turn {
        let (stop_reason, verified, verification) = ("compacted".to_owned(), None, None);
        world.report(TurnReport::Completed { stop_reason, verified, verification });
    }
}

fn shown(world: &SessionDriver, from: u64) -> Vec<Message> {
    let mut conversation = Conversation::default();
    let speaks = |record: &&Record| {
        record.seq >= from && !matches!(record.event, Event::Session(SessionEvent::Created { .. }))
    };
    world.log.iter().filter(speaks).for_each(|record| conversation.apply(record));
    conversation.messages().iter().map(|message| Message::clone(message)).collect()
}
