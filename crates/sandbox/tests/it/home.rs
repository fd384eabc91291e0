//! What a confined program sees of the user's home directory, and what it may do there.

use std::fs;

use crate::fixture::{SandboxWorld, everywhere};

everywhere! {
    the_home_directory_is_hidden_but_for_toolchains_and_caches,
    what_is_written_to_a_cache_is_gone_with_the_program,
    a_commit_is_made_by_the_user,
}

async fn the_home_directory_is_hidden_but_for_toolchains_and_caches(world: &SandboxWorld) {
    let home = &world.home;
    for (path, text) in [
        (".cargo/bin/tool", "#!/bin/sh\necho tool runs\n"),
        (".cargo/credentials.toml", "canary"),
        (".cargo/registry/index", "index"),
        ("other/.env", "canary"),
        (".config/sops/age/keys.txt", "canary"),
        (".databrickscfg", "canary"),
        (".cache/huggingface/token", "canary"),
    ] {
        fs::create_dir_all(home.join(path).parent().unwrap()).unwrap();
        fs::write(home.join(path), text).unwrap();
    }
    let script = "cat \"$TESTED_HOME\"/.cargo/bin/tool \"$TESTED_HOME\"/.cargo/registry/index || exit 1; \
                  cat \"$TESTED_HOME\"/other/.env \"$TESTED_HOME\"/.databrickscfg; \
                  grep -r canary \"$TESTED_HOME\" 2>/dev/null; cd; pwd; echo mine > own && cat own";
    let outcome = world.sh(script).await;
    let told = outcome.ok();
    assert!(told.contains("tool runs") && told.contains("index") && told.contains("mine"), "{told}");
    assert!(!told.contains("canary"), "{told}");
    assert!(!home.join("own").exists());
}

async fn what_is_written_to_a_cache_is_gone_with_the_program(world: &SandboxWorld) {
    let cache = world.home.join(".cache/pip");
    fs::create_dir_all(cache.join("deep")).unwrap();
    fs::write(cache.join("deep/old"), "old").unwrap();
    let script = "cd \"$TESTED_HOME/.cache/pip\" && echo new > deep/new && echo changed > deep/old && cat deep/new deep/old";
    let outcome = world.sh(script).await;
    if world.is_landlock() {
        outcome.failed();
    } else {
        assert_eq!(outcome.ok(), "new\nchanged\n");
    }
    assert_eq!(fs::read_to_string(cache.join("deep/old")).unwrap(), "old");
    assert!(!cache.join("deep/new").exists());
}

async fn a_commit_is_made_by_the_user(world: &SandboxWorld) {
    let text = "[user]\n\tname = Her Name\n\temail = her@home\n[core]\n\tpager = touch pwned\n";
    fs::write(world.home.join(".gitconfig"), text).unwrap();
    world.host_git(&world.workspace, &["init", "-q"]);
    let script = "echo x > x && git add x && git commit -qm first && git log --format='%an <%ae>'";
    assert_eq!(world.sh(script).await.ok().trim(), "Her Name <her@home>");
}
