use super::refused;
use crate::cell::fault::Fault;
use crate::cell::limits;
use std::collections::HashMap;
use std::ffi::CString;
use unicode_normalization::UnicodeNormalization;

/// The parts of an entry's path; none for the directory that is unpacked into.
pub fn split(path: &[u8]) -> Result<Vec<CString>, Fault> {
    if path.starts_with(b"/") {
        return Err(refused(path, "its path is absolute"));
    }
    let mut parts = Vec::new();
    for part in path.split(|byte| *byte == b'/').filter(|part| !part.is_empty() && *part != b".") {
        if part == b".." {
            return Err(refused(path, "its path has `..` in it"));
        }
        parts.push(CString::new(part).map_err(|_| refused(path, "its path has a NUL byte in it"))?);
    }
    if parts.len() > limits::TREE_DEPTH || path.len() > limits::PATH_BYTES {
        return Err(refused(path, "its path is too long"));
    }
    Ok(parts)
}

/// Finds names that differ in bytes but are the same text (é in one code point or in two): on a system that
/// normalises, one would replace the other.
#[derive(Default)]
pub struct Twins {
    /// Normal form of each path that is not plain ASCII, and the bytes it had first.
    seen: HashMap<Vec<u8>, Vec<u8>>,
}

impl Twins {
    pub fn check(&mut self, parts: &[CString]) -> Result<(), Fault> {
        if parts.iter().all(|part| part.as_bytes().is_ascii()) {
            return Ok(());
        }
        let joined: Vec<&[u8]> = parts.iter().map(|part| part.as_bytes()).collect();
        let path = joined.join(&b'/');
        let Ok(text) = std::str::from_utf8(&path) else { return Ok(()) };
        let normal: String = text.nfc().collect();
        if normal.is_ascii() {
            return Err(refused(&path, "its name is another spelling of a plain one"));
        }
        // Directories on the way count too: `é/a` and `é/b` may meet in two spellings of é.
        let pairs: Vec<(Vec<u8>, Vec<u8>)> = prefixes(&normal).zip(prefixes(text)).collect();
        for (normal, bytes) in pairs {
            if self.seen.get(&normal).is_some_and(|first| *first != bytes) {
                return Err(refused(&path, "its name is another spelling of one that came before"));
            }
            self.seen.insert(normal, bytes);
        }
        Ok(())
    }
}

/// `a`, `a/b`, `a/b/c`: those that are not plain ASCII.
fn prefixes(path: &str) -> impl Iterator<Item = Vec<u8>> + '_ {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    ends.filter_map(|end| path.get(..end)).filter(|prefix| !prefix.is_ascii()).map(|prefix| prefix.as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_lead_out_are_refused() {
        for path in ["/a", "..", "a/../b", "a/..", "./..", "a\0b"] {
            assert!(split(path.as_bytes()).is_err(), "{path:?}");
        }
        assert_eq!(split(b"./a//b/").unwrap(), [c"a".to_owned(), c"b".to_owned()]);
        assert!(split(b"./").unwrap().is_empty());
    }

    #[test]
    fn two_spellings_of_a_name_are_refused() {
        let check = |twins: &mut Twins, path: &str| twins.check(&split(path.as_bytes()).unwrap());
        let mut twins = Twins::default();
        check(&mut twins, "d/\u{e9}").unwrap();
        check(&mut twins, "d/\u{e9}").unwrap();
        check(&mut twins, "e/e\u{301}").unwrap();
        assert!(check(&mut twins, "d/e\u{301}").is_err());
        check(&mut twins, "\u{e9}/a").unwrap();
        assert!(check(&mut twins, "e\u{301}/b").is_err());
        assert!(check(&mut twins, "\u{212a}").is_err());
    }
}
