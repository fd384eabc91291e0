//! What is fetched and what is not, against servers on this machine and a resolver that lies.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::{Fetched, Fetcher};

/// A server that gives the same answer to each request, and counts them. Ends with the runtime of its test.
async fn server(answer: impl Into<Vec<u8>>) -> (u16, Arc<AtomicUsize>) {
    let (answer, count) = (answer.into(), Arc::new(AtomicUsize::new(0)));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let counter = Arc::clone(&count);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::Relaxed);
            let mut request = [0; 4096];
            let length = stream.read(&mut request).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..length]).to_lowercase();
            assert!(request.contains("user-agent: ostler/") && !request.contains("cookie"), "{request}");
            // Who has read enough may be gone.
            let _ = stream.write_all(&answer).await;
        }
    });
    (port, count)
}

fn page(kind: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    )
}

fn leading_to(target: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nlocation: {target}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")
}

/// Fetches with a resolver that says of every name that it is at these addresses, and that trusts `docs.test`.
async fn fetch_at(url: &str, addresses: &[&str]) -> Result<Fetched, String> {
    let addresses: Vec<IpAddr> = addresses.iter().map(|address| address.parse().unwrap()).collect();
    let fetcher = Fetcher::with_lookup(&["docs.test".to_owned()], move |_| {
        let addresses = addresses.clone();
        async move { Ok(addresses) }.boxed()
    });
    fetcher.fetch(url).await.map_err(|failed| failed.0)
}

async fn fetch(url: &str) -> Result<Fetched, String> {
    fetch_at(url, &["127.0.0.1"]).await
}

#[tokio::test]
async fn a_page_is_fetched_from_where_its_name_leads() {
    let (port, _) = server(page("text/html; charset=utf-8", "<p>hé</p>")).await;
    let fetched = fetch(&format!("http://docs.test:{port}/a")).await.unwrap();
    assert_eq!(
        (fetched.status, fetched.text.as_str(), fetched.is_html, fetched.is_cut),
        (200, "<p>hé</p>", true, false)
    );
    let (port, _) = server(page("text/plain; charset=iso-8859-1", "x").replace('x', "\u{fffd}")).await;
    assert!(fetch(&format!("http://docs.test:{port}/a")).await.is_ok());
}

#[tokio::test]
async fn what_is_not_public_is_never_connected_to() {
    let (port, count) = server(page("text/plain", "secret")).await;
    for host in [
        "127.0.0.1",
        "localhost",
        "localhost.",
        "127.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "0.0.0.0",
        "[::]",
        "169.254.169.254",
        "10.0.0.1",
        "evil.test",
        "127.0.0.1.evil.test",
        "localhost.evil.test",
        "docs.test.evil.test",
        "127。0。0。1",
    ] {
        let error = fetch(&format!("http://{host}:{port}/")).await.unwrap_err();
        assert!(error.contains("is on a private network"), "{host}: {error}");
    }
    // One private address among public ones is enough.
    let error = fetch_at(&format!("http://evil.test:{port}/"), &["8.8.8.8", "127.0.0.1"]).await.unwrap_err();
    assert!(error.contains("is on a private network"), "{error}");
    assert!(fetch_at("http://evil.test/", &[]).await.unwrap_err().contains("could not be resolved"));
    assert_eq!(count.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn other_schemes_users_and_ports_are_refused() {
    for (url, expected) in [
        ("file:///etc/passwd", "Only http and https"),
        ("ftp://docs.test/", "Only http and https"),
        ("gopher://docs.test/", "Only http and https"),
        ("data:text/plain,x", "Only http and https"),
        ("http://user@docs.test/", "user name or password"),
        ("http://user:secret@docs.test/", "user name or password"),
        ("http://docs.test:22/", "Port 22"),
        ("https://docs.test:25/", "Port 25"),
        ("docs.test", "is not a valid URL"),
        ("http://", "is not a valid URL"),
    ] {
        let error = fetch(url).await.unwrap_err();
        assert!(error.contains(expected) && !error.contains("secret"), "{url}: {error}");
    }
}

#[tokio::test]
async fn redirects_are_followed_with_the_same_checks() {
    let (port, _) = server(page("text/plain", "there")).await;
    let (first, _) = server(leading_to(&format!("//docs.test:{port}/x"))).await;
    let fetched = fetch(&format!("http://docs.test:{first}/")).await.unwrap();
    assert_eq!(
        (fetched.text.as_str(), fetched.url.as_str()),
        ("there", &*format!("http://docs.test:{port}/x"))
    );
    let (secret, count) = server(page("text/plain", "secret")).await;
    for (target, expected) in [
        (format!("http://127.0.0.1:{secret}/"), "is on a private network"),
        (format!("http://evil.test:{secret}/"), "is on a private network"),
        ("file:///etc/passwd".to_owned(), "Only http and https"),
        (format!("http://user@docs.test:{secret}/"), "user name or password"),
    ] {
        let (port, _) = server(leading_to(&target)).await;
        let error = fetch(&format!("http://docs.test:{port}/")).await.unwrap_err();
        assert!(error.contains(expected), "{target}: {error}");
    }
    assert_eq!(count.load(Ordering::Relaxed), 0);
    let (port, count) = server(leading_to("/again")).await;
    let error = fetch(&format!("http://docs.test:{port}/")).await.unwrap_err();
    assert!(error.contains("More than 5 redirects"), "{error}");
    assert_eq!(count.load(Ordering::Relaxed), 6);
}

#[tokio::test]
async fn only_text_is_read_and_only_so_much() {
    for kind in ["image/png", "application/octet-stream", "application/pdf", "image/svg+xml"] {
        let (port, _) = server(page(kind, "x")).await;
        let error = fetch(&format!("http://docs.test:{port}/")).await.unwrap_err();
        assert!(error.contains("is not text"), "{kind}: {error}");
    }
    for kind in
        ["application/json", "application/problem+json", "application/xml", "application/atom+xml", ""]
    {
        let (port, _) = server(page(kind, "x")).await;
        assert_eq!(fetch(&format!("http://docs.test:{port}/")).await.unwrap().text, "x", "{kind}");
    }
    let (port, _) = server(page("text/plain\r\ncontent-encoding: gzip", "x")).await;
    let error = fetch(&format!("http://docs.test:{port}/")).await.unwrap_err();
    assert!(error.contains("sent compressed"), "{error}");
    let (port, _) = server(page("text/plain", &"x".repeat(6 * 1024 * 1024))).await;
    let fetched = fetch(&format!("http://docs.test:{port}/")).await.unwrap();
    assert_eq!((fetched.text.len(), fetched.is_cut), (5 * 1024 * 1024, true));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let error = fetch(&format!("http://docs.test:{port}/")).await.unwrap_err();
    assert!(error.contains("could not be fetched from"), "{error}");
}
