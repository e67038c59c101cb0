use super::netlink::{Message, Netlink, ROUTE};
use super::sys::{text, Namespace};
use super::{Failure, Step};
use serde::Deserialize;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;

/// What the runtime says on standard input of the container that it is making.
#[derive(Deserialize)]
struct State {
    pid: libc::pid_t,
    bundle: String,
}

/// Run by the runtime between making the cell's namespaces and running anything in them: connects the cell. Arguments: the file
/// that names `cellnet`, the name of the end there, the cell's address, the address of the other end, and what is reached through it.
pub fn hook(arguments: &[OsString]) -> Result<(), Failure> {
    let words: Option<Vec<&str>> = arguments.iter().map(|argument| argument.to_str()).collect();
    let Some([cellnet, interface, address, gateway, range]) = words.as_deref() else {
        return Err(Failure {
            step: "usage",
            message: "link <cellnet> <interface> <address> <gateway> <range>".into(),
        });
    };
    let State { pid, bundle } = serde_json::from_reader(io::stdin()).step("state")?;
    let plan = Plan {
        interface: (*interface).to_owned(),
        address: address.parse().step("address")?,
        gateway: gateway.parse().step("gateway")?,
        range: Range::parse(range).step("range")?,
    };
    let cellnet = Namespace::open(cellnet).step("cellnet")?;
    // The runtime waits for us with this process as its child, so that the number cannot have come to mean another one.
    let cell = Namespace::open(&format!("/proc/{pid}/ns/net")).step("namespace")?;
    connect(&plan, &cellnet, &cell)
        .or_else(|error| {
            // The runtime only tells that we failed; its log is what is read then.
            let mut log = fs::OpenOptions::new().append(true).create(true).open(format!("{bundle}/runtime.log"))?;
            writeln!(log, "link: {error}")?;
            Err(error)
        })
        .step("link")
}

struct Plan {
    interface: String,
    address: Ipv4Addr,
    gateway: Ipv4Addr,
    range: Range,
}

struct Range {
    first: Ipv4Addr,
    bits: u8,
}

impl Range {
    fn parse(words: &str) -> io::Result<Range> {
        let invalid = || io::Error::from_raw_os_error(libc::EINVAL);
        let (first, bits) = words.split_once('/').ok_or_else(invalid)?;
        let range = Range { first: first.parse().map_err(|_| invalid())?, bits: bits.parse().map_err(|_| invalid())? };
        if range.bits > 32 {
            return Err(invalid());
        }
        Ok(range)
    }

    fn only(address: Ipv4Addr) -> Range {
        Range { first: address, bits: 32 }
    }
}

/// Makes the pair of links between `cellnet` and the cell, whose only way it is: one route, to `range`.
///
/// The pair is born with one end in each namespace. Moving the end of a pair that was made before costs the kernel a grace
/// period (10–30 ms here), so a pool of waiting pairs would be slower than none.
fn connect(plan: &Plan, cellnet: &Namespace, cell: &Namespace) -> io::Result<()> {
    let Plan { interface, address, gateway, range } = plan;
    cell.visit(refuse_version_six)?;
    cellnet.visit(|| {
        let mut netlink = Netlink::open(ROUTE)?;
        netlink.ask(pair(interface, "eth0", cell)?)?;
        let ours = index(interface)?;
        netlink.ask(add_address(ours, *gateway))?;
        netlink.ask(up(ours))?;
        netlink.ask(add_route(ours, &Range::only(*address), None, None)).map(drop)
    })?;
    cell.visit(|| {
        let mut netlink = Netlink::open(ROUTE)?;
        let theirs = index("eth0")?;
        netlink.ask(up(index("lo")?))?;
        netlink.ask(add_address(theirs, *address))?;
        netlink.ask(up(theirs))?;
        netlink.ask(add_route(theirs, &Range::only(*gateway), None, Some(*address)))?;
        netlink.ask(add_route(theirs, range, Some(*gateway), Some(*address))).map(drop)
    })
}

/// Before there is a link: one that comes up first sends.
fn refuse_version_six() -> io::Result<()> {
    for scope in ["default", "all"] {
        match fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1") {
            // A kernel without it has none to refuse.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn index(interface: &str) -> io::Result<u32> {
    let name = text(interface)?;
    // SAFETY: the string is NUL-terminated.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
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

fn pair(here: &str, there: &str, namespace: &Namespace) -> io::Result<Message> {
    const INFO_KIND: u16 = 1;
    const INFO_DATA: u16 = 2;
    const PEER: u16 = 1;
    let (here, there) = (text(here)?, text(there)?);
    let descriptor = namespace.as_raw_fd().to_ne_bytes();
    let head = about_link(0, 0);
    Ok(Message::new(libc::RTM_NEWLINK, NEW, &head).attribute(libc::IFLA_IFNAME, here.as_bytes_with_nul()).nested(
        libc::IFLA_LINKINFO,
        &[],
        |info| {
            info.attribute(INFO_KIND, b"veth").nested(INFO_DATA, &[], |data| {
                data.nested(PEER, &head, |peer| {
                    peer.attribute(libc::IFLA_IFNAME, there.as_bytes_with_nul())
                        .attribute(libc::IFLA_NET_NS_FD, &descriptor)
                })
            })
        },
    ))
}

fn up(index: u32) -> Message {
    Message::new(libc::RTM_NEWLINK, 0, &about_link(index, libc::IFF_UP as u32))
}

fn add_address(index: u32, address: Ipv4Addr) -> Message {
    // struct ifaddrmsg: family, prefix length, flags, scope, index.
    let mut head = vec![libc::AF_INET as u8, 32, 0, 0];
    head.extend_from_slice(&index.to_ne_bytes());
    Message::new(libc::RTM_NEWADDR, NEW, &head)
        .attribute(libc::IFA_LOCAL, &address.octets())
        .attribute(libc::IFA_ADDRESS, &address.octets())
}

fn add_route(index: u32, range: &Range, gateway: Option<Ipv4Addr>, source: Option<Ipv4Addr>) -> Message {
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
