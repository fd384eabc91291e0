//! The terminal client in a real terminal, against the real daemon.

mod pane;

use pane::Pane;
use rustix::process::Signal;

#[test]
fn a_newcomer_asks_sees_the_answer_and_leaves_a_clean_terminal() {
    let pane = Pane::new(100, 30);
    pane.open_with_daemon();
    pane.types("list the files");
    pane.presses("Enter");
    pane.sees("README.md");
    pane.sees("✓ done");
    pane.presses("C-d");
    pane.until("the shell to be back", |screen| !screen.contains("✓ done"));
    pane.types("stty -a; echo left=$?");
    pane.presses("Enter");
    let screen = pane.sees("left=0");
    assert!(screen.contains(" icanon") && screen.contains(" echo"), "{screen}");
    assert_eq!(pane.processes("serve").len(), 1, "the daemon goes on");
    // Whoever comes back finds what was said.
    pane.types("clear");
    pane.presses("Enter");
    let program = env!("CARGO_BIN_EXE_ostler");
    pane.types(&format!("{program} tui --continue --data-dir {}", pane.data.display()));
    pane.presses("Enter");
    pane.sees("✓ done");
}

#[test]
fn a_question_is_docked_and_answered() {
    let pane = Pane::new(100, 30);
    pane.open_with_daemon();
    pane.types("run `touch made.txt`");
    pane.presses("Enter");
    pane.sees("Allow shell?");
    assert!(!pane.work.join("made.txt").exists());
    // The first moments take no answer, so it is given until it is taken.
    pane.until("the answer to be taken", |screen| {
        if screen.contains("[y] yes") {
            pane.presses("y");
        }
        screen.contains("✓ done")
    });
    assert!(pane.work.join("made.txt").exists());
}

#[test]
fn two_sessions_stream_and_neither_shows_the_other() {
    let pane = Pane::new(100, 30);
    pane.open_with_daemon();
    let slowly = |word: &str| format!("say {} slowly", vec![word; 40].join(" "));
    pane.types(&slowly("apple"));
    pane.presses("Enter");
    pane.sees("writing");
    pane.presses("C-n");
    pane.sees("Describe a task");
    pane.types(&slowly("pear"));
    pane.presses("Enter");
    let screen = pane.sees("writing");
    assert!(!body(&screen).contains("apple"), "{screen}");
    // There and back again while both write.
    pane.presses("M-Down");
    pane.until("the other session", |screen| {
        body(screen).contains("apple") && !body(screen).contains("pear")
    });
    pane.sees("✓ done");
    pane.presses("M-Up");
    pane.until("the first one again", |screen| {
        body(screen).contains("pear") && !body(screen).contains("apple")
    });
    pane.sees("✓ done");
}

/// Everything but the line at the top, which may name others.
fn body(screen: &str) -> String {
    screen.lines().skip(1).collect::<Vec<_>>().join("\n")
}

#[test]
fn the_screen_fits_whatever_its_size() {
    let pane = Pane::new(100, 30);
    pane.open_with_daemon();
    pane.types("list the files");
    pane.presses("Enter");
    pane.sees("✓ done");
    pane.types("written before");
    for (columns, rows) in [(40, 12), (200, 60), (100, 30)] {
        pane.resizes(columns, rows);
        let screen = pane.until("the new size", |screen| {
            let lines: Vec<&str> = screen.lines().collect();
            lines.len() == usize::from(rows) && screen.contains("written before") && screen.contains("✓ done")
        });
        assert!(screen.lines().all(|line| line.chars().count() <= usize::from(columns)), "{screen}");
    }
}

#[test]
fn five_thousand_pasted_lines_are_a_chip_and_arrive_whole() {
    let pane = Pane::new(100, 30);
    pane.open_with_daemon();
    pane.types("say hello ");
    pane.pastes(&"a line of a log\n".repeat(5000));
    pane.sees("[pasted 5000 lines]");
    pane.presses("Enter");
    pane.sees("✓ done");
    assert!(pane.log().matches("a line of a log").count() >= 5000, "all of it is in the log");
}

