//! What a confined program can write and read.

use std::fs;
use std::os::unix::fs::symlink;

use crate::fixture::{SandboxWorld, everywhere, names};

everywhere! {
    the_workspace_is_writable,
    nothing_else_is,
    links_lead_nowhere,
    secrets_are_hidden,
    the_environment_of_the_daemon_is_out_of_reach,
    tmp_is_private,
    a_file_has_a_limit,
    what_is_hidden_or_read_only_stays_so,
}

async fn the_workspace_is_writable(world: &SandboxWorld) {
    let outcome =
        world.sh("mkdir -p a/b && echo hello > a/b/c && mv a d && cat d/b/c && rm -r d && pwd").await;
    assert_eq!(outcome.ok(), format!("hello\n{}\n", world.workspace.display()));
    assert!(outcome.teardown.restored.is_empty());
    assert!(names(&world.workspace).is_empty(), "{:?}", names(&world.workspace));
}

async fn nothing_else_is(world: &SandboxWorld) {
    fs::write(world.outside.join("file"), "as it was").unwrap();
    for attempt in [
        "echo x > \"$OUTSIDE/new\"",
        "echo x >> \"$OUTSIDE/file\"",
        "truncate -s 0 \"$OUTSIDE/file\"",
        "rm \"$OUTSIDE/file\"",
        "mkdir \"$OUTSIDE/directory\"",
        "echo x > ../outside/new",
        "mv \"$OUTSIDE/file\" here",
        "touch here && mv here \"$OUTSIDE/here\"",
        "ln \"$OUTSIDE/file\" here2 && echo x > here2",
        "echo x > /proc/self/root\"$OUTSIDE\"/new",
        "echo x > /etc/ostler-test",
        "echo x > /usr/ostler-test",
        "echo x > /dev/ostler-test",
        "echo x > /proc/sys/kernel/hostname",
    ] {
        let outcome = world.sh(attempt).await;
        assert_ne!(outcome.code, Some(0), "{attempt}: {outcome:?}");
    }
    // Its home directory is its own.
    world.sh("touch \"$HOME/.bashrc\"").await.ok();
    assert!(!world.home.join(".bashrc").exists());
    assert_eq!(names(&world.outside), ["file"]);
    assert_eq!(fs::read_to_string(world.outside.join("file")).unwrap(), "as it was");
    assert_eq!(names(&world.home), [".netrc", ".ssh"]);
}

async fn links_lead_nowhere(world: &SandboxWorld) {
    fs::write(world.outside.join("file"), "as it was").unwrap();
    symlink(world.outside.join("file"), world.workspace.join("link")).unwrap();
    symlink(&world.outside, world.workspace.join("directory")).unwrap();
    world.sh("echo x > link").await.failed();
    world.sh("echo x > directory/new").await.failed();
    world.sh("ln -s \"$OUTSIDE\" mine; echo x > mine/new").await.failed();
    assert_eq!(names(&world.outside), ["file"]);
    assert_eq!(fs::read_to_string(world.outside.join("file")).unwrap(), "as it was");
}

async fn secrets_are_hidden(world: &SandboxWorld) {
    for secret in ["$TESTED_HOME/.ssh/id", "$TESTED_HOME/.netrc", "$OUTSIDE/../data/token"] {
        let outcome = world.sh(&format!("cat \"{secret}\"")).await;
        assert!(!outcome.failed().contains("canary"), "{secret}: {outcome:?}");
        let outcome = world.sh(&format!("ln -s \"{secret}\" link; cat link; rm link; false")).await;
        assert!(!outcome.failed().contains("canary"), "{secret}: {outcome:?}");
    }
    // Root owns it even without capabilities, so its mode alone would not do.
    assert!(!world.sh("cat /etc/shadow; false").await.failed().contains("root:"));
    // What the user says is needed is there.
    let mut profile = world.profile();
    profile.readable.push(world.home.join(".ssh"));
    assert_eq!(world.sh_with(&profile, "cat \"$TESTED_HOME/.ssh/id\"").await.ok(), "canary");
    world.sh_with(&profile, "echo x > \"$TESTED_HOME/.ssh/id\"").await.failed();
}

