//! What the report says, and that nothing runs where nothing confines.

use ostler_sandbox::{Backend, Choice, Profile, Sandbox, SandboxError, Settings};

use crate::fixture::{World, everywhere};

everywhere! { the_report_names_what_it_stands_on }

async fn the_report_names_what_it_stands_on(world: &World) {
    let report = world.sandbox.report();
    match report.backend {
        Backend::Bubblewrap => assert!(!world.is_landlock()),
        Backend::Landlock { abi } => assert!(world.is_landlock() && abi >= 3),
        Backend::None => panic!("{report:?}"),
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
    let sandbox = Sandbox::probe(Settings {
        home: place.path().join("home"),
        data_dir: place.path().join("data"),
        scratch: place.path().join("data/scratch"),
        helper: vec!["/bin/false".into()],
        hidden: Vec::new(),
        choice: Choice::Best,
    })
    .await;
    assert_eq!(sandbox.report().backend, Backend::None);
    assert!(!sandbox.report().reasons.is_empty());
    assert!(sandbox.report().enforced.is_empty());
    let refused = sandbox.command(&Profile::new(place.path()), "true", [""; 0]);
    assert!(matches!(refused, Err(SandboxError::Unavailable(_))), "{refused:?}");
}
