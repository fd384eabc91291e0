//! Diagrams, with programs that stand in for those that draw, and with the real `dot`.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::json;

use crate::fixture::ToolFixture;
use crate::sandboxed::Sandboxed;

/// Tells a test that it runs with the programs that it wants.
const PROGRAMS: &str = "OSTLER_TOOLS_TEST_PROGRAMS";

const DOT: &str = "read -r source\n\
               case \"$source\" in bad) echo 'syntax error' >&2; exit 1;; write) touch written || exit 1;; esac\n\
               test \"$1\" = -Tsvg && echo \"<svg onload='x()'><script>x()</script><g id='$source'/></svg>\"";

const MMDC: &str = "while test $# -gt 0; do case \"$1\" in -c) config=$2;; -p) test -f \"$2\" || exit 1;; esac; shift; done\n\
                read -r source; echo 'a warning' >&2\n\
                labels=$(sed 's/.*\"htmlLabels\":\\([a-z]*\\).*/\\1/' \"$config\")\n\
                echo \"<svg><foreignObject>x</foreignObject><text>$labels $source</text></svg>\"";

/// Runs a test again with these programs in front of others.
fn with_programs(test: &str, programs: &[(&str, &str)], others: &str) {
    let folder = tempfile::tempdir_in(crate::place::beside_tmp(env!("CARGO_TARGET_TMPDIR"))).unwrap();
    for (name, script) in programs {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture"])
        .env("PATH", format!("{}{others}", folder.path().display()))
        .env(PROGRAMS, folder.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{errors}");
}

#[tokio::test]
async fn a_picture_is_drawn_and_cleaned() {
    if std::env::var_os(PROGRAMS).is_none() {
        let programs = [("dot", DOT), ("mmdc", MMDC)];
        return with_programs("diagram::a_picture_is_drawn_and_cleaned", &programs, ":/usr/bin:/bin");
    }
    let world = Sandboxed::new().await;
    let outcome = world.call("diagram", json!({"source": "digraph { a -> b }", "format": "dot"})).await;
    assert!(outcome.ok, "{}", outcome.text);
    let [(name, picture)] = outcome.files.as_slice() else { panic!("{:?}", outcome.files) };
    let picture = String::from_utf8_lossy(picture);
    assert_eq!((name.as_str(), &*picture), ("diagram.svg", "<svg><g id=\"digraph { a -> b }\"/></svg>\n"));
    let outcome = world.call("diagram", json!({"source": "graph TD", "format": "mermaid"})).await;
    assert!(outcome.ok && outcome.text.contains("a warning"), "{}", outcome.text);
    assert_eq!(outcome.files[0].1, b"<svg><text>false graph TD</text></svg>\n");
    let outcome = world.call("diagram", json!({"source": "bad", "format": "dot"})).await;
    assert!(!outcome.ok && outcome.text.contains("exit code 1") && outcome.text.contains("syntax error"));
    assert_eq!(outcome.files, [("diagram.dot".to_owned(), b"bad".to_vec())]);
    let outcome = world.call("diagram", json!({"source": "write", "format": "dot"})).await;
    assert!(!outcome.ok && !world.workspace.join("written").exists(), "{}", outcome.text);
}

#[tokio::test]
async fn the_real_dot_draws_confined() {
    let found = Command::new("dot").arg("-V").output();
    assert!(found.is_ok_and(|found| found.status.success()), "`dot` is missing; .ci/setup installs graphviz");
    let world = Sandboxed::new().await;
    let source = "digraph { rankdir=LR; stable -> \"horse & cart\" [label=\"oats\"]; \
                  evil [URL=\"javascript:alert(1)\", label=<<b>bold</b>>]; picture [image=\"/etc/passwd\"] }";
    let outcome = world.call("diagram", json!({"source": source, "format": "dot"})).await;
    assert!(outcome.ok, "{}", outcome.text);
    let [(name, picture)] = outcome.files.as_slice() else { panic!("{:?}", outcome.files) };
    let picture = String::from_utf8_lossy(picture);
    assert_eq!(name, "diagram.svg");
    assert!(picture.contains("<svg") && picture.trim_end().ends_with("</svg>"), "{picture}");
    for label in [">stable<", ">horse &amp; cart<", ">oats<", ">bold<"] {
        assert!(picture.contains(label), "{label}: {picture}");
    }
    assert!(!picture.contains("javascript:") && !picture.contains("root:"), "{picture}");
    let outcome = world.call("diagram", json!({"source": "digraph { a -> ", "format": "dot"})).await;
    assert!(!outcome.ok && outcome.text.contains("syntax error"), "{}", outcome.text);
    assert_eq!(outcome.files[0].0, "diagram.dot");
}

#[tokio::test]
async fn without_a_program_the_description_is_kept() {
    if std::env::var_os(PROGRAMS).is_none() {
        return with_programs("diagram::without_a_program_the_description_is_kept", &[], "");
    }
    // A program that the workspace brings is none.
    let fixture = ToolFixture::with(&[("dot", "#!/bin/sh\ntouch ran\n")]);
    std::fs::set_permissions(fixture.path("dot"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let outcome = fixture.ok("diagram", json!({"source": "graph TD", "format": "mermaid"})).await;
    assert!(outcome.text.contains("`mmdc` is not installed"), "{}", outcome.text);
    assert_eq!(outcome.files, [("diagram.mmd".to_owned(), b"graph TD".to_vec())]);
    assert_eq!(outcome.details.unwrap()["drawn"], false);
    assert!(!fixture.path("ran").exists());
    for input in [json!({"source": "x", "format": "png"}), json!({"source": "", "format": "dot"})] {
        fixture.refusal("diagram", input).await;
    }
}
