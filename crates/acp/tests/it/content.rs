//! Content, questions and servers, both ways.

use std::collections::BTreeMap;

use agent_client_protocol::v1::schema::{
    ContentBlock, McpCapabilities, McpServer, PermissionOption, StopReason,
};
use ostler_acp::{
    AcceptedContent, AcpContentPiece, McpDescription, McpTransport, from_block, from_mcp_server,
    from_options, from_permission_answer, from_stop_reason, to_block, to_mcp_server, to_options,
    to_permission_answer, to_stop_reason,
};
use ostler_types::OptionKind;
use serde_json::json;

fn all() -> AcceptedContent {
    AcceptedContent { images: true, audio: true, files: true }
}

#[test]
fn content_survives_the_way_there_and_back() {
    let (mime_type, bytes) = ("image/png".to_owned(), vec![1, 2, 3]);
    let pieces = [
        AcpContentPiece::Text("héllo".to_owned()),
        AcpContentPiece::Image { mime_type: mime_type.clone(), bytes: bytes.clone() },
        AcpContentPiece::Audio { mime_type, bytes },
        AcpContentPiece::Link { name: "a".to_owned(), uri: "file:///a".to_owned() },
    ];
    for piece in pieces {
        assert_eq!(from_block(&to_block(piece.clone(), all())), piece);
    }
    for bytes in [b"text".to_vec(), vec![0xff, 0xfe]] {
        let file = AcpContentPiece::File {
            name: "a.bin".to_owned(),
            mime_type: "x/y".to_owned(),
            bytes: bytes.clone(),
        };
        let AcpContentPiece::File { bytes: back, .. } = from_block(&to_block(file, all())) else {
            panic!("no file")
        };
        assert_eq!(back, bytes);
    }
}

#[test]
fn what_an_agent_does_not_take_is_said() {
    let said = |piece: AcpContentPiece| match to_block(piece, AcceptedContent::default()) {
        ContentBlock::Text(text) => text.text,
        other => panic!("{other:?}"),
    };
    let mime_type = || "x/y".to_owned();
    assert!(
        said(AcpContentPiece::Image { mime_type: mime_type(), bytes: vec![] }).contains("A picture (x/y)")
    );
    assert!(said(AcpContentPiece::Audio { mime_type: mime_type(), bytes: vec![] }).contains("A sound (x/y)"));
    let file = |bytes: &[u8]| AcpContentPiece::File {
        name: "f".to_owned(),
        mime_type: mime_type(),
        bytes: bytes.to_vec(),
    };
    assert!(said(file(b"text")).ends_with("text"));
    assert!(said(file(&[0xff])).contains("The file f"));
}

#[test]
fn answers_are_offered_and_given() {
    let offered: Vec<PermissionOption> = serde_json::from_value(json!([
        {"optionId": "a", "name": "Yes", "kind": "allow_once"},
        {"optionId": "b", "name": "Always", "kind": "allow_always"},
        {"optionId": "c", "name": "No\u{202e}", "kind": "reject_once"},
        {"optionId": "d", "name": "Never", "kind": "reject_always"},
    ]))
    .unwrap();
    let options = from_options(&offered);
    let kinds =
        [OptionKind::AllowOnce, OptionKind::AllowAlways, OptionKind::RejectOnce, OptionKind::RejectAlways];
    assert_eq!(options.iter().map(|option| option.kind).collect::<Vec<_>>(), kinds);
    assert_eq!(options[2].name, "No\\u{202e}");
    assert_eq!(from_options(&to_options(&options)).len(), 4);
    for chosen in [Some("a"), None] {
        let answer = to_permission_answer(chosen);
        assert_eq!(from_permission_answer(&answer).as_deref(), chosen);
    }
    let answer = serde_json::to_value(to_permission_answer(Some("a"))).unwrap();
    assert_eq!(answer, json!({"outcome": {"outcome": "selected", "optionId": "a"}}));
    let answer = serde_json::to_value(to_permission_answer(None)).unwrap();
    assert_eq!(answer, json!({"outcome": {"outcome": "cancelled"}}));
}

#[test]
fn reasons_to_stop() {
    let table = [
        (StopReason::EndTurn, Some("end_turn")),
        (StopReason::MaxTokens, Some("max_tokens")),
        (StopReason::MaxTurnRequests, Some("max_steps")),
        (StopReason::Refusal, Some("refusal")),
        (StopReason::Cancelled, None),
    ];
    for (theirs, ours) in table {
        assert_eq!(from_stop_reason(theirs), ours);
        assert_eq!(ours.map_or(StopReason::Cancelled, to_stop_reason), theirs);
    }
    assert_eq!(to_stop_reason("anything"), StopReason::EndTurn);
}

#[test]
fn servers_are_handed_on_where_they_can_be_reached() {
    let pair = || BTreeMap::from([("A".to_owned(), "b".to_owned())]);
    let stdio = McpDescription {
        name: "files".to_owned(),
        transport: McpTransport::Stdio { command: vec!["/bin/x".to_owned(), "-y".to_owned()], env: pair() },
    };
    let http = McpDescription {
        name: "web".to_owned(),
        transport: McpTransport::Http { url: "http://x".to_owned(), headers: pair() },
    };
    let (none, with_http) = (McpCapabilities::new(), McpCapabilities::new().http(true));
    assert_eq!(to_mcp_server(&http, &none), None);
    for server in [stdio, http] {
        let told = to_mcp_server(&server, &with_http).unwrap();
        let wire: McpServer = serde_json::from_value(serde_json::to_value(&told).unwrap()).unwrap();
        assert_eq!(from_mcp_server(wire).unwrap(), server);
    }
}
