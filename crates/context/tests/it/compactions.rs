//! Plans for conversations of every shape: what they may never do, and what comes of carrying them out.

use std::sync::Arc;

use jiff::Timestamp;
use ostler_context::{
    CompactionLimits, CompactionPlan, TokenEstimate, compose_summary, is_compaction_due, is_summary,
    prompt_for_summary, summary_of, user_messages, validate,
};
use ostler_types::{Conversation, Message, MessageId, Part, Role, results};
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use uuid::Uuid;

use crate::conversations::{Happening, conversations, message, recorded};

/// What a model is shown after a plan was carried out, by the fold of the log itself.
fn carried_out(messages: &[Arc<Message>], plan: &CompactionPlan, notes: &str) -> Vec<Arc<Message>> {
    let mut conversation = Conversation::default();
    for (seq, message) in (1..).zip(messages) {
        conversation.push(seq, Arc::clone(message));
    }
    let summary = plan.summarised.clone().map(|range| {
        let earlier = messages[range.clone()].iter().find_map(|message| summary_of(message));
        let text =
            compose_summary(notes, &user_messages(&messages[range]), earlier, plan.summary_tokens).text;
        Message {
            id: MessageId::new(Uuid::from_u128(1_000_000 + messages.len() as u128)),
            role: Role::System,
            parts: vec![Part::text(text)],
            created_at: Timestamp::UNIX_EPOCH,
        }
    });
    conversation.compact(messages.len() as u64 + 1, plan.to_message_id, summary.as_ref(), &plan.pruned);
    conversation.messages()
}

fn tokens(messages: &[Arc<Message>]) -> u64 {
    TokenEstimate::of_messages(messages).tokens()
}

/// The newest piece that stays together.
fn newest(messages: &[Arc<Message>]) -> &[Arc<Message>] {
    let start = messages.iter().rposition(|message| message.role != Role::Tool).unwrap();
    &messages[start..]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_a_plan_leaves_may_be_sent_and_fits(messages in conversations(), target in 800u64..6_000) {
        prop_assert_eq!(validate(&messages), Ok(()));
        let limits = CompactionLimits::for_target(target);
        let Some(plan) = CompactionPlan::new(&messages, &limits) else {
            // Then there was nothing to leave out, and one piece or none to summarise.
            prop_assert!(tokens(&messages) <= target || newest(&messages).len() == messages.len());
            return Ok(());
        };
        let after = carried_out(&messages, &plan, "notes");
        prop_assert_eq!(validate(&after), Ok(()));
        prop_assert_eq!(plan.tokens_before, tokens(&messages));
        prop_assert!(tokens(&after) <= plan.tokens_after, "{} > {}", tokens(&after), plan.tokens_after);
        prop_assert!(plan.tokens_after <= target.max(tokens(newest(&messages)) + limits.summary));
        prop_assert_eq!(newest(&after), newest(&messages));
    }

    #[test]
    fn no_wish_of_a_user_is_lost_however_often_it_is_compacted(messages in conversations()) {
        let limits = CompactionLimits::for_target(4_000);
        let mut shown: Vec<Arc<Message>> = Vec::new();
        let mut said = Vec::new();
        // The conversation comes in pieces that stay together, as an agent would see it grow.
        let mut rest = messages.as_slice();
        while let Some(first) = rest.first() {
            let end = rest.iter().skip(1).position(|message| message.role != Role::Tool).map_or(rest.len(), |end| end + 1);
            if first.role == Role::User {
                said.push(first.text().split('.').next().unwrap().to_owned());
            }
            shown.extend(rest[..end].iter().cloned());
            rest = &rest[end..];
            if is_compaction_due(TokenEstimate::of_messages(&shown), 8_000, None, 85)
                && let Some(plan) = CompactionPlan::new(&shown, &limits)
            {
                shown = carried_out(&shown, &plan, "notes");
                prop_assert_eq!(validate(&shown), Ok(()));
            }
        }
        let all: String = shown.iter().map(|message| message.text()).collect();
        let is_counted = all.contains("older messages, which are in the session's log");
        for wish in said {
            prop_assert!(is_counted || all.contains(&format!("{wish}.")), "{} is lost", wish);
        }
    }
}

#[test]
fn old_output_goes_first_and_that_may_be_enough() {
    let work = |count: usize| vec![Happening::Worked(vec![4_000]); count];
    let messages = recorded(&work(10));
    let before = tokens(&messages);
    let limits = CompactionLimits { target: before - 2_000, unpruned: before / 2, summary: 500 };
    let plan = CompactionPlan::new(&messages, &limits).unwrap();
    assert_eq!(plan.summarised, None);
    assert!(!plan.pruned.is_empty() && plan.pruned.len() <= 6, "{:?}", plan.pruned);
    let after = carried_out(&messages, &plan, "");
    assert_eq!(after.len(), messages.len());
    let pruned = after.iter().filter(|message| message.text() == results::PRUNED).count();
    assert_eq!(pruned, plan.pruned.len());
    // The newest output is what the model works with.
    assert!(!after.last().unwrap().text().contains(results::PRUNED));
    assert_eq!(CompactionPlan::new(&after, &limits), None, "it fits, and there is nothing old left");
}

#[test]
fn a_conversation_of_one_piece_has_no_plan() {
    assert_eq!(CompactionPlan::new(&[], &CompactionLimits::for_target(10)), None);
    let one = recorded(&[]);
    assert_eq!(CompactionPlan::new(&one, &CompactionLimits::for_target(1)), None);
}

#[test]
fn a_summary_alone_is_not_summarised_again() {
    let text = compose_summary("notes", &["do it".to_owned()], None, 500).text;
    let summary = message(1, Role::System, vec![Part::text(text)]);
    assert!(is_summary(&summary));
    let messages = [summary, message(2, Role::User, vec![Part::text("z".repeat(9_000))])];
    assert_eq!(CompactionPlan::new(&messages, &CompactionLimits::for_target(1_000)), None);
}

#[test]
fn the_prompt_for_a_summary_is_bounded_and_says_what_was_left_out() {
    let messages = recorded(&vec![Happening::Worked(vec![5_000, 5_000]); 50]);
    for max_tokens in [2_000, 10_000, 200_000] {
        let prompt = prompt_for_summary(&messages, Some("the tests"), 800, max_tokens);
        let tokens = ostler_context::text_tokens(&prompt);
        assert!(tokens <= max_tokens, "{tokens} > {max_tokens}");
        assert!(
            prompt.contains("600 words") && prompt.contains("the tests") && !prompt.contains("{max_words}")
        );
        let has_all = prompt.contains("wish-0");
        assert_eq!(has_all, !prompt.contains("earlier messages omitted"), "{max_tokens}");
    }
}

#[test]
fn a_window_is_due_before_it_is_full() {
    let of = TokenEstimate::from_tokens;
    assert!(
        !is_compaction_due(of(84_000), 100_000, None, 85) && is_compaction_due(of(85_000), 100_000, None, 85)
    );
    // The answer needs room as well, but never most of the window.
    assert!(
        is_compaction_due(of(80_000), 100_000, Some(20_000), 85)
            && !is_compaction_due(of(70_000), 100_000, Some(90_000), 85)
    );
    let limits = CompactionLimits::for_window(100_000, 10_000);
    assert_eq!((limits.target, limits.unpruned, limits.summary), (30_000, 15_000, 7_500));
}