async fn the_environment_of_the_daemon_is_out_of_reach(world: &SandboxWorld) {
    // This process plays the daemon, and cargo has given it variables of this name.
    assert!(fs::read("/proc/self/environ").unwrap().windows(9).any(|part| part == b"CARGO_PKG"));
    let daemon = std::process::id();
    let script = format!(
        "env; cat /proc/{daemon}/environ /proc/$PPID/environ /proc/1/environ /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; \
         (cd /proc/{daemon}/root && cat etc/hostname); (cd /proc/1/root && cat etc/shadow); ls /proc/{daemon}/fd; cat /proc/{daemon}/mem; true"
    );
    let outcome = world.sh(&script).await;
    let seen = outcome.ok();
    assert!(!seen.contains("CARGO_PKG"), "{seen}");
    assert!(seen.contains("OUTSIDE="), "{seen}");
}

async fn tmp_is_private(world: &SandboxWorld) {
    let name = format!("ostler-test-{}", std::process::id());
    let left = world.sh(&format!("echo x > \"$TMPDIR/{name}\" && cat \"$TMPDIR/{name}\"")).await;
    assert_eq!(left.ok(), "x\n");
    let found = world.sh(&format!("ls \"$TMPDIR\"; ls -A /tmp /var/tmp; cat /tmp/{name}")).await;
    assert!(!found.failed().contains(&format!("{name}\n")), "{found:?}");
    assert!(!std::path::Path::new("/tmp").join(&name).exists());
    let host = tempfile::Builder::new().prefix("ostler-host-").tempfile_in("/tmp").unwrap();
    fs::write(host.path(), "canary").unwrap();
    let seen = world.sh(&format!("cat {}", host.path().display())).await;
    assert!(!seen.failed().contains("canary"), "{seen:?}");
}

async fn a_file_has_a_limit(world: &SandboxWorld) {
    let outcome = world.sh("truncate -s 10G big || dd if=/dev/zero of=big bs=1M count=1 seek=10239").await;
    outcome.failed();
    let size = fs::metadata(world.workspace.join("big")).map_or(0, |metadata| metadata.len());
    assert!(size <= world.profile().limits.file_bytes, "{size}");
    let mut profile = world.profile();
    profile.limits.file_bytes = 1 << 20;
    let outcome = world.sh_with(&profile, "exec dd if=/dev/zero of=small bs=1M count=2").await;
    assert_eq!(outcome.code, Some(128 + 25), "{outcome:?}");
    let told = ostler_sandbox::explain_denial(&profile, outcome.code, &outcome.output).unwrap();
    assert!(told.contains("1 MiB"), "{told}");
}

async fn what_is_hidden_or_read_only_stays_so(world: &SandboxWorld) {
    fs::create_dir(world.workspace.join("fixtures")).unwrap();
    fs::write(world.workspace.join("fixtures/one"), "as it was").unwrap();
    let mut profile = world.profile();
    profile.protected.push(world.workspace.join("fixtures"));
    world.sh_with(&profile, "echo x > fixtures/one; mv fixtures elsewhere; echo x > fixtures/two").await;
    assert_eq!(fs::read_to_string(world.workspace.join("fixtures/one")).unwrap(), "as it was");
    assert_eq!(names(&world.workspace.join("fixtures")), ["one"]);

    let mut profile = world.profile();
    profile.hidden.push(world.workspace.join("fixtures"));
    if world.is_landlock() {
        let refused = world.sandbox.command(&profile, "true", [""; 0]).unwrap_err().to_string();
        assert!(refused.contains("Landlock cannot"), "{refused}");
    } else {
        world.sh_with(&profile, "cat fixtures/one").await.failed();
    }
    profile.access = ostler_sandbox::WorkspaceAccess::ReadOnly;
    fs::write(world.workspace.join("open"), "open").unwrap();
    assert_eq!(world.sh_with(&profile, "cat open").await.ok(), "open");
    world.sh_with(&profile, "cat fixtures/one").await.failed();
    world.sh_with(&profile, "echo x > open").await.failed();
    world.sh_with(&profile, "touch new").await.failed();
}
