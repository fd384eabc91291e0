//! What a release is built for and with, so that nothing of the machine gets into it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repository;

/// What stands between two flags of `CARGO_ENCODED_RUSTFLAGS`.
const FLAG_SEPARATOR: &str = "\u{1f}";

/// What a build is told.
pub(super) struct BuildEnvironment {
    /// The target that it is for.
    pub(super) target: String,
    /// The time of the commit, in seconds.
    pub(super) time: String,
    /// Folders of this machine, and what they are called in the binary.
    names: Vec<(PathBuf, &'static str)>,
}

impl BuildEnvironment {
    /// For what is checked out here.
    pub(super) fn for_root(root: &Path) -> Result<BuildEnvironment, String> {
        let time =
            repository::output(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root))?;
        let sysroot =
            repository::output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root))?;
        let names = vec![
            (root.to_owned(), "/ostler"),
            (cargo_home(), "/cargo"),
            (PathBuf::from(sysroot.trim()), "/rust"),
        ];
        Ok(BuildEnvironment {
            target: target(Path::new(sysroot.trim()))?,
            time: time.trim().to_owned(),
            names,
        })
    }

    /// What a program that is built so needs of the system.
    pub(super) fn linkage(&self) -> &'static str {
        if self.target.ends_with("-musl") {
            "static"
        } else {
            "needs this system's C library or a newer one; `rustup target add` the musl target and install musl-tools \
             for one that needs nothing"
        }
    }

    /// The variables for cargo, the compilers and whoever asks for the time.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        let mut flags = vec!["-Clink-arg=-Wl,--build-id=none".to_owned()];
        let mut c_flags = vec!["-DNDEBUG".to_owned()];
        for (path, name) in &self.names {
            let path = path.display();
            flags.push(format!("--remap-path-prefix={path}={name}"));
            c_flags.push(format!("-ffile-prefix-map={path}={name}"));
        }
        vec![
            ("CARGO_ENCODED_RUSTFLAGS", flags.join(FLAG_SEPARATOR)),
            ("CARGO_INCREMENTAL", "0".to_owned()),
            ("CFLAGS", c_flags.join(" ")),
            ("CXXFLAGS", c_flags.join(" ")),
            ("SOURCE_DATE_EPOCH", self.time.clone()),
            ("TZ", "UTC".to_owned()),
            ("LC_ALL", "C".to_owned()),
        ]
    }
}

fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cargo");
    std::env::var_os("CARGO_HOME").map_or_else(home, PathBuf::from)
}

/// The static target of this machine if it can be built for, else the machine's own.
fn target(sysroot: &Path) -> Result<String, String> {
    let about = repository::output(Command::new("rustc").arg("-vV"))?;
    let own = about
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or("rustc does not say what it runs on")?;
    let musl = own.replace("-gnu", "-musl");
    let has_library = sysroot.join("lib/rustlib").join(&musl).join("lib").is_dir();
    let has_compiler =
        Command::new("musl-gcc").arg("--version").output().is_ok_and(|output| output.status.success());
    Ok(if has_library && has_compiler { musl } else { own.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::BuildEnvironment;

    #[test]
    fn no_path_of_the_machine_is_left_without_another_name() {
        let names = vec![
            (PathBuf::from("/home/one/ostler"), "/ostler"),
            (PathBuf::from("/home/one/.cargo"), "/cargo"),
        ];
        let environment = BuildEnvironment { target: "x-musl".to_owned(), time: "7".to_owned(), names };
        let variables = environment.variables();
        let value = |name: &str| &variables.iter().find(|(key, _)| *key == name).unwrap().1;
        assert!(value("CARGO_ENCODED_RUSTFLAGS").contains("--remap-path-prefix=/home/one/.cargo=/cargo"));
        assert!(value("CFLAGS").contains("-ffile-prefix-map=/home/one/ostler=/ostler"));
        assert_eq!(value("SOURCE_DATE_EPOCH"), "7");
        assert_eq!(environment.linkage(), "static");
    }
}
