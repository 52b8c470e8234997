// SPDX-License-Identifier: Apache-2.0
//! Content of an image: executables, and the shared libraries that they need.
//!
//! The executables are those of any other build, which are linked dynamically. Static ones would need a second build of
//! everything, with another target or other flags, and would resolve names in another way than the tested ones. So the image has
//! the loader and the few libraries that `ldd` lists, at the same paths.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Content of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Files of this machine, and their paths in the image.
    pub files: Vec<(PathBuf, String)>,
}

/// Folder of the context with what is copied into the image.
const ROOT: &str = "root";

impl Image {
    /// Returns the image of executables, which are in its root by their names.
    ///
    /// # Errors
    /// There is no `ldd`, or an executable lacks a library.
    pub fn of(executables: &[PathBuf]) -> Result<Self, String> {
        let mut files = Vec::new();
        for executable in executables {
            let output =
                Command::new("ldd").arg(executable).output().map_err(|error| format!("cannot run ldd: {error}"))?;
            let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
            // It fails for an executable that needs no library.
            let libraries = libraries(&said).map_err(|error| format!("{}: {error}", executable.display()))?;
            let name = executable.file_name().unwrap_or_default().to_string_lossy();
            files.push((executable.clone(), format!("/{name}")));
            files.extend(libraries.into_iter().map(|path| (PathBuf::from(&path), path)));
        }
        files.sort();
        files.dedup();
        Ok(Self { files })
    }

    /// Returns the path of a file in the context.
    pub fn in_context(target: &str) -> String {
        format!("{ROOT}{target}")
    }

    /// Returns the Dockerfile, with labels.
    pub fn dockerfile(&self, labels: &[(&str, &str)]) -> String {
        let labels = labels.iter().map(|(name, value)| format!("LABEL {name}={value:?}\n"));
        let labels = labels.collect::<Vec<_>>().concat();
        format!(
            "FROM scratch\n{labels}COPY {ROOT}/ /\n\
             # These make the folders that volumes are mounted at.\n\
             WORKDIR /data\nWORKDIR /credentials\nWORKDIR /\n\
             ENV TERRARIUM_DATA_DIR=/data/landscape\nENTRYPOINT [\"/terrarium\"]\n"
        )
    }

    /// Writes the context of a build into a folder, which is replaced.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn stage(&self, folder: &Path) -> Result<(), String> {
        let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        if folder.exists() {
            fs::remove_dir_all(folder).map_err(|error| failed(folder, error))?;
        }
        for (source, target) in &self.files {
            let path = folder.join(Self::in_context(target));
            let parent = path.parent().unwrap_or(folder);
            fs::create_dir_all(parent).map_err(|error| failed(parent, error))?;
            fs::copy(source, &path).map_err(|error| failed(source, error))?;
        }
        let path = folder.join("Dockerfile");
        fs::write(&path, self.dockerfile(&[])).map_err(|error| failed(&path, error))
    }
}

/// Returns the paths of the libraries that `ldd` lists.
fn libraries(said: &str) -> Result<Vec<String>, String> {
    let mut paths = Vec::new();
    for line in said.lines().map(str::trim) {
        let (name, place) = line.split_once(" => ").unwrap_or((line, line));
        if place.starts_with("not found") {
            return Err(format!("library {name} is not on this machine"));
        }
        if let Some(path) = place.split(" (").next().filter(|path| path.starts_with('/') && !path.ends_with(':')) {
            paths.push(path.to_owned());
        }
    }
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_those_with_a_path() {
        let said = "\tlinux-vdso.so.1 (0x00007ffd)\n\tlibgcc_s.so.1 => /lib/a b/libgcc_s.so.1 (0x00007f00)\n\
                    \tlibc.so.6 => /lib/libc.so.6 (0x00007f01)\n\t/lib64/ld-linux-x86-64.so.2 (0x00007f02)\n";
        let paths = ["/lib/a b/libgcc_s.so.1", "/lib/libc.so.6", "/lib64/ld-linux-x86-64.so.2"];
        assert_eq!(libraries(said), Ok(paths.map(str::to_owned).into()));
        assert_eq!(libraries("\tstatically linked\n"), Ok(Vec::new()));
        assert_eq!(libraries("\tnot a dynamic executable\n"), Ok(Vec::new()));
        let said = "\tlibx.so => not found\n";
        assert_eq!(libraries(said), Err("library libx.so is not on this machine".to_owned()));
    }

    #[test]
    fn a_context_holds_all_that_an_executable_needs() {
        let executable = std::env::current_exe().expect("a test knows its path");
        let image = Image::of(&[executable.clone(), executable]).expect("it runs, so it lacks nothing");
        let folder = std::env::temp_dir().join(format!("terrarium-image-{}", std::process::id()));
        image.stage(&folder).expect("a folder for temporary files");
        let name = std::env::current_exe().ok().and_then(|path| Some(path.file_name()?.to_owned())).expect("a name");
        assert!(folder.join("root").join(name).is_file());
        assert_eq!(image.files.iter().filter(|(_, target)| target.matches('/').count() == 1).count(), 1);
        for (source, target) in &image.files {
            let staged = fs::read(folder.join(Image::in_context(target))).expect("it was copied");
            assert_eq!(staged.len() as u64, fs::metadata(source).expect("it is there").len(), "{target}");
        }
        let dockerfile = fs::read_to_string(folder.join("Dockerfile")).expect("it was written");
        assert_eq!(dockerfile, image.dockerfile(&[]));
        fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[test]
    fn an_image_begins_with_nothing() {
        let image = Image { files: vec![(PathBuf::from("/x"), "/terrarium".to_owned())] };
        let text = image.dockerfile(&[("terrarium.test", "1")]);
        assert!(text.starts_with("FROM scratch\nLABEL terrarium.test=\"1\"\nCOPY root/ /\n"), "{text}");
        assert_eq!(Image::in_context("/lib/a"), "root/lib/a");
    }
}
