//! What a confined program sees of the user's home directory: nothing but toolchains, which it may read, and the
//! caches of package managers, which it may also write, for itself alone. The rest of its home is its own, empty and
//! gone when it ends. Who wants a program to see more names it.

use std::path::{Path, PathBuf};

use ostler_workspace_fs::GitConfig;

use crate::secrets::resolve_existing;

/// Where compilers, runtimes and their programs are installed below a home directory.
const TOOLCHAINS: &[&str] = &[
    ".asdf",
    ".bun/bin",
    ".cabal/bin",
    ".cargo/bin",
    ".cargo/config",
    ".cargo/config.toml",
    ".cargo/env",
    ".conda/envs",
    ".deno/bin",
    ".dotnet",
    ".elan",
    ".fnm",
    ".foundry/bin",
    ".ghcup",
    ".goenv",
    ".jenv",
    ".juliaup",
    ".linuxbrew",
    ".local/bin",
    ".local/lib",
    ".local/pipx",
    ".local/share/fnm",
    ".local/share/mise",
    ".local/share/pipx",
    ".local/share/pnpm",
    ".local/share/rtx",
    ".local/share/uv",
    ".luarocks",
    ".nix-profile",
    ".nodenv",
    ".npm-global",
    ".npm-packages",
    ".nvm",
    ".opam",
    ".phpenv",
    ".pixi/bin",
    ".proto",
    ".pyenv",
    ".rbenv",
    ".rustup",
    ".rvm",
    ".sdkman",
    ".stack/programs",
    ".swiftly",
    ".tfenv",
    ".volta",
    ".wasmtime",
    ".yarn/bin",
    "Android/Sdk",
    "anaconda3",
    "go/bin",
    "mambaforge",
    "miniconda3",
    "miniforge3",
    "n/bin",
    "n/lib",
    "sdk",
];

/// Where package managers and compilers keep what they can make or fetch again.
const CACHES: &[&str] = &[
    ".bun/install/cache",
    ".bundle/cache",
    ".cabal/packages",
    ".cabal/store",
    ".cache/bazel",
    ".cache/bazelisk",
    ".cache/ccache",
    ".cache/composer",
    ".cache/coursier",
    ".cache/deno",
    ".cache/electron",
    ".cache/go-build",
    ".cache/ms-playwright",
    ".cache/node",
    ".cache/node-gyp",
    ".cache/pip",
    ".cache/pnpm",
    ".cache/pre-commit",
    ".cache/puppeteer",
    ".cache/pypoetry",
    ".cache/sccache",
    ".cache/uv",
    ".cache/yarn",
    ".cache/zig",
    ".cargo/git",
    ".cargo/registry",
    ".ccache",
    ".composer/cache",
    ".conan2",
    ".gradle/caches",
    ".gradle/wrapper",
    ".ivy2/cache",
    ".julia",
    ".m2/repository",
    ".m2/wrapper",
    ".mix/archives",
    ".npm/_cacache",
    ".nuget/packages",
    ".pnpm-store",
    ".pub-cache",
    ".sbt/boot",
    ".stack/pantry",
    ".yarn/berry/cache",
    "go/pkg",
];

/// Variables by which toolchains are found that lie in a home directory which is no longer `$HOME`.
const VARIABLES: &[(&str, &str)] = &[
    ("CARGO_HOME", ".cargo"),
    ("RUSTUP_HOME", ".rustup"),
    ("GOPATH", "go"),
    ("GOMODCACHE", "go/pkg/mod"),
    ("NVM_DIR", ".nvm"),
    ("PYENV_ROOT", ".pyenv"),
    ("VOLTA_HOME", ".volta"),
    ("SDKMAN_DIR", ".sdkman"),
];

/// Settings of the user's git that a confined git has too: who makes commits, and what starts nothing.
const GIT_SETTINGS: &[&str] = &["user.name", "user.email", "init.defaultbranch"];

/// What is opened of a home directory, as far as it exists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HomePlaces {
    /// What may be read.
    pub toolchains: Vec<PathBuf>,
    /// What may be read, and written for one program alone.
    pub caches: Vec<PathBuf>,
    /// Names of theirs that are links, and where these lead.
    pub(crate) links: Vec<(PathBuf, PathBuf)>,
}

