//! A WebSocket client by hand, so that a test decides about every byte.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::schema;

/// How long anything is awaited before a test gives up.
const TEST_TIMEOUT: Duration = Duration::from_secs(20);

/// What came from the gateway.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum GatewayReceived {
    Frame(Value),
    Ping,
    Pong(Vec<u8>),
    Close(u16, String),
    /// The connection ended.
    End,
}

/// One socket.
pub(crate) struct GatewayClient {
    stream: TcpStream,
    bytes: Vec<u8>,
    /// Events that came while something else was awaited.
    events: VecDeque<Value>,
    next_id: u64,
    /// Every frame, as it came.
    pub(crate) transcript: Vec<String>,
}

impl GatewayClient {
    /// A socket that has shown nothing yet, or the status with which it was refused.
    pub(crate) async fn connect(
        address: SocketAddr,
        path: &str,
        headers: &[(&str, &str)],
    ) -> Result<GatewayClient, (u16, String)> {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let mut request = format!("GET {path} HTTP/1.1\r\n");
        let mut put = |name: &str, value: &str| request += &format!("{name}: {value}\r\n");
        for (name, value) in [
            ("Host", address.to_string().as_str()),
            ("Connection", "Upgrade"),
            ("Upgrade", "websocket"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ] {
            if !headers.iter().any(|(given, _)| given.eq_ignore_ascii_case(name)) {
                put(name, value);
            }
        }
        headers.iter().filter(|(_, value)| !value.is_empty()).for_each(|(name, value)| put(name, value));
        request += "\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            assert!(stream.read_buf(&mut bytes).await.unwrap() > 0, "no answer to the handshake");
        };
        let head = String::from_utf8(bytes.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        if status != 101 {
            stream.shutdown().await.unwrap();
            _ = stream.read_to_end(&mut bytes).await;
            return Err((status, String::from_utf8_lossy(&bytes).into_owned()));
        }
        assert!(head.to_lowercase().contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="), "{head}");
        let (events, transcript) = (VecDeque::new(), Vec::new());
        Ok(GatewayClient { stream, bytes, events, next_id: 0, transcript })
    }

    /// Sends a frame that the schema allows.
    pub(crate) async fn send(&mut self, frame: &Value) {
        schema::check("ClientFrame", frame).unwrap();
        self.send_text(&frame.to_string()).await;
    }

    pub(crate) async fn send_text(&mut self, text: &str) {
        self.send_raw(&masked(0x81, text.as_bytes())).await;
    }

    pub(crate) async fn send_raw(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Calls a method, and returns its whole answer. Events that come before it are kept.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id.to_string();
        self.send_text(&json!({"id": id, "method": method, "params": params}).to_string()).await;
        self.answer(&id).await
    }

    /// Calls a method that is to succeed.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert!(answer.get("error").is_none(), "{answer}");
        answer["result"].clone()
    }

    /// The answer to a request.
    pub(crate) async fn answer(&mut self, id: &str) -> Value {
        loop {
            let frame = self.frame().await;
            if frame["id"] == id {
                return frame;
            }
            assert!(frame["event"].is_string(), "an answer to nobody: {frame}");
            self.events.push_back(frame);
        }
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Value {
        match self.events.pop_front() {
            Some(event) => event,
            None => {
                let frame = self.frame().await;
                assert!(frame["event"].is_string(), "no event: {frame}");
                frame
            }
        }
    }

    /// The data of the next event of this name. Skips the others.
    pub(crate) async fn until(&mut self, name: &str) -> Value {
        loop {
            let event = self.event().await;
            if event["event"] == name {
                return event["data"].clone();
            }
        }
    }

    /// The text of a run until it ends, and its end.
    pub(crate) async fn run(&mut self, run_id: &Value) -> (String, Value) {
        let mut text = String::new();
        loop {
            let event = self.event().await;
            if event["data"]["runId"] != *run_id {
                continue;
            }
            match event["event"].as_str().unwrap() {
                "chat.delta" => text += event["data"]["text"].as_str().unwrap(),
                "chat.final" | "chat.error" => return (text, event),
                _ => {}
            }
        }
    }

    /// Makes a session.
    pub(crate) async fn session(&mut self) -> String {
        self.ask("sessions.create", json!({})).await["sessionKey"].as_str().unwrap().to_owned()
    }

    /// Says something, and returns the run.
    pub(crate) async fn say(&mut self, session: &str, message: &str) -> Value {
        self.ask("chat.send", json!({"sessionKey": session, "message": message})).await["runId"].clone()
    }

    /// The next frame that is one.
    pub(crate) async fn frame(&mut self) -> Value {
        match self.receive().await {
            GatewayReceived::Frame(frame) => frame,
            other => panic!("no frame: {other:?}"),
        }
    }

    /// Whatever comes next.
    pub(crate) async fn receive(&mut self) -> GatewayReceived {
        let received = tokio::time::timeout(TEST_TIMEOUT, self.read()).await.expect("something comes");
        if let GatewayReceived::Frame(frame) = &received {
            schema::check("ServerFrame", frame).unwrap();
        }
        received
    }

    /// The next frame, whatever is in it.
    pub(crate) async fn read(&mut self) -> GatewayReceived {
        loop {
            if let Some((opcode, content)) = self.take() {
                return match opcode {
                    1 => {
                        let text = String::from_utf8(content).unwrap();
                        let frame = serde_json::from_str(&text).unwrap();
                        self.transcript.push(text);
                        GatewayReceived::Frame(frame)
                    }
                    8 => {
                        let code =
                            content.get(..2).map_or(1005, |code| u16::from_be_bytes([code[0], code[1]]));
                        let reason =
                            String::from_utf8_lossy(content.get(2..).unwrap_or_default()).into_owned();
                        GatewayReceived::Close(code, reason)
                    }
                    9 => GatewayReceived::Ping,
                    10 => GatewayReceived::Pong(content),
                    other => panic!("a frame of the kind {other}"),
                };
            }
            if !self.stream.read_buf(&mut self.bytes).await.is_ok_and(|count| count > 0) {
                return GatewayReceived::End;
            }
        }
    }

    /// The next whole frame that is here.
    fn take(&mut self) -> Option<(u8, Vec<u8>)> {
        let [first, second, ..] = self.bytes[..] else { return None };
        assert_eq!(first & 0xf0, 0x80, "frames are whole, and without extensions");
        assert_eq!(second & 0x80, 0, "a server does not mask");
        let (start, length) = match second {
            126 => (4, u64::from(u16::from_be_bytes(self.bytes.get(2..4)?.try_into().unwrap()))),
            127 => (10, u64::from_be_bytes(self.bytes.get(2..10)?.try_into().unwrap())),
            short => (2, u64::from(short)),
        };
        let end = start + usize::try_from(length).unwrap();
        let content = self.bytes.get(start..end)?.to_vec();
        self.bytes.drain(..end);
        Some((first & 0x0f, content))
    }
}

/// A frame as a client sends it.
pub(crate) fn masked(first: u8, content: &[u8]) -> Vec<u8> {
    let mask = [0x12, 0x34, 0x56, 0x78];
    let mut frame = vec![first];
    match content.len() {
        short @ 0..=125 => frame.push(0x80 | u8::try_from(short).unwrap()),
        medium @ 126..=65_535 => {
            frame.push(0x80 | 126);
            frame.extend(u16::try_from(medium).unwrap().to_be_bytes());
        }
        long => {
            frame.push(0x80 | 127);
            frame.extend((long as u64).to_be_bytes());
        }
    }
    frame.extend(mask);
    frame.extend(content.iter().enumerate().map(|(index, byte)| byte ^ mask[index % 4]));
    frame
}
