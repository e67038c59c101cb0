use super::netlink::{Netlink, ROUTE};
use super::route::{add_address, add_neighbour, add_route, pair, stations, up, Range};
use super::sys::{text, Namespace};
use super::{Failure, Step};
use serde::Deserialize;
use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::net::Ipv4Addr;

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

/// Makes the pair of links between `cellnet` and the cell, whose only way it is: one route, to `range`.
///
/// The pair is born with one end in each namespace. Moving the end of a pair that was made before costs the kernel a grace
/// period (10–30 ms here), so a pool of waiting pairs would be slower than none.
fn connect(plan: &Plan, cellnet: &Namespace, cell: &Namespace) -> io::Result<()> {
    let Plan { interface, address, gateway, range } = plan;
    let ends = stations(*address);
    cell.visit(refuse_version_six)?;
    cellnet.visit(|| {
        let mut netlink = Netlink::open(ROUTE)?;
        netlink.ask(pair(interface, "eth0", cell, &ends)?)?;
        let ours = index(interface)?;
        netlink.ask(add_address(ours, *gateway))?;
        netlink.ask(up(ours))?;
        netlink.ask(add_neighbour(ours, *address, &ends.1))?;
        netlink.ask(add_route(ours, &Range::only(*address), None, None)).map(drop)
    })?;
    cell.visit(|| {
        let mut netlink = Netlink::open(ROUTE)?;
        let theirs = index("eth0")?;
        netlink.ask(up(index("lo")?))?;
        refuse_to_look_for_neighbours()?;
        netlink.ask(add_address(theirs, *address))?;
        netlink.ask(up(theirs))?;
        netlink.ask(add_neighbour(theirs, *gateway, &ends.0))?;
        netlink.ask(add_route(theirs, &Range::only(*gateway), None, Some(*address)))?;
        netlink.ask(add_route(theirs, range, Some(*gateway), Some(*address))).map(drop)
    })
}

/// The one neighbour is known. A socket that is bound to the interface sends to any address as to a neighbour, whatever the routes say, and
/// each that is looked for takes a place in a table that is one for all namespaces of the host: when it is full, nobody finds a new
/// neighbour. Who is not looked for is given up at once, and its place is free for whoever needs one.
fn refuse_to_look_for_neighbours() -> io::Result<()> {
    fs::write("/proc/sys/net/ipv4/neigh/eth0/mcast_solicit", "0")
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
