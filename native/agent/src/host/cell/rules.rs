use super::netlink::{Message, Netlink, NETFILTER};
use super::sys::Namespace;
use serde::Serialize;
use std::io;

#[derive(Serialize)]
pub struct Rules {
    /// The kernel's number for the rule set of the namespace: another after each change of any rule.
    generation: u32,
}

/// Which rules are in force in the network namespace that `path` names. Packets that are counted change nothing.
pub fn generation(path: &str) -> io::Result<Rules> {
    const SUBSYSTEM: u16 = 10 << 8;
    const GET_GENERATION: u16 = SUBSYSTEM | 16;
    const HEAD: usize = 4;
    let mut netlink = Namespace::open(path)?.visit(|| Netlink::open(NETFILTER))?;
    let answer = netlink.ask(Message::new(GET_GENERATION, 0, &[0; HEAD]))?;
    // The first attribute is the generation, a number in network order.
    match answer.get(HEAD + 4..HEAD + 8) {
        Some(&[a, b, c, d]) => Ok(Rules { generation: u32::from_be_bytes([a, b, c, d]) }),
        _ => Err(io::Error::other("the kernel does not say which rules are in force")),
    }
}

impl Rules {
    pub fn is(&self, generation: u32) -> bool {
        self.generation == generation
    }
}
