mod common;

use common::Agent;
use serde_json::{json, Value};
use std::time::Duration;

fn start_endless(agent: &Agent, limit: u64) -> Value {
    let mut spec = agent.spec(&["yes"]);
    spec["output_limit_bytes"] = json!(limit);
    let id = spec["id"].clone();
    agent.ok("processes.start", spec);
    id
}

#[test]
fn endless_output_costs_neither_memory_nor_disk() {
    let agent = Agent::start();
    let id = start_endless(&agent, 1 << 20);
    let resident = || {
        let text = std::fs::read_to_string(format!("/proc/{}/status", agent.pid())).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmRSS")).unwrap();
        line.split_ascii_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    std::thread::sleep(Duration::from_millis(300));
    let before = resident();
    std::thread::sleep(Duration::from_secs(2));
    let state = agent.ok("processes.get", json!({ "id": id }));
    assert!(state["dropped_bytes"].as_u64().unwrap() > 10 << 20, "{state}");
    assert!(resident() < before + 1024, "{} then {}", before, resident());
    let kept: u64 = std::fs::read_dir(agent.path(&format!("state/processes/{}", id.as_str().unwrap())))
        .unwrap()
        .map(|entry| entry.unwrap().metadata().unwrap().len())
        .sum();
    assert!(kept <= (1 << 20) + 4096, "{kept}");
    agent.ok("processes.signal", json!({"id": id, "signal": 9, "scope": "kill"}));
}

#[test]
fn a_stalled_follower_holds_nobody_up() {
    let agent = Agent::start();
    let spec = agent.spec(&["/bin/sh", "-c", "read x; i=0; while [ $i -lt 20000 ]; do echo line $i; i=$((i+1)); done"]);
    let mut spec = spec;
    spec["stdin"] = json!("open");
    let id = spec["id"].clone();
    agent.ok("processes.start", spec);
    let follow = || {
        let mut connection = agent.connect();
        connection.call("output.follow", json!({"id": id, "cursor": 0}));
        connection.result().unwrap();
        connection
    };
    let (mut stalled, mut reading) = (follow(), follow());
    agent.upload("processes.write", json!({"id": id, "close": true}), b"go\n").unwrap();
    let expected: String = (0..20000).map(|line| format!("line {line}\n")).collect();
    assert!(reading.output().0 == expected.as_bytes());
    assert!(stalled.output().0 == expected.as_bytes());
}

#[test]
fn a_cursor_reads_on_where_it_left() {
    let agent = Agent::start();
    let ran = agent.sh("echo one; echo two >&2; echo three");
    let id = ran.result["process"]["id"].clone();
    let total = ran.result["next_cursor"].as_u64().unwrap();
    assert_eq!(total, 14);
    let mut cursor = 0;
    let mut bytes = 0;
    while cursor < total {
        let mut connection = agent.connect();
        connection.call("output.read", json!({"id": id, "cursor": cursor, "max_bytes": 3}));
        cursor = connection.result().unwrap()["next_cursor"].as_u64().unwrap();
        let (stdout, stderr, _) = connection.output();
        bytes += stdout.len() + stderr.len();
    }
    assert_eq!(bytes, 14);
    let mut connection = agent.connect();
    connection.call("output.read", json!({"id": id, "cursor": 0, "max_bytes": 100, "streams": [2]}));
    connection.result().unwrap();
    assert_eq!(connection.output().1, b"two\n");
    assert_eq!(agent.refused("output.read", json!({"id": id, "cursor": 15, "max_bytes": 1})), "invalid_argument");
}

#[test]
fn a_cursor_that_was_overtaken_says_so() {
    let agent = Agent::start();
    let mut spec = agent.spec(&["/bin/sh", "-c", "head -c 1000000 /dev/zero"]);
    spec["output_limit_bytes"] = json!(65536);
    let id = agent.run(spec).result["process"]["id"].clone();
    let mut connection = agent.connect();
    connection.call("output.follow", json!({"id": id, "cursor": 0}));
    let head = connection.result().unwrap();
    let (stdout, _, dropped) = connection.output();
    assert_eq!(head["dropped_bytes"].as_u64().unwrap(), dropped);
    assert_eq!(dropped + stdout.len() as u64, 1_000_000);
    assert!(stdout.len() <= 65536);
}

#[test]
fn damaged_files_end_no_call() {
    let agent = Agent::start();
    let id = agent.sh("echo text").result["process"]["id"].clone();
    let file = agent.path(&format!("state/processes/{}/out.0", id.as_str().unwrap()));
    for content in [&b""[..], &[1, 255, 255, 255, 255, 0], &[9, 1, 0, 0, 0, 0], &[1, 0, 0, 0, 0]] {
        std::fs::write(&file, content).unwrap();
        let mut connection = agent.connect();
        connection.call("output.follow", json!({"id": id, "cursor": 0}));
        connection.result().unwrap();
        assert_eq!(connection.output(), (vec![], vec![], 5));
    }
}

/// The record's directory is gone, so that the disk refuses all of the output.
#[test]
fn output_that_the_disk_refuses_is_answered_from_memory() {
    let agent = Agent::start();
    let ran = |line: &str| {
        let mut spec = agent.spec(&["/bin/sh", "-c", &format!("read x; {line}")]);
        spec["stdin"] = json!("open");
        let id = spec["id"].clone();
        agent.ok("processes.start", spec);
        std::fs::remove_dir_all(agent.path(&format!("state/processes/{}", id.as_str().unwrap()))).unwrap();
        agent.upload("processes.write", json!({"id": id, "close": true}), b"go\n").unwrap();
        let state = agent.ok("processes.get", json!({"id": id, "wait_ms": 10_000}));
        let mut connection = agent.connect();
        connection.call("output.follow", json!({"id": id, "cursor": 0}));
        connection.result().unwrap();
        (state, connection.output())
    };
    let (state, output) = ran("echo seen; echo too >&2; exit 3");
    assert_eq!((state["exit"]["code"].clone(), state["dropped_bytes"].clone()), (json!(3), json!(0)));
    assert_eq!((output.0.as_slice(), output.1.as_slice()), (&b"seen\n"[..], &b"too\n"[..]));
    // Far more than is held, many times: bounded, counted, and later ones still have room.
    for _ in 0..30 {
        let (state, output) = ran("head -c 1000000 /dev/zero");
        assert_eq!(state["dropped_bytes"].as_u64().unwrap() + output.0.len() as u64, 1_000_000, "{state}");
        assert!((40_000..=64 * 1024).contains(&output.0.len()), "{} bytes are shown", output.0.len());
    }
    assert_eq!(ran("echo still").1 .0, b"still\n");
}
