//! Builds the helper as a small program of its own, which `helper_image` embeds. What is shipped stays one file.
//!
//! Cargo cannot depend on a program, so this calls cargo again, for one package that this one depends on anyway: nothing
//! is fetched or resolved anew. It builds in a directory of its own, since the other is locked by whoever runs this, and
//! with flags of its own, so that what is meant for the workspace (lints, coverage) does not get into the helper.

use std::path::{Path, PathBuf};
use std::process::Command;

const PACKAGE: &str = "ostler-sandbox-helper";
const PROGRAM: &str = "sandbox-helper";
/// The profile of the workspace, and the directory that cargo names after it.
const PROFILE: &str = "sandbox-helper";
/// All that it is made of, seen from the workspace.
const SOURCES: &[&str] = &[
    "Cargo.lock",
    "Cargo.toml",
    "crates/sandbox/build.rs",
    "crates/sandbox-helper/Cargo.toml",
    "crates/sandbox-helper/src",
    "crates/workspace-fs/Cargo.toml",
    "crates/workspace-fs/src",
];
/// Variables by which whoever builds the workspace changes how its code is compiled.
const NOT_FOR_THE_HELPER: &[&str] = &[
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_BUILD_TARGET",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_TARGET_DIR",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];
/// What stands between two flags of `CARGO_ENCODED_RUSTFLAGS`.
const BETWEEN: &str = "\u{1f}";

fn main() {
    let root = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().expect("the workspace is where its manifest says");
    for source in SOURCES {
        println!("cargo:rerun-if-changed={}", root.join(source).display());
    }
    let (out, target) = (PathBuf::from(variable("OUT_DIR")), variable("TARGET"));
    let mut cargo = Command::new(variable("CARGO"));
    cargo.current_dir(&root).args(["build", "--quiet", "--locked", "--offline"]);
    cargo.args(["--package", PACKAGE, "--bin", PROGRAM, "--profile", PROFILE, "--target", &target]);
    cargo.arg("--target-dir").arg(&out);
    for name in NOT_FOR_THE_HELPER {
        cargo.env_remove(name);
    }
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(&root, &out, &target).join(BETWEEN));
    cargo.env("CARGO_INCREMENTAL", "0");
    let status = cargo.status().expect("cargo, which runs this, can be started");
    assert!(status.success(), "the helper of the sandbox cannot be built: {status}");
    let built = out.join(&target).join(PROFILE).join(PROGRAM);
    std::fs::copy(&built, out.join("helper")).expect("cargo has built it, and made the folder to write to");
}

/// The flags for the helper. No path of this machine gets in, so that the same sources give the same bytes.
fn flags(root: &Path, out: &Path, target: &str) -> Vec<String> {
    let mut flags = vec!["-Clink-arg=-Wl,--build-id=none".to_owned()];
    // The last one that fits counts, and the innermost directory may be inside another.
    for (path, name) in [(cargo_home(), "/cargo"), (root.to_owned(), "/ostler"), (out.to_owned(), "/out")] {
        flags.push(format!("--remap-path-prefix={}={name}", path.display()));
    }
    // A static program starts in a third of the time. The target for musl always makes one.
    if target.ends_with("-gnu") && target == variable("HOST") && has_static_library() {
        flags.push("-Ctarget-feature=+crt-static".to_owned());
    }
    flags
}

/// Whether the C library can be linked into a program: some systems have it only as a shared one.
fn has_static_library() -> bool {
    let found = Command::new("cc").arg("-print-file-name=libc.a").output();
    found.is_ok_and(|found| found.status.success() && found.stdout.starts_with(b"/"))
}

fn cargo_home() -> PathBuf {
    let path = |name: &str| std::env::var_os(name).map(PathBuf::from);
    path("CARGO_HOME").unwrap_or_else(|| path("HOME").unwrap_or_default().join(".cargo"))
}

fn variable(name: &str) -> String {
    std::env::var(name).expect("cargo sets it for build scripts")
}
