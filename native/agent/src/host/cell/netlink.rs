use super::sys::check;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Links, addresses and routes.
pub const ROUTE: libc::c_int = libc::NETLINK_ROUTE;
/// Packet filters.
pub const NETFILTER: libc::c_int = libc::NETLINK_NETFILTER;

const HEADER: usize = 16;
const ERROR: u16 = 2;

/// A request to the kernel, put together front to back.
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// `head` is the structure that messages of this kind begin with.
    pub fn new(kind: u16, flags: libc::c_int, head: &[u8]) -> Message {
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let mut bytes = vec![0; HEADER];
        bytes[4..6].copy_from_slice(&kind.to_ne_bytes());
        bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(head);
        Message { bytes }
    }

    pub fn attribute(mut self, kind: u16, value: &[u8]) -> Message {
        self.put(kind, value);
        self
    }

    /// An attribute that holds others, after `head` if that is not empty.
    pub fn nested(mut self, kind: u16, head: &[u8], inner: impl FnOnce(Message) -> Message) -> Message {
        let outside = std::mem::take(&mut self.bytes);
        let inside = inner(Message { bytes: head.to_vec() }).bytes;
        self.bytes = outside;
        self.put(kind, &inside);
        self
    }

    fn put(&mut self, kind: u16, value: &[u8]) {
        let length = 4 + value.len();
        self.bytes.extend_from_slice(&(length as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(value);
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// A connection to the kernel that belongs to the network namespace in which it was opened.
pub struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    pub fn open(protocol: libc::c_int) -> io::Result<Netlink> {
        // SAFETY: no memory is passed; the returned descriptor is ours alone.
        let socket = unsafe {
            let socket = check(libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol))?;
            OwnedFd::from_raw_fd(socket)
        };
        Ok(Netlink { socket })
    }

    /// Sends one request and waits for the kernel's word on it. Returns what it sent before that, without its header.
    pub fn ask(&mut self, mut message: Message) -> io::Result<Vec<u8>> {
        let length = message.bytes.len() as u32;
        message.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        let socket = self.socket.as_raw_fd();
        let mut answer = [0u8; 8192];
        let mut said = Vec::new();
        // SAFETY: both buffers are as long as said and outlive the calls.
        unsafe {
            let sent = libc::send(socket, message.bytes.as_ptr().cast(), message.bytes.len(), 0);
            check(sent as libc::c_int)?;
            loop {
                let received = check(libc::recv(socket, answer.as_mut_ptr().cast(), answer.len(), 0) as libc::c_int)?;
                for (kind, payload) in messages(&answer[..received as usize]) {
                    match (kind, payload) {
                        (ERROR, [a, b, c, d, ..]) => {
                            let code = i32::from_ne_bytes([*a, *b, *c, *d]);
                            return if code == 0 { Ok(said) } else { Err(io::Error::from_raw_os_error(-code)) };
                        }
                        _ => said = payload.to_vec(),
                    }
                }
            }
        }
    }
}

/// Kind and payload of each message in a datagram.
fn messages(mut rest: &[u8]) -> Vec<(u16, &[u8])> {
    let mut found = Vec::new();
    while rest.len() >= HEADER {
        let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        if length < HEADER || length > rest.len() {
            break;
        }
        found.push((u16::from_ne_bytes([rest[4], rest[5]]), &rest[HEADER..length]));
        rest = &rest[length.next_multiple_of(4).min(rest.len())..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_padded_and_nested_ones_counted_whole() {
        let message = Message::new(16, 0, &[9; 4]).nested(18, &[], |inner| inner.attribute(1, b"veth\0"));
        assert_eq!(
            &message.bytes[HEADER..],
            &[9, 9, 9, 9, 16, 0, 18, 0, 9, 0, 1, 0, b'v', b'e', b't', b'h', 0, 0, 0, 0]
        );
    }

    #[test]
    fn messages_that_say_they_are_longer_than_the_datagram_are_left_out() {
        let mut datagram = vec![0; 20];
        datagram[0] = 20;
        datagram[4] = 7;
        assert_eq!(messages(&datagram), vec![(7, &[0u8; 4][..])]);
        datagram[0] = 21;
        assert_eq!(messages(&datagram), vec![]);
    }
}
