use super::fault::Fault;

/// Standard alphabet, padding optional.
pub fn decode(text: &str) -> Result<Vec<u8>, Fault> {
    let digits = text.trim_end_matches('=').as_bytes();
    let broken = || Fault::invalid("The base64 text is damaged. Encode the bytes with the standard alphabet.");
    if digits.len() % 4 == 1 || text.len() - digits.len() > 2 {
        return Err(broken());
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3 + 3);
    for group in digits.chunks(4) {
        let mut bits = 0u32;
        for digit in group {
            bits = bits << 6 | value(*digit).ok_or_else(broken)?;
        }
        bits <<= 6 * (4 - group.len());
        let [_, a, b, c] = bits.to_be_bytes();
        bytes.extend([a, b, c].iter().take(group.len() * 6 / 8));
    }
    Ok(bytes)
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn decodes_every_length() {
        for (text, bytes) in
            [("", &b""[..]), ("/w==", b"\xff"), ("aGk=", b"hi"), ("aGk", b"hi"), ("AAEC", b"\0\x01\x02")]
        {
            assert_eq!(decode(text).unwrap(), bytes);
        }
    }

    #[test]
    fn refuses_what_is_not_base64() {
        for text in ["a", "a-b_", "aGk====", "a b="] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
