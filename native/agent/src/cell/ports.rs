use super::agent::Agent;
use super::fault::Fault;
use super::limits;
use serde_json::{json, Value};
use std::collections::HashMap;
use std::io::Read;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::rc::Rc;

/// Listening sockets, with the process or service that holds each, where that can be told.
pub async fn list(agent: &Rc<Agent>, _: Value) -> Result<Value, Fault> {
    let mut members: Vec<(i32, String)> = Vec::new();
    for process in agent.processes.list() {
        super::process::with_group(&process, |group| {
            members.extend(group.members().into_iter().map(|pid| (pid, process.id.clone())));
        });
    }
    members.extend(agent.services.members());
    agent
        .pool
        .run(move || {
            let owners = owners(&members);
            let tables = [
                ("/proc/net/tcp", "tcp", "0A"),
                ("/proc/net/tcp6", "tcp", "0A"),
                ("/proc/net/udp", "udp", "07"),
                ("/proc/net/udp6", "udp", "07"),
            ];
            let mut ports = Vec::new();
            for (path, protocol, listening) in tables {
                let text = table(path);
                let found = text.lines().skip(1).filter_map(|line| parse(line, listening));
                ports.extend(found.map(|socket| {
                    let owner = owners.get(&socket.inode);
                    json!({"port": socket.port, "address": socket.address, "protocol": protocol, "process_id": owner})
                }));
            }
            ports.truncate(limits::LISTED_PORTS);
            Ok(json!({ "ports": ports }))
        })
        .await
}

/// A cell with very many connections has a long table; its listening sockets come first in it.
fn table(path: &str) -> String {
    let mut text = Vec::new();
    if let Ok(file) = std::fs::File::open(path) {
        let _ = file.take(limits::SOCKET_TABLE_BYTES).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

struct Socket {
    port: u16,
    address: String,
    inode: u64,
}

/// A line of `/proc/net/tcp` and its like; only sockets in the state `listening`.
fn parse(line: &str, listening: &str) -> Option<Socket> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let (address, port) = fields.get(1)?.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok().filter(|port| *port != 0)?;
    if *fields.get(3)? != listening {
        return None;
    }
    // Words of the address are in the machine's order.
    let words: Option<Vec<u32>> =
        (0..address.len() / 8).map(|at| u32::from_str_radix(address.get(at * 8..at * 8 + 8)?, 16).ok()).collect();
    let bytes: Vec<u8> = words?.into_iter().flat_map(u32::to_ne_bytes).collect();
    let address = match bytes.as_slice() {
        [a, b, c, d] => Ipv4Addr::new(*a, *b, *c, *d).to_string(),
        _ => Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).to_string(),
    };
    Some(Socket { port, address, inode: fields.get(9)?.parse().ok()? })
}

/// Which process or service holds a socket, by the socket's inode.
fn owners(members: &[(i32, String)]) -> HashMap<u64, String> {
    let mut owners = HashMap::new();
    let mut left = limits::LOOKED_AT_DESCRIPTORS;
    for (pid, id) in members {
        let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { continue };
        for descriptor in descriptors.flatten().take(left.min(4096)) {
            left -= 1;
            let Ok(link) = std::fs::read_link(descriptor.path()) else { continue };
            let inode = link.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok());
            if let Some(inode) = inode {
                owners.entry(inode).or_insert_with(|| id.clone());
            }
        }
    }
    owners
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn reads_a_listening_socket() {
        let line = "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1";
        let socket = parse(line, "0A").unwrap();
        assert_eq!((socket.address.as_str(), socket.port, socket.inode), ("127.0.0.1", 8080, 4242));
        assert!(parse(line, "07").is_none());
    }

    #[test]
    fn damaged_lines_are_left_out() {
        for line in ["", "a b c", "0: ZZ:1F90 x 0A", "0: 0100007F:1F90", "0: é:1F90 0 0A"] {
            assert!(parse(line, "0A").is_none(), "{line}");
        }
    }
}
