//! What the kernel is told to make links, addresses, neighbours and routes.

use super::netlink::Message;
use super::sys::{text, Namespace};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

pub struct Range {
    first: Ipv4Addr,
    bits: u8,
}

impl Range {
    pub fn parse(words: &str) -> io::Result<Range> {
        let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
        let (first, bits) = words.split_once('/').ok_or_else(invalid)?;
        let range = Range { first: first.parse().map_err(|_| invalid())?, bits: bits.parse().map_err(|_| invalid())? };
        if range.bits > 32 {
            return Err(invalid());
        }
        Ok(range)
    }

    pub fn only(address: Ipv4Addr) -> Range {
        Range { first: address, bits: 32 }
    }
}

const NEW: libc::c_int = libc::NLM_F_CREATE | libc::NLM_F_EXCL;

/// `struct ifinfomsg`, with the same flags set and changed.
fn about_link(index: u32, flags: u32) -> Vec<u8> {
    let mut head = vec![0; 4];
    for word in [index, flags, flags] {
        head.extend_from_slice(&word.to_ne_bytes());
    }
    head
}

/// A hardware address.
pub type Station = [u8; 6];

/// Those of the two ends of a cell's link, ours and the cell's: locally administered, and told apart by the cell's address.
pub fn stations(cell: Ipv4Addr) -> (Station, Station) {
    let [a, b, c, d] = cell.octets();
    ([2, 0, a, b, c, d], [2, 1, a, b, c, d])
}

pub fn pair(here: &str, there: &str, namespace: &Namespace, stations: &(Station, Station)) -> io::Result<Message> {
    const INFO_KIND: u16 = 1;
    const INFO_DATA: u16 = 2;
    const PEER: u16 = 1;
    let (here, there) = (text(here)?, text(there)?);
    let descriptor = namespace.as_raw_fd().to_ne_bytes();
    let head = about_link(0, 0);
    Ok(Message::new(libc::RTM_NEWLINK, NEW, &head)
        .attribute(libc::IFLA_IFNAME, here.as_bytes_with_nul())
        .attribute(libc::IFLA_ADDRESS, &stations.0)
        .nested(libc::IFLA_LINKINFO, &[], |info| {
            info.attribute(INFO_KIND, b"veth").nested(INFO_DATA, &[], |data| {
                data.nested(PEER, &head, |peer| {
                    peer.attribute(libc::IFLA_IFNAME, there.as_bytes_with_nul())
                        .attribute(libc::IFLA_ADDRESS, &stations.1)
                        .attribute(libc::IFLA_NET_NS_FD, &descriptor)
                })
            })
        }))
}

/// Says for good who has `address`. Such an entry does not count against what the kernel keeps for all namespaces together.
pub fn add_neighbour(index: u32, address: Ipv4Addr, station: &Station) -> Message {
    const DESTINATION: u16 = 1;
    const STATION: u16 = 2;
    const PERMANENT: u16 = 0x80;
    // struct ndmsg: family, padding, index, state, flags, kind.
    let mut head = vec![libc::AF_INET as u8, 0, 0, 0];
    head.extend_from_slice(&index.to_ne_bytes());
    head.extend_from_slice(&PERMANENT.to_ne_bytes());
    head.extend_from_slice(&[0, 0]);
    Message::new(libc::RTM_NEWNEIGH, NEW, &head).attribute(DESTINATION, &address.octets()).attribute(STATION, station)
}

pub fn up(index: u32) -> Message {
    Message::new(libc::RTM_NEWLINK, 0, &about_link(index, libc::IFF_UP as u32))
}

pub fn add_address(index: u32, address: Ipv4Addr) -> Message {
    // struct ifaddrmsg: family, prefix length, flags, scope, index.
    let mut head = vec![libc::AF_INET as u8, 32, 0, 0];
    head.extend_from_slice(&index.to_ne_bytes());
    Message::new(libc::RTM_NEWADDR, NEW, &head)
        .attribute(libc::IFA_LOCAL, &address.octets())
        .attribute(libc::IFA_ADDRESS, &address.octets())
}

pub fn add_route(index: u32, range: &Range, gateway: Option<Ipv4Addr>, source: Option<Ipv4Addr>) -> Message {
    let scope = if gateway.is_some() { libc::RT_SCOPE_UNIVERSE } else { libc::RT_SCOPE_LINK };
    // struct rtmsg: family, length of destination and source, service, table, protocol, scope, kind; then flags.
    let (family, table) = (libc::AF_INET as u8, libc::RT_TABLE_MAIN);
    let head = [family, range.bits, 0, 0, table, libc::RTPROT_BOOT, scope, libc::RTN_UNICAST, 0, 0, 0, 0];
    let mut message = Message::new(libc::RTM_NEWROUTE, NEW, &head)
        .attribute(libc::RTA_DST, &range.first.octets())
        .attribute(libc::RTA_OIF, &index.to_ne_bytes());
    if let Some(gateway) = gateway {
        message = message.attribute(libc::RTA_GATEWAY, &gateway.octets());
    }
    if let Some(source) = source {
        message = message.attribute(libc::RTA_PREFSRC, &source.octets());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_are_none_are_refused() {
        assert_eq!(Range::parse("198.18.0.0/15").unwrap().bits, 15);
        for words in ["", "198.18.0.0", "198.18.0/15", "198.18.0.0/33", "198.18.0.0/-1"] {
            assert!(Range::parse(words).is_err(), "{words}");
        }
    }
}
