//! The WebSocket protocol itself, as the Autobahn testsuite asks of it, and messages that never end. What messages
//! hold is left to `frames`.

use std::time::Duration;

use ostler_doors::gateway::{DryRunOutcome, GatewayLimits, dry_run};

use super::client::{GatewayClient, GatewayReceived, masked};
use crate::daemon::{DoorTestDaemon, DoorTestOptions};

const LIMIT: usize = 1024;
const REQUEST: &[u8] = br#"{"id":"a","method":"health.check"}"#;

/// The last thing that comes of a frame, and of another one over and over.
fn repeated(first: &[u8], next: &[u8], times: usize, limit: usize) -> Option<DryRunOutcome> {
    dry_run(std::iter::once(first).chain(std::iter::repeat_n(next, times)), limit).pop()
}

#[test]
fn a_message_without_end_is_ended() {
    let begin = masked(0x01, b"x");
    for (next, times) in [
        (masked(0x00, &[b'x'; LIMIT / 2]), 1000),
        (masked(0x00, &[b'x'; 2 * LIMIT]), 1000),
        (masked(0x00, b"x"), LIMIT * 100),
        (masked(0x00, b""), 200_000),
        (masked(0x8a, b"x"), 200_000),
        ([masked(0x89, b""), masked(0x00, b"")].concat(), 100_000),
    ] {
        assert_eq!(repeated(&begin, &next, times, LIMIT), Some(DryRunOutcome::Broken(1009)), "{next:?}");
    }
}

#[test]
fn a_message_in_many_pieces_is_taken() {
    let begin = masked(0x01, b"x");
    let pieces = masked(0x00, &[b'x'; 64]);
    let whole = std::iter::once(&begin).chain(std::iter::repeat_n(&pieces, 65_536));
    let end = masked(0x80, b"x");
    let heard = dry_run(whole.chain([&end]).map(Vec::as_slice), 8 << 20);
    assert!(matches!(heard[..], [DryRunOutcome::Refused(-32700, _)]), "{heard:?}");
    // Between messages, pings are what a client may send for ever.
    assert_eq!(
        repeated(&masked(0x81, REQUEST), &masked(0x89, b""), 200_000, LIMIT),
        Some(DryRunOutcome::Control)
    );
}

#[tokio::test]
async fn a_client_that_goes_on_sending_is_told_why_it_is_closed() {
    let limits = GatewayLimits { max_frame_bytes: LIMIT, ..GatewayLimits::default() };
    let daemon = DoorTestDaemon::start_as(DoorTestOptions { limits, ..DoorTestOptions::default() }).await;
    let mut endless = masked(0x01, b"x");
    (0..1000).for_each(|_| endless.extend(masked(0x00, &[b'x'; 128])));
    let mut unmasked = b"\x81\x02{}".to_vec();
    (0..1000).for_each(|_| unmasked.extend(masked(0x81, REQUEST)));
    for (bytes, expected) in [(endless, 1009), (unmasked, 1002)] {
        let mut client = GatewayClient::open(&daemon).await;
        client.send_raw(&bytes).await;
        let received = client.receive().await;
        assert!(matches!(received, GatewayReceived::Close(code, _) if code == expected), "{received:?}");
        assert_eq!(client.receive().await, GatewayReceived::End);
    }
    daemon.stop().await;
}

#[tokio::test]
async fn a_close_is_answered_or_told_what_is_wrong_with_it() {
    let daemon = DoorTestDaemon::start().await;
    let with = |code: u16, reason: &[u8]| [&code.to_be_bytes()[..], reason].concat();
    let mut cases = vec![(vec![], 1000), (vec![3], 1002), (with(1000, b"\xce\xba\xed\xa0\x80"), 1007)];
    cases.push((with(1000, &[b'*'; 123]), 1000));
    cases.push((with(1000, &[b'*'; 124]), 1002));
    for code in
        [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999, 4000, 4999]
    {
        cases.push((with(code, b"bye \xc3\xbc"), 1000));
    }
    for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] {
        cases.push((with(code, b""), 1002));
    }
    for (content, expected) in cases {
        let mut client = GatewayClient::open(&daemon).await;
        // What comes after a close is not answered.
        let after = [masked(0x88, &content), masked(0x89, b"late"), masked(0x81, REQUEST)].concat();
        client.send_raw(&after).await;
        let received = client.receive().await;
        assert!(
            matches!(received, GatewayReceived::Close(code, _) if code == expected),
            "{content:?}: {received:?}"
        );
        assert_eq!(client.receive().await, GatewayReceived::End);
    }
    daemon.stop().await;
}

#[test]
fn a_text_that_is_not_utf8_ends_the_connection() {
    let greeting = "κόσμε".as_bytes();
    for wrong in [
        &b"\xff\xfe"[..],
        b"\x80",
        b"\xc3",
        b"\xe2\x82",
        b"\xc0\xaf",
        b"\xe0\x80\xaf",
        b"\xed\xa0\x80",
        b"\xed\xaf\xbf\xed\xbf\xbf",
        b"\xf4\x90\x80\x80",
        b"\xf8\x88\x80\x80\x80",
        b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited",
    ] {
        assert_eq!(dry_run([&masked(0x81, wrong)[..]], LIMIT), [DryRunOutcome::Broken(1007)], "{wrong:?}");
        let pieces = [masked(0x01, greeting), masked(0x00, wrong), masked(0x80, b"")].concat();
        assert_eq!(dry_run([&pieces[..]], LIMIT), [DryRunOutcome::Broken(1007)], "{wrong:?}");
        let binary = dry_run([&masked(0x82, wrong)[..]], LIMIT);
        assert!(matches!(binary[..], [DryRunOutcome::Refused(-32700, _)]), "{wrong:?}: {binary:?}");
    }
    for right in ["\u{0}", "\u{7f}", "\u{ffff}", "\u{fffd}", "\u{10ffff}", "κόσμε", "𝄞 ü"] {
        // A character may begin in one frame and end in another.
        for cut in 0..=right.len() {
            let (start, end) = right.as_bytes().split_at(cut);
            let heard = dry_run([&[masked(0x01, start), masked(0x80, end)].concat()[..]], LIMIT);
            assert!(matches!(heard[..], [DryRunOutcome::Refused(-32700, _)]), "{right:?}: {heard:?}");
        }
    }
}

#[tokio::test]
async fn a_client_that_reads_nothing_is_not_read_either() {
    let daemon = DoorTestDaemon::start().await;
    for frame in [masked(0x89, &[b'x'; 125]), masked(0x81, b"{")] {
        let mut client = GatewayClient::open(&daemon).await;
        let many = frame.repeat((1 << 20) / frame.len());
        let mut sent = 0;
        // Each is answered, and the answers wait in memory once the socket's own buffers are full.
        while tokio::time::timeout(Duration::from_secs(1), client.send_raw(&many)).await.is_ok() {
            sent += 1;
            assert!(sent < 64, "the daemon keeps the answers to {sent} MiB of frames");
        }
        let received = client.receive().await;
        assert!(matches!(received, GatewayReceived::Pong(_) | GatewayReceived::Frame(_)), "{received:?}");
    }
    daemon.stop().await;
}
