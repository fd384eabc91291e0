//! Which directories may be a workspace, and how they may be called.

use std::fs;
use std::path::Path;

use ostler_sandbox::{BackendChoice, SandboxError, SandboxProfile, secret_places, unfit_workspace_reason};

use crate::fixture::{SandboxWorld, as_nobody, everywhere, names};

everywhere! {
    directories_that_hold_too_much_are_refused,
    a_workspace_in_the_data_directory_is_refused,
    a_program_writes_its_state_and_nothing_beside_it,
    state_behind_links_is_found_in_a_hidden_home,
    a_single_file_can_be_written,
    secrets_inside_a_workspace_are_hidden,
    a_writable_directory_more,
    a_workspace_in_tmp,
}

const NAMES: &[&str] =
    &["with space", "quote'\"`$(x)", "-rf", "ünï\u{202e}cødé 🐎", "new\nline", "*?[a]", "a:b,c=d"];

async fn odd_names(choice: BackendChoice) {
    for name in NAMES {
        let world = SandboxWorld::named(choice, name).await;
        assert_eq!(world.sh("echo x > file && cat file").await.ok(), "x\n", "{name:?}");
        assert_eq!(fs::read_to_string(world.workspace.join("file")).unwrap(), "x\n");
        world.sh("echo x > ../outside/file").await.failed();
    }
}

#[tokio::test]
async fn odd_names_with_bubblewrap() {
    odd_names(BackendChoice::Bubblewrap).await;
}

#[tokio::test]
async fn odd_names_with_landlock() {
    odd_names(BackendChoice::Landlock).await;
}

#[test]
fn odd_names_as_nobody() {
    as_nobody(module_path!(), "odd_names_with_bubblewrap");
    as_nobody(module_path!(), "odd_names_with_landlock");
}

async fn directories_that_hold_too_much_are_refused(world: &SandboxWorld) {
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
        let refused = world.sandbox.command(&SandboxProfile::new(path), "true", [""; 0]);
        assert!(matches!(refused, Err(SandboxError::Unfit { .. })), "{}: {refused:?}", path.display());
        let mut profile = world.profile();
        profile.writable.push(path.to_owned());
        let refused = world.sandbox.command(&profile, "true", [""; 0]);
        assert!(matches!(refused, Err(SandboxError::Unfit { .. })), "{}: {refused:?}", path.display());
    }
    let link = world.outside.join("link");
    std::os::unix::fs::symlink("/", &link).unwrap();
    assert!(matches!(
        world.sandbox.command(&SandboxProfile::new(&link), "true", [""; 0]),
        Err(SandboxError::Unfit { .. })
    ));
    let missing = world.outside.join("missing");
    assert!(matches!(
        world.sandbox.command(&SandboxProfile::new(&missing), "true", [""; 0]),
        Err(SandboxError::Path { .. })
    ));
    // A directory of the home is an ordinary one.
    let project = world.home.join("project");
    fs::create_dir(&project).unwrap();
    assert_eq!(world.sh_with(&SandboxProfile::new(&project), "touch x && ls").await.ok(), "x\n");
}

async fn a_workspace_in_the_data_directory_is_refused(world: &SandboxWorld) {
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
        let refused = world.sandbox.command(&SandboxProfile::new(path), "true", [""; 0]);
        assert!(matches!(refused, Err(SandboxError::Unfit { .. })), "{}: {refused:?}", path.display());
        let told = unfit_workspace_reason(path, &data, &world.home).unwrap();
        assert_eq!(told, refused.unwrap_err().to_string());
        assert!(told.contains(why), "{told}");
    }
    assert_eq!(unfit_workspace_reason(&world.workspace, &data, &world.home), None);
    assert!(unfit_workspace_reason(&world.outside.join("missing"), &data, &world.home).is_some());
}

async fn a_program_writes_its_state_and_nothing_beside_it(world: &SandboxWorld) {
    let (login, file) = (world.home.join(".claude"), world.home.join(".claude.json"));
    fs::create_dir(&login).unwrap();
    fs::write(&file, "{}").unwrap();
    fs::write(world.home.join(".bashrc"), "").unwrap();
    let hidden = world.sh("cat \"$TESTED_HOME\"/.claude.json").await;
    assert_ne!(hidden.code, Some(0), "{hidden:?}");
    let mut profile = world.profile();
    profile.state = vec![login.clone(), file.clone()];
    let script =
        "cd \"$TESTED_HOME\" && mkdir -p .claude/.git .claude/.vscode && echo hooks > .claude/settings.json &&
                  echo new > .claude.json && cat .claude.json";
    assert_eq!(world.sh_with(&profile, script).await.ok(), "new\n");
    assert_eq!(fs::read_to_string(&file).unwrap(), "new\n");
    assert_eq!(names(&login), [".git", ".vscode", "settings.json"], "it is as the program left it");
    // The rest of its home directory is its own, if it has one there.
    world.sh_with(&profile, "cd \"$TESTED_HOME\" && echo x > .bashrc").await;
    assert_eq!(fs::read_to_string(world.home.join(".bashrc")).unwrap(), "");
    for denied in ["cat .ssh/id", "rm .claude.json"] {
        world.sh_with(&profile, &format!("cd \"$TESTED_HOME\" && {denied}")).await.failed();
    }
    // The state is no reason to open the settings of the same name in the workspace.
    let planted = world.sh_with(&profile, "mkdir -p .claude; echo x > .claude/settings.json").await;
    assert!(world.is_landlock() || planted.code != Some(0), "{planted:?}");
    assert!(!world.workspace.join(".claude/settings.json").exists());
}

