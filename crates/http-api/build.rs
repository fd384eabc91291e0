//! Lists the files of the built page, so that a release build holds them. A build for development reads them when they
//! are asked for, and needs no list: then a new page needs no new binary.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let folder = manifest.join("../../web/dist");
    println!("cargo:rerun-if-changed=build.rs");
    let mut list = String::from("&[\n");
    if variable("PROFILE") == "release" {
        // A path that is not there would have this run at every build, so there is a folder, if an empty one.
        _ = std::fs::create_dir_all(&folder);
        println!("cargo:rerun-if-changed={}", folder.display());
        for file in files(&folder) {
            let name = file.strip_prefix(&folder).unwrap_or(&file).to_string_lossy().into_owned();
            _ = writeln!(list, "    ({name:?}, include_bytes!({:?})),", file.display().to_string());
        }
    }
    list.push_str("]\n");
    let out = PathBuf::from(variable("OUT_DIR"));
    std::fs::write(out.join("files.rs"), list).expect("cargo made a folder to write to");
    println!("cargo:rustc-env=OSTLER_PAGE_FOLDER={}", folder.display());
}

/// All files below a folder, by name.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let (mut found, mut folders) = (Vec::new(), Vec::new());
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => folders.push(entry.path()),
            Ok(kind) if kind.is_file() => found.push(entry.path()),
            _ => {}
        }
    }
    found.extend(folders.iter().flat_map(|folder| files(folder)));
    found.sort();
    found
}

fn variable(name: &str) -> String {
    std::env::var(name).expect("cargo sets it for build scripts")
}
