use super::limits::FRAME_PAYLOAD_BYTES;

pub const HEADER_BYTES: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Hello = 1,
    Call = 2,
    Result = 3,
    Error = 4,
    Data = 5,
    End = 6,
    Event = 7,
    Output = 8,
    Control = 9,
}

#[derive(Debug, PartialEq, Eq)]
pub struct Frame {
    pub kind: Kind,
    pub payload: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Broken {
    TooLong(u32),
    UnknownType(u8),
}

/// Reads a header: the frame's type and the length of its payload.
pub fn parse_header(header: [u8; HEADER_BYTES]) -> Result<(Kind, usize), Broken> {
    let [a, b, c, d, kind] = header;
    let length = u32::from_be_bytes([a, b, c, d]);
    if length as usize > FRAME_PAYLOAD_BYTES {
        return Err(Broken::TooLong(length));
    }
    Ok((kind_of(kind).ok_or(Broken::UnknownType(kind))?, length as usize))
}

/// The payload must be within the protocol's limit: callers build it from bounded parts.
pub fn header(kind: Kind, payload_bytes: usize) -> [u8; HEADER_BYTES] {
    debug_assert!(payload_bytes <= FRAME_PAYLOAD_BYTES);
    let [a, b, c, d] = (payload_bytes as u32).to_be_bytes();
    [a, b, c, d, kind as u8]
}

fn kind_of(byte: u8) -> Option<Kind> {
    Some(match byte {
        1 => Kind::Hello,
        2 => Kind::Call,
        3 => Kind::Result,
        4 => Kind::Error,
        5 => Kind::Data,
        6 => Kind::End,
        7 => Kind::Event,
        8 => Kind::Output,
        9 => Kind::Control,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(hex: &serde_json::Value) -> Vec<u8> {
        let hex = hex.as_str().unwrap().as_bytes();
        hex.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
    }

    /// The same file is read by the host's side, so that the two agree for as long as a cell runs.
    #[test]
    fn golden_bytes_both_ways() {
        let golden: Vec<serde_json::Value> =
            serde_json::from_str(include_str!("../../tests/golden/frames.json")).unwrap();
        assert!(golden.len() >= 9);
        for row in golden {
            let (payload, frame) = (bytes(&row["payload_hex"]), bytes(&row["frame_hex"]));
            let (head, rest) = frame.split_at(HEADER_BYTES);
            let (kind, length) = parse_header(head.try_into().unwrap()).unwrap();
            assert_eq!((kind as u64, length), (row["type"].as_u64().unwrap(), payload.len()), "{}", row["name"]);
            assert_eq!(rest, payload);
            assert_eq!([header(kind, payload.len()).as_slice(), &payload].concat(), frame);
        }
    }

    #[test]
    fn headers_out_of_bounds_are_refused() {
        assert_eq!(parse_header([0, 0x10, 0, 1, 5]), Err(Broken::TooLong(0x0010_0001)));
        assert_eq!(parse_header([0xff, 0xff, 0xff, 0xff, 5]), Err(Broken::TooLong(u32::MAX)));
        assert_eq!(parse_header([0, 0x10, 0, 0, 5]), Ok((Kind::Data, 1 << 20)));
        for kind in [0, 10, 255] {
            assert_eq!(parse_header([0, 0, 0, 0, kind]), Err(Broken::UnknownType(kind)));
        }
    }
}
