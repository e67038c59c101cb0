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
