mod common;

use common::Agent;
use serde_json::json;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener};

#[test]
fn bytes_and_half_closes_pass_both_ways() {
    let agent = Agent::start();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut got = Vec::new();
        // Ends only when the half-close of the other side has arrived.
        stream.read_to_end(&mut got).unwrap();
        stream.write_all(&got).unwrap();
        got.len()
    });
    let mut connection = agent.connect_ingress();
    connection.call("ingress.connect", json!({ "port": port }));
    connection.result().unwrap();
    let sent: Vec<u8> = (0..3_000_000u32).map(|at| (at % 253) as u8).collect();
    connection.stream.write_all(&sent).unwrap();
    connection.stream.shutdown(Shutdown::Write).unwrap();
    let mut back = Vec::new();
    connection.stream.read_to_end(&mut back).unwrap();
    assert!(back == sent);
    assert_eq!(server.join().unwrap(), sent.len());
}

#[test]
fn nothing_listening_is_told_and_nothing_else_is_offered() {
    let agent = Agent::start();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut connection = agent.connect_ingress();
    connection.call("ingress.connect", json!({ "port": port }));
    assert_eq!(connection.result().unwrap_err()["code"], "connection_refused");
    let mut connection = agent.connect_ingress();
    connection.call("processes.list", json!({}));
    assert_eq!(connection.result().unwrap_err()["code"], "unknown_method");
    assert_eq!(agent.refused("ingress.connect", json!({ "port": port })), "unknown_method");
}