#[test]
fn a_daemon_that_is_killed_in_mid_turn_is_missed_and_met_again() {
    let pane = Pane::new(100, 30);
    pane.open_with_daemon();
    pane.types(&format!("say {} slowly", vec!["plum"; 200].join(" ")));
    pane.presses("Enter");
    pane.until("some of the answer", |screen| {
        screen.matches("plum").count() > 10 && screen.contains("writing")
    });
    pane.signal("serve", Signal::KILL);
    pane.sees("Daemon disconnected");
    pane.types("say again");
    pane.presses("Enter");
    pane.sees("waiting for the connection");
    pane.presses("C-r");
    let screen = pane.until("the turn's end and the next answer", |screen| {
        screen.contains("✗ failed") && screen.contains("✓ done")
    });
    assert_eq!(screen.matches("✗ failed").count(), 1, "{screen}");
    assert_eq!(screen.matches("▌ say again").count(), 1, "{screen}");
}

#[test]
fn suspended_and_continued_it_is_there_again() {
    let pane = Pane::new(100, 30);
    pane.open_with_daemon();
    pane.types("half a thought");
    pane.presses("C-z");
    pane.until("the shell", |screen| !screen.contains("half a thought"));
    pane.types("echo outside-$((20 + 3))");
    pane.presses("Enter");
    pane.sees("outside-23");
    pane.types("fg");
    pane.presses("Enter");
    let screen = pane.sees("half a thought");
    assert!(!screen.contains("outside-23"), "{screen}");
    // The same by a signal from elsewhere.
    pane.signal("tui", Signal::TSTP);
    pane.until("the shell", |screen| !screen.contains("half a thought"));
    pane.types("fg");
    pane.presses("Enter");
    pane.sees("half a thought");
}

#[test]
fn a_signal_that_ends_it_leaves_a_clean_terminal() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let pane = Pane::new(100, 30);
        pane.open_with_daemon();
        pane.types("half a thought");
        pane.sees("half a thought");
        pane.signal("tui", signal);
        pane.until("the shell", |screen| !screen.contains("half a thought"));
        pane.types("stty -a; echo left=$?");
        pane.presses("Enter");
        let screen = pane.sees("left=0");
        assert!(screen.contains(" icanon") && screen.contains(" echo"), "{signal:?}: {screen}");
    }
}

#[test]
fn a_session_of_a_hundred_thousand_records_opens_at_its_end_within_bounds() {
    let pane = Pane::new(100, 30);
    let file = pane.directory().join("long.jsonl");
    // Each question and answer is four records.
    let line = |number: u32| {
        let role = if number.is_multiple_of(2) { "assistant" } else { "user" };
        let content = format!("message {number} of many");
        format!(
            "{{\"role\":\"{role}\",\"content\":\"{content}\",\"timestamp\":{}}}\n",
            1_772_442_910_000u64 + u64::from(number)
        )
    };
    std::fs::write(&file, (1..=52_000).map(line).collect::<String>()).unwrap();
    pane.open_with_daemon();
    let program = env!("CARGO_BIN_EXE_ostler");
    let imported = std::process::Command::new(program)
        .args(["import", "--data-dir"])
        .args([&pane.data, &file])
        .arg("--workspace")
        .arg(&pane.work)
        .output()
        .unwrap();
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let log = pane.log();
    assert!(log.lines().count() > 100_000, "{}", log.lines().count());
    pane.presses("C-o");
    pane.sees("sessions");
    pane.presses("Down");
    pane.presses("Enter");
    pane.sees("message 52000 of many");
    for _ in 0..20 {
        pane.presses("PPage");
    }
    pane.until("older messages", |screen| {
        screen.contains("more below") && !screen.contains("message 51900 of many")
    });
    pane.presses("C-End");
    pane.sees("message 52000 of many");
    let pid = pane.processes("tui")[0];
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let held = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
    let kilobytes: u64 = held.split_whitespace().next().unwrap().parse().unwrap();
    assert!(kilobytes < 30 << 10, "{kilobytes} KiB");
}

