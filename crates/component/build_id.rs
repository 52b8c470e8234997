// SPDX-License-Identifier: Apache-2.0
// Identity of the sources of a package, computed when it is built; included by the build scripts of components' rooms.
//
// A binary and `terrarium` are of one build if the room that both are built from, and every package of this workspace that
// the room is built from, had the same files: their names and contents are hashed. A commit would not do: it does not
// cover sources that were changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Hash of names and contents (FNV-1a, 64 bits).
struct Hash(u64);

impl Hash {
    fn add(&mut self, bytes: &[u8]) {
        // The length before each part: different lists of parts have different bytes.
        for byte in (bytes.len() as u64).to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// Sets the environment variable `TERRARIUM_BUILD` for the package that is built.
fn main() {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo names the package's folder"));
    let root = package.ancestors().find(|folder| folder.join("Cargo.lock").is_file()).expect("a workspace").to_owned();
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace's manifest");
    let places = places(&manifest);
    let mut packages = BTreeSet::from([package.clone()]);
    let mut open = vec![package];
    while let Some(package) = open.pop() {
        let manifest = fs::read_to_string(package.join("Cargo.toml")).expect("a package has a manifest");
        for name in dependencies(&manifest) {
            let Some(place) = places.get(name) else { continue };
            let folder = root.join(place);
            if packages.insert(folder.clone()) {
                open.push(folder);
            }
        }
    }
    let mut files = ["Cargo.lock", "Cargo.toml", "crates/component/build_id.rs"].map(|file| root.join(file)).to_vec();
    for package in &packages {
        files.push(package.join("Cargo.toml"));
        println!("cargo:rerun-if-changed={}", package.join("src").display());
        collect(&package.join("src"), &mut files);
    }
    files.sort();
    let mut hash = Hash(0xcbf2_9ce4_8422_2325);
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file);
        hash.add(name.to_string_lossy().as_bytes());
        hash.add(&fs::read(&file).expect("a file of the workspace"));
        if !name.components().any(|part| part.as_os_str() == "src") {
            println!("cargo:rerun-if-changed={}", file.display());
        }
    }
    println!("cargo:rustc-env=TERRARIUM_BUILD={:016x}", hash.0);
}

/// Folders of the workspace's packages by name, as `[workspace.dependencies]` has them.
fn places(manifest: &str) -> BTreeMap<&str, &str> {
    let lines = manifest.lines().filter_map(|line| line.split_once(" = { path = \""));
    lines.filter_map(|(name, rest)| Some((name, rest.split('"').next()?))).collect()
}

/// Names of the dependencies of a package, without those of its tests.
fn dependencies(manifest: &str) -> Vec<&str> {
    let mut is_inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if let Some(section) = line.strip_prefix('[') {
            is_inside = section == "dependencies]";
        } else if is_inside && let Some(end) = line.find(['.', ' ']) {
            names.push(&line[..end]);
        }
    }
    names
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the workspace").filter_map(Result::ok) {
        let path = entry.path();
        // Temporary files of an editor.
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}
