//! Skills: folders with a SKILL.md, whose name and description are always listed and whose text is read when
//! it is used. A skill is text for the model; what it asks for still goes through tools and approvals.

mod front_matter;

use std::path::{Path, PathBuf};

use crate::prompts;
use crate::visible_files::VisibleFiles;
use front_matter::FrontMatter;
use ostler_context::tokens_to_bytes;
use ostler_context::{ContextMessage, GatheredSectionKind};
use ostler_runner::ShownContext;

/// Where a trusted workspace keeps its skills.
const WORKSPACE_SKILL_DIRECTORIES: &[&str] = &[".ostler/skills", ".agents/skills", ".claude/skills"];
const SKILL_FILE: &str = "SKILL.md";
/// How many folders of one place are looked into, and how many skills there are in all.
const MAX_FOLDERS: usize = 256;
const MAX_SKILLS: usize = 256;
/// How much of a SKILL.md is read.
const MAX_BYTES: u64 = 128 * 1024;

/// Where skills are looked for.
#[derive(Debug, Clone, Default)]
pub struct SkillLocations {
    /// Directories of the owner's own, which come first: a workspace cannot take the place of their skills.
    pub directories: Vec<PathBuf>,
    /// The workspace, if its owner trusts it.
    pub trusted_workspace: Option<PathBuf>,
    /// What is never read, wherever it is.
    pub hidden: Vec<PathBuf>,
}

/// The skills that there are.
#[derive(Debug, Clone, Default)]
pub struct Skills {
    skills: Vec<Skill>,
    problems: Vec<String>,
    hidden: Vec<PathBuf>,
}

/// One skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// Its name: small letters, digits and hyphens.
    pub name: String,
    /// What it is for and when to use it.
    pub description: String,
    /// The directory that paths cannot leave, and the folder beneath it.
    root: PathBuf,
    folder: PathBuf,
}

/// Why a skill cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkillError {
    /// There is none of this name.
    #[error("Unknown skill: {0}")]
    Unknown(String),
    /// It was there and cannot be read now.
    #[error("The skill {name} cannot be read: {why}. Continue without it, or ask the user to fix it.")]
    Unreadable {
        /// Its name.
        name: String,
        /// What went wrong.
        why: String,
    },
}

impl Skills {
    /// Looks for skills. Of two with one name the first counts. Reads directories and files.
    pub fn find(places: &SkillLocations) -> Skills {
        let mut skills = Skills { hidden: places.hidden.clone(), ..Skills::default() };
        for directory in &places.directories {
            skills.scan_location(directory, Path::new(""));
        }
        if let Some(workspace) = &places.trusted_workspace {
            for place in WORKSPACE_SKILL_DIRECTORIES {
                skills.scan_location(workspace, Path::new(place));
            }
        }
        skills
    }

    /// All of them, those of the owner first and each place by name.
    pub fn all(&self) -> &[Skill] {
        &self.skills
    }

    /// Folders that cannot be used as skills, with the reason.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The text of a skill, and where its folder is. Reads the file anew.
    pub fn load(&self, name: &str) -> Result<String, SkillError> {
        let skill = self.skills.iter().find(|skill| skill.name == name);
        let skill = skill.ok_or_else(|| SkillError::Unknown(name.to_owned()))?;
        let unreadable = |why: String| SkillError::Unreadable { name: name.to_owned(), why };
        let text = self.read(&skill.root, &skill.folder).map_err(unreadable)?;
        let (_, body) = FrontMatter::parse(&text).map_err(unreadable)?;
        let folder = skill.root.join(&skill.folder);
        Ok(prompts::skill(name, &folder.display().to_string(), body.trim()))
    }

    /// Adds the list of skills to a bundle, if there are any that the model does not know.
    pub(crate) fn add(&self, bundle: &mut ContextMessage, before: &ShownContext, budget: u64) {
        let new: Vec<&Skill> =
            self.skills.iter().filter(|skill| !before.skills.contains(&skill.name)).collect();
        let mut room = tokens_to_bytes(budget);
        let mut text = String::new();
        let mut left_out = Vec::new();
        for skill in new {
            bundle.shown.skills.insert(skill.name.clone());
            let line = format!("- {}: {}\n", skill.name, skill.description);
            if line.len() <= room {
                room -= line.len();
                text.push_str(&line);
            } else {
                left_out.push(skill.name.as_str());
            }
        }
        if !left_out.is_empty() {
            let names = left_out.join(", ");
            let shown = &names[..names.floor_char_boundary(room.max(200))];
            let more = if shown.len() < names.len() { " …" } else { "" };
            text.push_str(&prompts::undescribed_skills(left_out.len(), shown, more));
        }
        let is_first = before.skills.is_empty();
        let name = if is_first { prompts::SKILLS_HEADING } else { prompts::NEW_SKILLS_HEADING };
        bundle.push(GatheredSectionKind::Skills, name, text);
    }

    /// Looks into one place beneath a root.
    fn scan_location(&mut self, root: &Path, place: &Path) {
        for folder in folders(&root.join(place)) {
            if self.skills.len() >= MAX_SKILLS {
                return;
            }
            let folder = place.join(folder);
            let shown = root.join(&folder).join(SKILL_FILE);
            match self.skill(root, &folder) {
                Ok(Some(skill)) if self.skills.iter().any(|known| known.name == skill.name) => {
                    self.problems.push(format!(
                        "{}: there is a skill `{}` already",
                        shown.display(),
                        skill.name
                    ));
                }
                Ok(Some(skill)) => self.skills.push(skill),
                Ok(None) => {}
                Err(why) => self.problems.push(format!("{}: {why}", shown.display())),
            }
        }
    }

    /// The skill in a folder; none where the folder has no SKILL.md at all.
    fn skill(&self, root: &Path, folder: &Path) -> Result<Option<Skill>, String> {
        if root.join(folder).join(SKILL_FILE).symlink_metadata().is_err() {
            return Ok(None);
        }
        let text = self.read(root, folder)?;
        let (FrontMatter { name, description }, _) = FrontMatter::parse(&text)?;
        Ok(Some(Skill { name, description, root: root.to_owned(), folder: folder.to_owned() }))
    }

    fn read(&self, root: &Path, folder: &Path) -> Result<String, String> {
        let visible = VisibleFiles::open(root, &self.hidden).map_err(|error| error.to_string())?;
        let content = visible.read(&folder.join(SKILL_FILE), MAX_BYTES);
        let content = content.map_err(|error| error.to_string())?;
        if content.is_cut() {
            return Err(format!("it is longer than {MAX_BYTES} bytes"));
        }
        String::from_utf8(content.bytes).map_err(|_| "it is not UTF-8 text".to_owned())
    }
}

/// The names of the folders in a place, in order.
fn folders(place: &Path) -> Vec<PathBuf> {
    let Ok(listing) = std::fs::read_dir(place) else { return Vec::new() };
    let mut names: Vec<PathBuf> =
        listing.take(MAX_FOLDERS).filter_map(|entry| Some(PathBuf::from(entry.ok()?.file_name()))).collect();
    names.sort();
    names
}