async fn state_behind_links_is_found_in_a_hidden_home(world: &SandboxWorld) {
    let elsewhere = world.outside.join("dotfiles");
    fs::create_dir_all(elsewhere.join("config/agent")).unwrap();
    fs::create_dir(elsewhere.join("login")).unwrap();
    for (name, leads) in [(".config", "config"), (".login", "login")] {
        std::os::unix::fs::symlink(elsewhere.join(leads), world.home.join(name)).unwrap();
    }
    // The home directory has two names.
    let home = world.outside.join("home");
    std::os::unix::fs::symlink(&world.home, &home).unwrap();
    fs::create_dir(world.home.join(".plain")).unwrap();
    fs::write(world.home.join("other"), "canary").unwrap();
    let mut profile = world.profile();
    profile.hidden = vec![world.home.clone()];
    profile.state = [".config/agent", ".login", ".plain"].map(|name| home.join(name)).to_vec();
    let script = "cd \"$OUTSIDE/home\" && for x in .config/agent .login .plain; do echo new > $x/file; done";
    world.sh_with(&profile, script).await.ok();
    for path in [elsewhere.join("config/agent"), elsewhere.join("login"), world.home.join(".plain")] {
        assert_eq!(fs::read_to_string(path.join("file")).unwrap(), "new\n", "{}", path.display());
    }
    world.sh_with(&profile, "cat \"$TESTED_HOME/other\"").await.failed();
    world.sh_with(&profile, "touch \"$OUTSIDE/dotfiles/config/x\"").await.failed();
}

async fn a_single_file_can_be_written(world: &SandboxWorld) {
    let (file, beside) = (world.outside.join("one"), world.outside.join("two"));
    fs::write(&file, "").unwrap();
    fs::write(&beside, "").unwrap();
    let mut profile = world.profile();
    profile.writable.push(file.clone());
    world.sh_with(&profile, "echo x > \"$OUTSIDE\"/one").await.ok();
    world.sh_with(&profile, "echo x > \"$OUTSIDE\"/two").await.failed();
    assert_eq!(
        (fs::read_to_string(file).unwrap(), fs::read_to_string(beside).unwrap()),
        ("x\n".into(), "".into())
    );
    let file = world.workspace.join("file");
    fs::write(&file, "").unwrap();
    let refused = world.sandbox.command(&SandboxProfile::new(&file), "true", [""; 0]);
    assert!(matches!(refused, Err(SandboxError::Unfit { .. })), "it is no workspace: {refused:?}");
    for unfit in [&world.home, Path::new("/etc/passwd"), Path::new("/dev/null")] {
        let mut profile = world.profile();
        profile.state.push(unfit.to_owned());
        let refused = world.sandbox.command(&profile, "true", [""; 0]);
        assert!(matches!(refused, Err(SandboxError::Unfit { .. })), "{}: {refused:?}", unfit.display());
    }
}

async fn secrets_inside_a_workspace_are_hidden(world: &SandboxWorld) {
    let config = world.home.join(".config");
    fs::create_dir_all(config.join("gh")).unwrap();
    fs::write(config.join("gh/hosts.yml"), "canary").unwrap();
    fs::create_dir_all(config.join("git")).unwrap();
    fs::write(config.join("git/credentials"), "canary").unwrap();
    assert!(secret_places(&world.home).contains(&config.join("gh")));
    let profile = SandboxProfile::new(&config);
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

async fn a_writable_directory_more(world: &SandboxWorld) {
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

async fn a_workspace_in_tmp(world: &SandboxWorld) {
    let place = tempfile::tempdir_in("/tmp").unwrap();
    let workspace = place.path().join("project");
    fs::create_dir(&workspace).unwrap();
    fs::write(place.path().join("beside"), "canary").unwrap();
    let profile = SandboxProfile::new(&workspace);
    assert_eq!(world.sh_with(&profile, "echo x > file && cat file").await.ok(), "x\n");
    assert!(!world.sh_with(&profile, "cat ../beside").await.failed().contains("canary"));
    assert_eq!(fs::read_to_string(workspace.join("file")).unwrap(), "x\n");
}
