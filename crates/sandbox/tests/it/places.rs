//! Which directories may be a workspace, and how they may be called.

use std::fs;
use std::path::Path;

use ostler_sandbox::{Choice, Profile, SandboxError, secret_places, unfit};

use crate::fixture::{World, as_nobody, everywhere};

everywhere! {
    directories_that_hold_too_much_are_refused,
    a_workspace_in_the_data_directory_is_refused,
    secrets_inside_a_workspace_are_hidden,
    a_writable_directory_more,
    a_workspace_in_tmp,
}

const NAMES: &[&str] =
    &["with space", "quote'\"`$(x)", "-rf", "ünï\u{202e}cødé 🐎", "new\nline", "*?[a]", "a:b,c=d"];

async fn odd_names(choice: Choice) {
    for name in NAMES {
        let world = World::named(choice, name).await;
        assert_eq!(world.sh("echo x > file && cat file").await.ok(), "x\n", "{name:?}");
        assert_eq!(fs::read_to_string(world.workspace.join("file")).unwrap(), "x\n");
        world.sh("echo x > ../outside/file").await.failed();
    }
}

#[tokio::test]
async fn odd_names_with_bubblewrap() {
    odd_names(Choice::Bubblewrap).await;
}

#[tokio::test]
async fn odd_names_with_landlock() {
    odd_names(Choice::Landlock).await;
}

#[test]
fn odd_names_as_nobody() {
    as_nobody(module_path!(), "odd_names_with_bubblewrap");
    as_nobody(module_path!(), "odd_names_with_landlock");
}

async fn directories_that_hold_too_much_are_refused(world: &World) {
    let above = world.home.parent().unwrap();
    let data = above.join("data");
    for path in [
        Path::new("/"),
        &world.home,
        above,
        &data,
        Path::new("/tmp"),
        Path::new("/etc"),
        Path::new("/usr/lib"),
        Path::new("/var"),
        Path::new("/proc/self"),
        Path::new("/dev"),
    ] {
        let refused = world.sandbox.command(&Profile::new(path), "true", [""; 0]);
        assert!(matches!(refused, Err(SandboxError::Unfit { .. })), "{}: {refused:?}", path.display());
        let mut profile = world.profile();
        profile.writable.push(path.to_owned());
        let refused = world.sandbox.command(&profile, "true", [""; 0]);
        assert!(matches!(refused, Err(SandboxError::Unfit { .. })), "{}: {refused:?}", path.display());
    }
    let link = world.outside.join("link");
    std::os::unix::fs::symlink("/", &link).unwrap();
    assert!(matches!(
        world.sandbox.command(&Profile::new(&link), "true", [""; 0]),
        Err(SandboxError::Unfit { .. })
    ));
    let missing = world.outside.join("missing");
    assert!(matches!(
        world.sandbox.command(&Profile::new(&missing), "true", [""; 0]),
        Err(SandboxError::Path { .. })
    ));
    // A directory of the home is an ordinary one.
    let project = world.home.join("project");
    fs::create_dir(&project).unwrap();
    assert_eq!(world.sh_with(&Profile::new(&project), "touch x && ls").await.ok(), "x\n");
}

async fn a_workspace_in_the_data_directory_is_refused(world: &World) {
    let data = world.home.parent().unwrap().join("data");
    let below = data.join("sessions/one");
    fs::create_dir_all(&below).unwrap();
    let link = world.outside.join("link");
    std::os::unix::fs::symlink(&below, &link).unwrap();
    for (path, why) in [
        (&data, "Ostler keeps its own data"),
        (&below, "Ostler keeps its own data"),
        (&link, "Ostler keeps its own data"),
        (&world.home, "your home directory"),
        (&world.home.join(".ssh"), "keys and tokens"),
    ] {
        let refused = world.sandbox.command(&Profile::new(path), "true", [""; 0]);
        assert!(matches!(refused, Err(SandboxError::Unfit { .. })), "{}: {refused:?}", path.display());
        let told = unfit(path, &data, &world.home).unwrap();
        assert_eq!(told, refused.unwrap_err().to_string());
        assert!(told.contains(why), "{told}");
    }
    assert_eq!(unfit(&world.workspace, &data, &world.home), None);
    assert!(unfit(&world.outside.join("missing"), &data, &world.home).is_some());
}

async fn secrets_inside_a_workspace_are_hidden(world: &World) {
    let config = world.home.join(".config");
    fs::create_dir_all(config.join("gh")).unwrap();
    fs::write(config.join("gh/hosts.yml"), "canary").unwrap();
    fs::create_dir_all(config.join("git")).unwrap();
    fs::write(config.join("git/credentials"), "canary").unwrap();
    assert!(secret_places(&world.home).contains(&config.join("gh")));
    let profile = Profile::new(&config);
    if world.is_landlock() {
        let refused = world.sandbox.command(&profile, "true", [""; 0]);
        assert!(matches!(refused, Err(SandboxError::Unfit { .. })), "{refused:?}");
        return;
    }
    world.sh_with(&profile, "echo x > mine && cat mine").await.ok();
    for script in [
        "cat gh/hosts.yml",
        "cat git/credentials",
        "mv gh other; cat other/hosts.yml",
        "mv git other; cat other/credentials",
    ] {
        assert!(!world.sh_with(&profile, script).await.failed().contains("canary"), "{script}");
    }
    assert_eq!(fs::read_to_string(config.join("git/credentials")).unwrap(), "canary");
}

async fn a_writable_directory_more(world: &World) {
    let cache = world.outside.join("cache");
    fs::create_dir(&cache).unwrap();
    let mut profile = world.profile();
    profile.writable.push(cache.clone());
    profile.current_dir = cache.clone();
    world
        .sh_with(&profile, "echo x > file && touch \"$OLDPWD/../workspace/y\" 2>/dev/null; touch ../other")
        .await
        .failed();
    assert!(cache.join("file").exists() && !world.outside.join("other").exists());
}

async fn a_workspace_in_tmp(world: &World) {
    let place = tempfile::tempdir_in("/tmp").unwrap();
    let workspace = place.path().join("project");
    fs::create_dir(&workspace).unwrap();
    fs::write(place.path().join("beside"), "canary").unwrap();
    let profile = Profile::new(&workspace);
    assert_eq!(world.sh_with(&profile, "echo x > file && cat file").await.ok(), "x\n");
    assert!(!world.sh_with(&profile, "cat ../beside").await.failed().contains("canary"));
    assert_eq!(fs::read_to_string(workspace.join("file")).unwrap(), "x\n");
}
