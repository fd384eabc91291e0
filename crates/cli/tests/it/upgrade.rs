//! `ostler upgrade`, against a server of releases on loopback.

use std::os::unix::fs::PermissionsExt;

use ostler_cli::upgrade::{Release, ReleaseSource};
use serde_json::json;

use crate::cli_fixture::CliFixture;
use crate::raw_server::{RawServer, RawServerReply};

const PROGRAM: &str = "#!/bin/sh\necho the next one\n";
/// Of that program.
const HASH: &str = "7f048ffa0517e34bae1cbd094f113011f709bf71ffde712a99a5b629c63241e4";

async fn releases(target: String, sha256: &'static str) -> (RawServer, ReleaseSource) {
    let server = RawServer::start(move |asked| {
        if asked.head.starts_with("GET /releases/latest.json ") {
            let latest =
                json!({"version": "99.0.0", "target": target, "file": "ostler-99", "sha256": sha256});
            return RawServerReply::whole("200 OK", latest.to_string());
        }
        if asked.head.starts_with("GET /releases/ostler-99 ") {
            return RawServerReply::whole("200 OK", PROGRAM.to_owned());
        }
        RawServerReply::whole("404 Not Found", String::new())
    })
    .await;
    let source = ReleaseSource::new(&format!("http://{}/releases", server.address)).unwrap();
    (server, source)
}

fn this_target() -> String {
    format!("{}-unknown-{}-musl", std::env::consts::ARCH, std::env::consts::OS)
}

/// A directory with an installed program.
fn installed() -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join("ostler");
    std::fs::write(&program, "old").unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    (dir, program)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_replaces_the_program() {
    let (_server, source) = releases(this_target(), HASH).await;
    let latest = source.latest().await.unwrap();
    assert_eq!((latest.version.as_str(), latest.file.as_str()), ("99.0.0", "ostler-99"));
    let (dir, program) = installed();
    source.install(&latest, &program).await.unwrap();
    assert_eq!(std::fs::read_to_string(&program).unwrap(), PROGRAM);
    assert_eq!(program.metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(dir.path().read_dir().unwrap().count(), 1, "nothing else is left");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_match_replaces_nothing() {
    let wrong = "0000000000000000000000000000000000000000000000000000000000000000";
    let cases = [(this_target(), wrong, "hash"), ("sparc-sun-solaris".to_owned(), HASH, "is for sparc")];
    for (target, sha256, why) in cases {
        let (_server, source) = releases(target, sha256).await;
        let latest = source.latest().await.unwrap();
        let (dir, program) = installed();
        let error = source.install(&latest, &program).await.unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert_eq!(std::fs::read_to_string(&program).unwrap(), "old");
        assert_eq!(dir.path().read_dir().unwrap().count(), 1, "nothing else is left");
        let elsewhere = Release { file: "missing".to_owned(), target: this_target(), ..latest };
        assert!(source.install(&elsewhere, &program).await.unwrap_err().to_string().contains("404"));
    }
}

#[test]
fn a_build_without_an_address_asks_nobody() {
    let said = CliFixture::new("").run(&["upgrade"]);
    assert_eq!((said.code, said.out.as_str()), (Some(1), ""), "{said:?}");
    assert!(said.err.contains("this build has no upgrade address"), "{said:?}");
}
