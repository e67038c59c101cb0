use super::BLOCK;

/// One header block, as it stands.
#[derive(Debug, PartialEq, Eq)]
pub struct Header {
    pub path: Vec<u8>,
    pub link: Vec<u8>,
    pub kind: u8,
    pub mode: u64,
    pub size: u64,
    pub modified: i64,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    Checksum,
    /// A number is negative, too large or not a number.
    Number(&'static str),
}

/// None: a block of zeros, which ends the archive.
pub fn parse(block: &[u8; BLOCK]) -> Result<Option<Header>, Broken> {
    if block.iter().all(|byte| *byte == 0) {
        return Ok(None);
    }
    let stated = number(&block[148..156]).ok_or(Broken::Checksum)?;
    if stated != u64::from(checksum(block)) {
        return Err(Broken::Checksum);
    }
    let name = text(&block[..100]);
    let prefix = text(&block[345..500]);
    // GNU's own format uses the place of the prefix for other things.
    let path = if &block[257..263] == b"ustar\0" && !prefix.is_empty() {
        [prefix, b"/", name].concat()
    } else {
        name.to_vec()
    };
    Ok(Some(Header {
        path,
        link: text(&block[157..257]).to_vec(),
        kind: block[156],
        mode: number(&block[100..108]).ok_or(Broken::Number("mode"))?,
        size: number(&block[124..136]).ok_or(Broken::Number("size"))?,
        modified: number(&block[136..148]).and_then(|seconds| i64::try_from(seconds).ok()).unwrap_or(0),
    }))
}

/// A header block; `path` and `link` are cut at what fits, PAX records carry the rest.
pub fn build(header: &Header, uid: u32, gid: u32) -> [u8; BLOCK] {
    let mut block = [0u8; BLOCK];
    put(&mut block[..100], &header.path);
    put_octal(&mut block[100..108], header.mode);
    put_octal(&mut block[108..116], u64::from(uid));
    put_octal(&mut block[116..124], u64::from(gid));
    put_octal(&mut block[124..136], header.size);
    put_octal(&mut block[136..148], u64::try_from(header.modified).unwrap_or(0));
    block[156] = header.kind;
    put(&mut block[157..257], &header.link);
    put(&mut block[257..265], b"ustar\x0000");
    let sum = checksum(&block);
    put(&mut block[148..156], format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Largest number that `build` can write into the size field.
pub const SIZE_LIMIT: u64 = 0o77777777777;

fn text(field: &[u8]) -> &[u8] {
    field.split(|byte| *byte == 0).next().unwrap_or_default()
}

/// Octal digits, or GNU's base 256; none when negative, beyond 63 bits or not a number.
fn number(field: &[u8]) -> Option<u64> {
    let first = *field.first()?;
    if first & 0x80 != 0 {
        if first & 0x40 != 0 {
            return None;
        }
        let mut value = u64::from(first & 0x3f);
        for byte in field.iter().skip(1) {
            if value >> 55 != 0 {
                return None;
            }
            value = value << 8 | u64::from(*byte);
        }
        return Some(value);
    }
    let digits = field.split(|byte| *byte == 0).next().unwrap_or_default();
    let digits = std::str::from_utf8(digits).ok()?.trim_matches(' ');
    if digits.is_empty() {
        return Some(0);
    }
    if !digits.bytes().all(|digit| (b'0'..=b'7').contains(&digit)) {
        return None;
    }
    u64::from_str_radix(digits, 8).ok()
}

/// The sum of all bytes, those of the checksum itself counted as spaces.
fn checksum(block: &[u8; BLOCK]) -> u32 {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    sum(&block[..148]) + 8 * u32::from(b' ') + sum(&block[156..])
}

fn put(field: &mut [u8], bytes: &[u8]) {
    for (to, from) in field.iter_mut().zip(bytes) {
        *to = *from;
    }
}

fn put_octal(field: &mut [u8], value: u64) {
    let digits = field.len() - 1;
    let text = format!("{value:0digits$o}");
    if text.len() <= digits {
        put(field, text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_is_parsed() {
        let header =
            Header { path: b"a/b".to_vec(), link: vec![], kind: b'0', mode: 0o644, size: 12, modified: 1_700_000_000 };
        assert_eq!(parse(&build(&header, 0, 0)).unwrap().unwrap(), header);
    }

    #[test]
    fn numbers_are_checked() {
        assert_eq!(number(b"0000644\0"), Some(0o644));
        assert_eq!(number(b"  12 \0"), Some(0o12));
        assert_eq!(number(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0]), Some(256));
        assert_eq!(number(&[0xff; 12]), None);
        assert_eq!(number(&[0xbf; 12]), None);
        assert_eq!(number(b"-0000001"), None);
        assert_eq!(number(b"99\0"), None);
    }
}
