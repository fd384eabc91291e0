//! A server that answers every request with one recorded stream, as fast as it is read. Its events are those
//! that providers send, members included that nobody reads.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::JoinHandle;

use anyhow::Result;
use ostler_models::ProviderKind;

/// The protocols that answers are recorded in, and their names.
pub const PROTOCOLS: [(ProviderKind, &str); 3] = [
    (ProviderKind::OpenAiChat, "Chat Completions"),
    (ProviderKind::OpenAiResponses, "Responses"),
    (ProviderKind::Anthropic, "Messages"),
];

/// Each answer has a connection of its own, so that none is open when the server is to end.
const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n";

/// The server. It serves one client at a time, in a thread that ends with it.
pub struct RecordedServer {
    address: SocketAddr,
    thread: Option<JoinHandle<()>>,
}

impl RecordedServer {
    /// Answers with so many deltas in this protocol.
    pub fn start(kind: ProviderKind, deltas: usize) -> Result<RecordedServer> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let answer = answer(kind, deltas);
        let thread = std::thread::Builder::new().name("recorded".to_owned()).spawn(move || {
            // A connection that says nothing is how it is told to end.
            while let Ok((stream, _)) = listener.accept() {
                if serve(stream, &answer).is_none() {
                    return;
                }
            }
        })?;
        Ok(RecordedServer { address, thread: Some(thread) })
    }

    /// Where its endpoints lie.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1", self.address)
    }
}

impl Drop for RecordedServer {
    fn drop(&mut self) {
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            // A panic was reported when it happened.
            _ = thread.join();
        }
    }
}

/// Answers what is asked on a connection. None if nothing is.
fn serve(mut stream: TcpStream, answer: &[u8]) -> Option<()> {
    read_request(&mut stream)?;
    // A client that has read enough may go.
    _ = stream.write_all(answer);
    Some(())
}

fn read_request(stream: &mut TcpStream) -> Option<()> {
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let head = head.to_ascii_lowercase();
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some(());
            }
        }
    }
}

/// The response, with one chunk of the body for each event, as servers send them.
fn answer(kind: ProviderKind, deltas: usize) -> Vec<u8> {
    let (before, delta, after) = events(kind);
    let mut bytes = HEAD.as_bytes().to_vec();
    let mut push = |event: &str| bytes.extend(format!("{:x}\r\n{event}\r\n", event.len()).into_bytes());
    before.iter().for_each(|event| push(event));
    (0..deltas).for_each(|_| push(delta));
    after.iter().for_each(|event| push(event));
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

/// What comes before the deltas, one of them, and what comes after them.
fn events(kind: ProviderKind) -> (&'static [&'static str], &'static str, &'static [&'static str]) {
    match kind {
        ProviderKind::OpenAiChat | ProviderKind::Replay => (CHAT_BEFORE, CHAT_DELTA, CHAT_AFTER),
        ProviderKind::OpenAiResponses => (RESPONSES_BEFORE, RESPONSES_DELTA, RESPONSES_AFTER),
        ProviderKind::Anthropic => (MESSAGES_BEFORE, MESSAGES_DELTA, MESSAGES_AFTER),
    }
}

const CHAT_BEFORE: &[&str] = &[
    "data: {\"id\":\"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG\",\"object\":\"chat.completion.chunk\",\"created\":1741570283,\"model\":\"gpt-5-mini\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_06737a9306\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n",
];
const CHAT_DELTA: &str = "data: {\"id\":\"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG\",\"object\":\"chat.completion.chunk\",\"created\":1741570283,\"model\":\"gpt-5-mini\",\"service_tier\":\"default\",\"system_fingerprint\":\"fp_06737a9306\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" stable,\\n\"},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n";
const CHAT_AFTER: &[&str] = &[
    "data: {\"id\":\"chatcmpl-B9MHDbslfkBeAs8l4bebGdFOJ6PeG\",\"object\":\"chat.completion.chunk\",\"created\":1741570283,\"model\":\"gpt-5-mini\",\"choices\":[{\"index\":0,\"delta\":{},\"logprobs\":null,\"finish_reason\":\"stop\"}],\"usage\":null}\n\n",
    "data: [DONE]\n\n",
];

const RESPONSES_BEFORE: &[&str] = &[
    "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_67c9fdcecf488190\",\"object\":\"response\",\"status\":\"in_progress\",\"output\":[]}}\n\n",
    "event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"id\":\"msg_67c9fdcf37fc8190\",\"type\":\"message\",\"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}}\n\n",
];
const RESPONSES_DELTA: &str = "event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":17,\"item_id\":\"msg_67c9fdcf37fc8190ba82116e33fb28c501b8b0ad29c64b92\",\"output_index\":0,\"content_index\":0,\"delta\":\" stable,\\n\",\"logprobs\":[],\"obfuscation\":\"Xw3kq9Lr\"}\n\n";
const RESPONSES_AFTER: &[&str] = &[
    "event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":99,\"response\":{\"id\":\"resp_67c9fdcecf488190\",\"object\":\"response\",\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":36,\"output_tokens\":87,\"total_tokens\":123}}}\n\n",
];

const MESSAGES_BEFORE: &[&str] = &[
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1nZdL29xx5MUA1yADyHTEsnR8uuvGzszyY\",\"type\":\"message\",\"role\":\"assistant\",\"content\":[],\"model\":\"claude-sonnet-4-5\",\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":25,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
];
const MESSAGES_DELTA: &str = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" stable,\\n\"}}\n\n";
const MESSAGES_AFTER: &[&str] = &[
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":15}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
];
