//! The page through the real binary: the address that lets a browser in, the cookie that outlives a daemon that is
//! killed, and what is told of keys.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Output, Stdio};

use crate::process::{DaemonProcess, binary};

/// Sends a request, and returns the whole answer.
fn exchange(address: SocketAddr, request: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n");
    for (name, value) in headers {
        text += &format!("{name}: {value}\r\n");
    }
    text += &format!("content-length: {}\r\n\r\n{body}", body.len());
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

pub(crate) fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or_default()
}

fn log_in(address: SocketAddr, code: &str) -> String {
    let headers = [("content-type", "application/json"), ("origin", &*format!("http://{address}"))];
    exchange(address, "POST /v1/login", &headers, &format!("{{\"code\":\"{code}\"}}"))
}

pub(crate) fn list(address: SocketAddr, cookie: &str) -> String {
    let cookie = format!("ostler_session_{}={cookie}", address.port());
    exchange(address, "GET /v1/sessions", &[("cookie", &cookie)], "")
}

/// `ostler open`, which opens nothing.
fn open(data: &Path) -> Output {
    binary().arg("--data-dir").arg(data).args(["open", "--print"]).output().unwrap()
}

#[test]
fn an_address_lets_one_browser_in_which_stays_in_when_the_daemon_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let refused = open(&data);
    assert_eq!(refused.status.code(), Some(5), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("ostler serve --open"), "{refused:?}");

    let daemon = DaemonProcess::serve(&data, "");
    let address = daemon.address.unwrap();
    let page = exchange(address, "GET /", &[("accept", "text/html")], "");
    assert_eq!(status(&page), "200", "{page}");
    assert!(page.contains("content-security-policy: default-src 'self';"), "{page}");
    let opened = open(&data);
    let opened = String::from_utf8(opened.stdout).unwrap();
    let code = opened.trim().strip_prefix(&format!("http://{address}/#code=")).unwrap();
    let answer = log_in(address, code);
    assert_eq!(status(&answer), "204", "{answer}");
    let start = format!("set-cookie: ostler_session_{}=", address.port());
    let cookie = answer.lines().find_map(|line| line.strip_prefix(&start)).unwrap();
    let cookie = cookie.split(';').next().unwrap().to_owned();
    assert_eq!(status(&log_in(address, code)), "401", "a code is used once");
    assert_eq!(status(&list(address, &cookie)), "200");
    daemon.kill();

    let daemon = DaemonProcess::serve(&data, "");
    let address = daemon.address.unwrap();
    assert_eq!(status(&list(address, &cookie)), "200");
    assert_eq!(status(&list(address, &"0".repeat(64))), "401");
}

#[test]
fn serve_prints_an_address_with_a_code_and_shows_it_to_a_browser() {
    let dir = tempfile::tempdir().unwrap();
    let (programs, seen) = (dir.path().join("bin"), dir.path().join("seen"));
    std::fs::create_dir(&programs).unwrap();
    let browser = programs.join("xdg-open");
    std::fs::write(&browser, "#!/bin/sh\necho \"$1\" > \"$SEEN\"\n").unwrap();
    std::fs::set_permissions(&browser, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &seen, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let mut command = binary();
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", programs.display())).env("SEEN", &seen);
    command.args(["serve", "--open", "--listen", "127.0.0.1:0", "--data-dir"]).arg(dir.path().join("data"));
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let page = lines.find_map(|line| Some(line.strip_prefix("  the page: ")?.to_owned())).unwrap();
    let shown = std::fs::read_to_string(&seen).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // Everybody can read what a program was started with, so that is a private file which leads on.
    let file = Path::new(shown.trim());
    assert!(file.starts_with(dir.path().join("data")), "{shown}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains(&format!("content=\"0;url={page}\"")), "{text}");
    let (start, code) = page.split_once("/#code=").unwrap();
    assert!(start.starts_with("http://127.0.0.1:") && code.len() == 32, "{page}");
}

#[test]
fn the_settings_say_which_providers_have_a_key_and_never_the_key() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let key = dir.path().join("key");
    std::fs::write(&key, "sk-canary-3141592653").unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let config = format!(
        "[providers.mine]\nkind = \"openai-chat\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key_file = {key:?}\n"
    );
    let daemon = DaemonProcess::serve(&data, &config);
    let token = std::fs::read_to_string(data.join("token")).unwrap();
    let bearer = format!("Bearer {}", token.trim());
    let answer = exchange(daemon.address.unwrap(), "GET /v1/settings", &[("authorization", &bearer)], "");
    assert!(!answer.contains("canary") && !answer.contains(token.trim()), "{answer}");
    let body: serde_json::Value = serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap();
    let provider = |name: &str| {
        let mut all = body["providers"].as_array().unwrap().iter();
        all.find(|provider| provider["name"] == name).unwrap_or_else(|| panic!("{name}: {body}")).clone()
    };
    let mine = provider("mine");
    assert_eq!((&mine["has_key"], &mine["kind"]), (&true.into(), &"openai-chat".into()), "{mine}");
    let openai = provider("openai");
    assert_eq!(openai["has_key"], false);
    assert!(openai["problem"].as_str().unwrap().contains("OPENAI_API_KEY"), "{openai}");
    assert!(body["config_path"].as_str().unwrap().ends_with("config.toml"));
}