impl HomePlaces {
    /// Looks for them in a home directory without links, and for the directories of PATH that lie there.
    pub(crate) fn find(home: &Path, search_path: &[PathBuf]) -> HomePlaces {
        let mut places = HomePlaces::default();
        let named = TOOLCHAINS.iter().map(|name| home.join(name));
        let searched = search_path.iter().filter(|place| place.starts_with(home) && *place != home).cloned();
        for path in named.chain(searched) {
            if let Some(real) = places.resolve(home, &path) {
                places.toolchains.push(real);
            }
        }
        for path in CACHES.iter().map(|name| home.join(name)) {
            if let Some(real) = places.resolve(home, &path).filter(|real| real.is_dir()) {
                places.caches.push(real);
            }
        }
        places.toolchains.sort();
        places.toolchains.dedup();
        places
    }

    fn resolve(&mut self, home: &Path, path: &Path) -> Option<PathBuf> {
        let real = resolve_existing(path)?;
        // A link to the home directory itself, or above it, opens nothing.
        if home.starts_with(&real) {
            return None;
        }
        if real != path {
            self.links.push((path.to_owned(), real.clone()));
        }
        Some(real)
    }
}

/// The variables by which a program finds the toolchains of a home directory that it does not have as its own.
pub(crate) fn toolchain_variables(home: &Path) -> Vec<(&'static str, PathBuf)> {
    let places = VARIABLES.iter().map(|(name, place)| (*name, home.join(place)));
    places.filter(|(_, place)| place.is_dir()).collect()
}

/// A git configuration with the harmless settings of the user's own.
pub(crate) fn git_configuration(home: &Path) -> String {
    let files = [home.join(".config/git/config"), home.join(".gitconfig")].map(|file| GitConfig::read(&file));
    let mut text = String::new();
    for setting in GIT_SETTINGS {
        let value = files.iter().flat_map(|file| file.values(setting)).last();
        let is_plain =
            |value: &&str| !value.contains(['"', '\\', '#', ';']) && !value.contains(char::is_control);
        if let (Some(value), Some((section, key))) = (value.filter(is_plain), setting.split_once('.')) {
            text.push_str(&format!("[{section}]\n\t{key} = \"{value}\"\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::{HomePlaces, git_configuration};

    #[test]
    fn toolchains_and_caches_are_found_and_nothing_else() {
        let place = tempfile::tempdir().unwrap();
        let home = place.path().canonicalize().unwrap().join("home");
        for path in [".cargo/bin", ".cargo/registry", ".ssh", "projects/a/bin", "elsewhere/nvm", "bin"] {
            fs::create_dir_all(home.join(path)).unwrap();
        }
        fs::write(home.join(".cargo/credentials.toml"), "secret").unwrap();
        symlink(home.join("elsewhere/nvm"), home.join(".nvm")).unwrap();
        symlink("..", home.join(".asdf")).unwrap();
        let found = HomePlaces::find(&home, &[home.join("bin"), home.clone(), "/usr/bin".into()]);
        let names = |paths: &[std::path::PathBuf]| -> Vec<String> {
            paths.iter().map(|path| path.strip_prefix(&home).unwrap().display().to_string()).collect()
        };
        assert_eq!(names(&found.toolchains), [".cargo/bin", "bin", "elsewhere/nvm"]);
        assert_eq!(names(&found.caches), [".cargo/registry"]);
        assert_eq!(found.links, [(home.join(".nvm"), home.join("elsewhere/nvm"))]);
    }

    #[test]
    fn only_who_commits_is_taken_from_the_users_git() {
        let home = tempfile::tempdir().unwrap();
        let text = "[user]\n\tname = A B\n\temail = a@b\n[core]\n\tsshCommand = evil\n[http]\n\textraHeader = secret\n";
        fs::write(home.path().join(".gitconfig"), text).unwrap();
        let kept = git_configuration(home.path());
        assert_eq!(kept, "[user]\n\tname = \"A B\"\n[user]\n\temail = \"a@b\"\n");
    }
}
