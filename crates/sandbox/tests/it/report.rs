//! What the report says, and that nothing runs where nothing confines.

use ostler_process::Program;
use ostler_sandbox::{BackendChoice, Sandbox, SandboxBackend, SandboxError, SandboxProfile, SandboxSettings};

use crate::fixture::{PATH, SandboxWorld, everywhere};

everywhere! { the_report_names_what_it_stands_on }

async fn the_report_names_what_it_stands_on(world: &SandboxWorld) {
    let report = world.sandbox.report();
    match report.backend {
        SandboxBackend::Bubblewrap => assert!(!world.is_landlock()),
        SandboxBackend::Landlock { abi } => assert!(world.is_landlock() && abi >= 3),
        SandboxBackend::None => panic!("{report:?}"),
    }
    let sentences = report.enforced.iter().chain(&report.not_enforced);
    assert!(sentences.clone().count() > 8);
    assert!(
        sentences
            .clone()
            .all(|sentence| sentence.ends_with('.')
                && sentence.starts_with(|first: char| !first.is_lowercase()))
    );
    let is_root = rustix::process::geteuid().is_root();
    assert_eq!(report.not_enforced.iter().any(|line| line.contains("runs as root")), is_root);
}

#[tokio::test]
async fn a_helper_that_does_not_work_means_no_sandbox() {
    let place = tempfile::tempdir().unwrap();
    let sandbox = Sandbox::probe_without_embedded_helper(SandboxSettings {
        home: place.path().join("home"),
        data_dir: place.path().join("data"),
        scratch: place.path().join("data/scratch"),
        helper: Program::at("/bin/false".into()),
        helper_arguments: Vec::new(),
        hidden: Vec::new(),
        hides_home: true,
        readable: Vec::new(),
        search_path: Vec::new(),
        backend_choice: BackendChoice::Best,
        ignore_cached_probe: true,
    })
    .await;
    assert_eq!(sandbox.report().backend, SandboxBackend::None);
    assert!(!sandbox.report().reasons.is_empty());
    assert!(sandbox.report().enforced.is_empty());
    let refused = sandbox.command(&SandboxProfile::new(place.path()), "true", [""; 0]);
    assert!(matches!(refused, Err(SandboxError::Unavailable(_))), "{refused:?}");
}

/// What worked is not tried again, until something changes or somebody asks for it.
#[tokio::test]
async fn a_probe_is_remembered() {
    let home = tempfile::tempdir().expect("a directory for the test");
    let scratch = home.path().join("scratch");
    let probe = async |helper: &str, anew: bool| {
        let settings = SandboxSettings {
            home: home.path().join("home"),
            data_dir: home.path().join("data"),
            scratch: scratch.clone(),
            helper: Program::at(helper.into()),
            helper_arguments: Vec::new(),
            hidden: Vec::new(),
            hides_home: true,
            readable: Vec::new(),
            search_path: Vec::new(),
            backend_choice: BackendChoice::Best,
            ignore_cached_probe: anew,
        };
        Sandbox::probe_without_embedded_helper(settings).await
    };
    let helper = env!("CARGO_BIN_EXE_ostler-sandbox-helper");
    let first = probe(helper, false).await;
    assert!(first.is_available(), "{:?}", first.report());
    let known = std::fs::read(scratch.join("probed")).expect("it is remembered");
    // A helper that cannot confine anything: whoever tries will notice.
    let broken = home.path().join("broken");
    std::os::unix::fs::symlink("/bin/false", &broken).expect("a link");
    let broken = broken.to_str().expect("a plain path");
    assert!(!probe(broken, false).await.is_available(), "another helper is tried");
    assert!(!scratch.join("probed").exists(), "what does not work is forgotten");
    std::fs::write(scratch.join("probed"), &known).expect("it is written");
    assert!(probe(helper, false).await.is_available());
    assert!(probe(helper, true).await.is_available());
}

/// Where programs cannot be started from memory, the caller's own program is the helper.
#[tokio::test]
async fn a_command_runs_without_the_embedded_helper() {
    let place = tempfile::tempdir().expect("a directory for the test");
    let root = place.path().canonicalize().expect("it exists");
    for choice in [BackendChoice::Bubblewrap, BackendChoice::Landlock] {
        let workspace = root.join(format!("{choice:?}"));
        std::fs::create_dir(&workspace).expect("it is new");
        let settings = SandboxSettings {
            home: root.join("home"),
            data_dir: root.join("data"),
            scratch: root.join("scratch"),
            helper: Program::at(env!("CARGO_BIN_EXE_ostler-sandbox-helper").into()),
            helper_arguments: Vec::new(),
            hidden: Vec::new(),
            hides_home: true,
            readable: Vec::new(),
            search_path: Vec::new(),
            backend_choice: choice,
            ignore_cached_probe: true,
        };
        let sandbox = Sandbox::probe_without_embedded_helper(settings).await;
        let script = "echo \"$WORD\" > written; touch /usr/x 2> /dev/null || echo refused";
        let confined = sandbox.command(&SandboxProfile::new(&workspace), "/bin/sh", ["-c", script]);
        let confined = confined.expect("something confines").envs([("PATH", PATH), ("WORD", "given")]);
        let (mut command, confinement) = confined.prepare();
        let output = command.output().await.expect("it starts");
        confinement.finish();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "refused\n", "{output:?}");
        let written = std::fs::read_to_string(workspace.join("written")).expect("it was written");
        assert_eq!(written, "given\n");
    }
}
