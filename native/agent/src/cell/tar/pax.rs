use super::refused;
use crate::cell::fault::Fault;

/// What extension entries say about the next one.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Extensions {
    pub path: Option<Vec<u8>>,
    pub link: Option<Vec<u8>>,
    pub size: Option<u64>,
}

impl Extensions {
    /// Takes the records `length key=value\n` of a PAX entry.
    pub fn read(&mut self, mut records: &[u8]) -> Result<(), Fault> {
        let broken = || refused(b"PAX header", "its records are damaged");
        while !records.is_empty() {
            let space = records.iter().position(|byte| *byte == b' ').filter(|at| *at <= 20).ok_or_else(broken)?;
            let (digits, _) = records.split_at(space);
            let length: usize =
                std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).ok_or_else(broken)?;
            let record = records.get(space + 1..length).ok_or_else(broken)?;
            records = records.get(length..).ok_or_else(broken)?;
            let record = record.strip_suffix(b"\n").ok_or_else(broken)?;
            let equals = record.iter().position(|byte| *byte == b'=').ok_or_else(broken)?;
            let (key, value) = record.split_at(equals);
            self.take(key, value.get(1..).unwrap_or_default())?;
        }
        Ok(())
    }

    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<(), Fault> {
        if key.contains(&0) || value.contains(&0) {
            return Err(refused(key, "a PAX record has a NUL byte in it"));
        }
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"linkpath" => self.link = Some(value.to_vec()),
            b"size" => {
                let size =
                    std::str::from_utf8(value).ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                let size = size.and_then(|text| text.parse().ok());
                self.size = Some(size.ok_or_else(|| refused(key, "its size is not a number that a file can have"))?);
            }
            _ if key.starts_with(b"GNU.sparse.") => {
                return Err(refused(key, "sparse entries are not supported; make the archive without --sparse"));
            }
            _ if has_prefix(key, &[b"SCHILY.xattr.trusted.", b"SCHILY.xattr.security."]) => {
                return Err(refused(key, "privileged extended attributes are not taken"));
            }
            _ => {}
        }
        Ok(())
    }
}

fn has_prefix(key: &[u8], prefixes: &[&[u8]]) -> bool {
    prefixes.iter().any(|prefix| key.starts_with(prefix))
}

/// One record, its own length included.
pub fn record(key: &str, value: &[u8]) -> Vec<u8> {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + 1;
    while rest + length.to_string().len() != length {
        length = rest + length.to_string().len();
    }
    [format!("{length} {key}=").as_bytes(), value, b"\n"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_as_written() {
        for length in [0, 1, 88, 89, 90, 990, 5000] {
            let path = vec![b'x'; length];
            let mut extensions = Extensions::default();
            extensions.read(&[record("path", &path), record("mtime", b"1.5")].concat()).unwrap();
            assert_eq!(extensions.path, Some(path));
        }
    }

    #[test]
    fn damaged_and_hostile_records_are_refused() {
        let hostile: [&[u8]; 9] = [
            b"x",
            b"5 a=b",
            b"99 path=a\n",
            b"0 path=a\n",
            b"11 path=a\0\n",
            b"10 size=-1\n",
            b"36 size=99999999999999999999999999\n",
            b"22 GNU.sparse.major=1\n",
            b"33 SCHILY.xattr.security.ima=abc\n",
        ];
        for records in hostile {
            assert!(Extensions::default().read(records).is_err(), "{}", String::from_utf8_lossy(records));
        }
    }
}
