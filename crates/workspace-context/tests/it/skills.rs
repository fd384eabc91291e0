//! Skills in real directories: whose are found, which counts, and what cannot be read.

use ostler_workspace_context::{SkillError, SkillLocations, Skills};

use crate::write;

const BODY: &str = "---\nname: deploy\ndescription: how to deploy\n---\nRun it.\n";

fn skill(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\nbody of {name}\n")
}

#[test]
fn the_owners_skills_come_first_and_the_workspaces_only_under_trust() {
    let folder = tempfile::tempdir().unwrap();
    let (own, workspace) = (folder.path().join("own"), folder.path().join("workspace"));
    write(&own, &[("deploy/SKILL.md", &skill("deploy", "mine"))]);
    write(
        &workspace,
        &[
            (".ostler/skills/a/SKILL.md", &skill("a", "first")),
            (".agents/skills/deploy/SKILL.md", &skill("deploy", "theirs")),
            (".claude/skills/c/SKILL.md", &skill("c", "third")),
            (".claude/skills/no-skill/README.md", "nothing"),
        ],
    );
    let mut places = SkillLocations { directories: vec![own], ..SkillLocations::default() };
    let names = |skills: &Skills| skills.all().iter().map(|skill| skill.name.clone()).collect::<Vec<_>>();
    assert_eq!(names(&Skills::find(&places)), ["deploy"]);
    places.trusted_workspace = Some(workspace);
    let skills = Skills::find(&places);
    assert_eq!(names(&skills), ["deploy", "a", "c"]);
    assert_eq!(skills.all()[0].description, "mine");
    assert!(skills.problems()[0].contains("a skill `deploy` already"), "{:?}", skills.problems());
    assert!(skills.load("deploy").unwrap().contains("body of deploy"));
}

#[test]
fn an_unknown_skill_is_said_to_be_unknown() {
    let skills = Skills::default();
    for name in ["x", "../x", ""] {
        let error = skills.load(name).unwrap_err();
        assert_eq!(error, SkillError::Unknown(name.to_owned()));
        assert_eq!(error.to_string(), format!("Unknown skill: {name}"));
    }
}

#[test]
fn a_skill_is_read_when_it_is_used() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &[("deploy/SKILL.md", BODY)]);
    let places = SkillLocations { directories: vec![folder.path().to_owned()], ..SkillLocations::default() };
    let skills = Skills::find(&places);
    let loaded = skills.load("deploy").unwrap();
    assert!(
        loaded.contains("Run it.") && loaded.contains(folder.path().join("deploy").to_str().unwrap()),
        "{loaded}"
    );
    write(folder.path(), &[("deploy/SKILL.md", &BODY.replace("Run it", "Walk it"))]);
    assert!(skills.load("deploy").unwrap().contains("Walk it."));
    std::fs::remove_dir_all(folder.path().join("deploy")).unwrap();
    let gone = skills.load("deploy").unwrap_err().to_string();
    assert!(gone.starts_with("The skill deploy cannot be read:"), "{gone}");
}

#[test]
fn no_skill_is_read_from_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let (workspace, elsewhere) = (folder.path().join("workspace"), folder.path().join("elsewhere"));
    write(&elsewhere, &[("deploy/SKILL.md", BODY)]);
    write(&workspace, &[(".ostler/skills/hidden/SKILL.md", &skill("hidden", "x"))]);
    let place = workspace.join(".ostler/skills");
    std::os::unix::fs::symlink(elsewhere.join("deploy"), place.join("folder-link")).unwrap();
    std::fs::create_dir(place.join("file-link")).unwrap();
    std::os::unix::fs::symlink(elsewhere.join("deploy/SKILL.md"), place.join("file-link/SKILL.md")).unwrap();
    std::fs::create_dir(place.join("binary")).unwrap();
    std::fs::write(place.join("binary/SKILL.md"), b"---\nname: b\xff\n---\n").unwrap();
    std::fs::create_dir(place.join("large")).unwrap();
    std::fs::write(place.join("large/SKILL.md"), BODY.to_owned() + &"x".repeat(200_000)).unwrap();
    let places = SkillLocations {
        trusted_workspace: Some(workspace),
        hidden: vec![place.join("hidden")],
        ..SkillLocations::default()
    };
    let skills = Skills::find(&places);
    assert_eq!(skills.all(), []);
    assert_eq!(skills.problems().len(), 5, "{:?}", skills.problems());
}