#[test]
fn what_waits_is_moved_and_changed_before_its_turn_comes() {
    let pane = Pane::new(100, 30);
    pane.open_with_daemon();
    pane.types(&format!("say {} slowly", vec!["plum"; 400].join(" ")));
    pane.presses("Enter");
    pane.sees("writing");
    for text in ["say first", "say second"] {
        pane.types(text);
        pane.presses("Enter");
        pane.sees(&format!("⧗ queued: {text}"));
    }
    pane.types("/queue");
    pane.presses("Enter");
    pane.sees("queued messages");
    pane.presses("M-Down");
    pane.until("the other order", |screen| {
        let rows: Vec<&str> = screen.lines().filter(|line| line.contains(". say ")).collect();
        rows.len() == 2 && rows[0].contains("1. say second") && rows[1].contains("2. say first")
    });
    pane.presses("e");
    pane.sees("enter saves it");
    pane.types(" but later");
    pane.presses("Enter");
    pane.sees("⧗ queued: say first but later");
    // The running turn is stopped, and what waits goes on in its new order.
    pane.presses("Escape");
    pane.sees("press esc again");
    pane.presses("Escape");
    let screen = pane.until("all three answers", |screen| {
        screen.matches("✓ done").count() >= 2 && screen.contains("▌ say first but later")
    });
    let at = |text: &str| screen.find(text).unwrap_or(usize::MAX);
    assert!(at("▌ say second") < at("▌ say first but later"), "{screen}");
}

#[test]
fn a_picture_is_drawn_by_the_terminals_protocol_and_named_elsewhere() {
    // A red square of 16 by 32 pixels.
    const PICTURE: &[u8] = include_bytes!("terminal/square.png");
    for (protocol, drawn) in [("kitty", true), ("none", false)] {
        let pane = Pane::new(100, 30);
        std::fs::write(pane.work.join("square.png"), PICTURE).unwrap();
        pane.types(&format!("export OSTLER_IMAGES={protocol}"));
        pane.presses("Enter");
        pane.open_with_daemon();
        pane.types("say hello");
        pane.presses("Enter");
        pane.sees("✓ done");
        pane.types("/attach square.png");
        pane.presses("Enter");
        pane.sees("square.png attached to the next message");
        pane.types("say what you see");
        pane.presses("Enter");
        pane.until("the picture, or where it lies", |screen| match drawn {
            true => screen.contains('\u{10eeee}') && !screen.contains("[image:"),
            false => screen.contains("[image:") && !screen.contains('\u{10eeee}'),
        });
    }
}

#[test]
fn one_hunk_of_a_turns_change_is_put_back_and_the_other_stays() {
    let pane = Pane::new(100, 40);
    let lines: String = (1..=40).map(|number| format!("line {number}\n")).collect();
    std::fs::write(pane.work.join("list.txt"), lines).unwrap();
    pane.types("export OSTLER_PATCH_REVIEW_MODE=request");
    pane.presses("Enter");
    pane.open_with_daemon();
    pane.types("run `sed -i -e s/line.1$/first/ -e s/line.40/last/ list.txt`");
    pane.presses("Enter");
    // The first moments of a question take no answer, so it is given until it is taken.
    pane.until("the review", |screen| {
        if screen.contains("[y] yes") {
            pane.presses("y");
        }
        screen.contains("Keep this turn's changes?")
    });
    // An answer that came after the question had gone stands in the text, and nobody who writes is interrupted.
    pane.presses("C-u");
    pane.presses("j");
    pane.presses("j");
    pane.presses("Space");
    pane.sees("▸↺ @@");
    pane.until("the end of the turn", |screen| {
        if screen.contains("[y] keep") {
            pane.presses("y");
        }
        screen.contains("✓ done")
    });
    let list = std::fs::read_to_string(pane.work.join("list.txt")).unwrap();
    assert!(list.starts_with("first\n") && list.ends_with("line 40\n"), "{list}");
}
