mod common;

use common::Agent;
use serde_json::{json, Value};
use std::net::TcpListener;
use std::time::{Duration, Instant};

fn service(id: &str, argv: &[&str]) -> Value {
    json!({
        "id": id, "name": id, "argv": argv, "cwd": "/", "env": {}, "user": {"uid": 0, "gid": 0}, "port": null,
        "desired": "running", "readiness": null, "liveness": null, "after": [],
        "restart": {"policy": "always", "min_backoff_ms": 10, "max_backoff_ms": 50, "limit": 0},
        "stop": {"signal": 15, "grace_ms": 2000}, "output_limit_bytes": 1 << 20
    })
}

fn apply(agent: &Agent, revision: u64, services: Value) -> Value {
    agent.ok("services.apply", json!({"revision": revision, "services": services}))
}

fn wait(agent: &Agent, id: &str, state: &str) -> Value {
    let found = agent.ok("services.wait", json!({"id": id, "wait_ms": 8000, "state": state}));
    assert_eq!(found["state"], state, "{found}");
    found
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

const WEB: &str = r#"
import http.server, os, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(500 if os.path.exists(sys.argv[2]) else 200)
        self.end_headers()

    def log_message(self, *_):
        pass

http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"#;

#[test]
fn becomes_ready_by_http_and_restarts_when_not_alive() {
    let agent = Agent::start();
    let (port, sick) = (free_port(), agent.path("sick"));
    let probe =
        json!({"kind": "http", "port": port, "path": "/up", "interval_ms": 100, "timeout_ms": 1000, "failures": 2});
    let mut web = service("svc_web", &["python3", "-c", WEB, &port.to_string(), &sick]);
    web["readiness"] = probe.clone();
    web["liveness"] = probe;
    apply(&agent, 1, json!([web]));
    let ready = wait(&agent, "svc_web", "ready");
    let ports = agent.ok("ports.list", json!({}));
    let ours = ports["ports"].as_array().unwrap().iter().find(|row| row["port"] == port).unwrap().clone();
    assert_eq!(ours["address"], "127.0.0.1");
    if agent.cgroup.is_some() {
        assert_eq!(ours["process_id"], "svc_web");
    }
    std::fs::write(&sick, "").unwrap();
    let end = Instant::now() + Duration::from_secs(8);
    while agent.ok("services.list", json!({}))["services"][0]["restarts"] == 0 {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(20));
    }
    std::fs::remove_file(&sick).unwrap();
    let again = wait(&agent, "svc_web", "ready");
    assert_ne!(ready["pid"], again["pid"]);
}

#[test]
fn starts_in_order_and_stops_in_reverse() {
    let agent = Agent::start();
    let log = agent.path("log");
    let line = |name: &str| {
        format!(
            "trap 'echo stop {name} >> {log}; exit 0' TERM; echo start {name} >> {log}; while :; do sleep 0.05; done"
        )
    };
    let one = service("svc_one", &["/bin/sh", "-c", &line("one")]);
    let mut two = service("svc_two", &["/bin/sh", "-c", &line("two")]);
    two["after"] = json!(["svc_one"]);
    apply(&agent, 1, json!([two, one]));
    wait(&agent, "svc_two", "ready");
    let end = Instant::now() + Duration::from_secs(5);
    while !std::fs::read_to_string(&log).unwrap_or_default().contains("start two") {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
    }
    let process = agent.spec(&["sleep", "4242"]);
    agent.ok("processes.start", process.clone());
    assert_eq!(agent.ok("services.shutdown", json!({"grace_ms": 5000}))["stopped"], 3);
    assert_eq!(agent.ok("processes.get", json!({"id": process["id"]}))["state"], "ended");
    let text = std::fs::read_to_string(&log).unwrap();
    assert!(text.ends_with("stop two\nstop one\n"), "{text}");
    assert_eq!(agent.refused("processes.start", agent.spec(&["true"])), "shutting_down");
}

/// A web server comes after an api, that after a database. The web server does not listen to anybody: the two behind it have their time
/// all the same, one after the other, and so have processes.
#[test]
fn one_that_hangs_leaves_those_it_came_after_time_to_stop() {
    let agent = Agent::start();
    let log = agent.path("log");
    let line = |name: &str| {
        format!("trap 'sleep 0.2; echo saved {name} >> {log}; exit 0' TERM; echo up; while :; do sleep 0.05; done")
    };
    let shell = |id: &str, script: &str, after: &[&str]| {
        let mut made = service(id, &["/bin/sh", "-c", script]);
        made["after"] = json!(after);
        made["stop"]["grace_ms"] = json!(60_000);
        made
    };
    let deaf = "trap '' TERM; echo up; while :; do sleep 0.05; done";
    let set = json!([
        shell("svc_web", deaf, &["svc_api"]),
        shell("svc_api", &line("api"), &["svc_db"]),
        shell("svc_db", &line("db"), &[]),
        shell("svc_mail", &line("mail"), &[]),
    ]);
    apply(&agent, 1, set);
    for id in ["svc_web", "svc_api", "svc_db", "svc_mail"] {
        said_up(&agent, id);
    }
    let process = agent.spec(&["/bin/sh", "-c", &line("work")]);
    agent.ok("processes.start", process.clone());
    said_up(&agent, process["id"].as_str().unwrap());
    assert_eq!(agent.ok("services.shutdown", json!({"grace_ms": 4000}))["stopped"], 5);
    let text = std::fs::read_to_string(&log).unwrap();
    assert_eq!(text, "saved mail\nsaved api\nsaved db\nsaved work\n");
}

/// Its trap is set then.
fn said_up(agent: &Agent, id: &str) {
    let mut connection = agent.connect();
    connection.call("output.read", json!({"id": id, "cursor": 0, "max_bytes": 9, "wait_ms": 5000}));
    assert_eq!(connection.result().unwrap()["next_cursor"], 3);
}

#[test]
fn a_failing_service_backs_off_then_fails_and_can_be_restarted() {
    let agent = Agent::start();
    let mut bad = service("svc_bad", &["/bin/sh", "-c", "echo trying; exit 7"]);
    bad["restart"]["limit"] = json!(3);
    apply(&agent, 1, json!([bad]));
    let failed = wait(&agent, "svc_bad", "failed");
    assert_eq!((failed["restarts"].as_u64(), failed["exit"]["code"].as_i64()), (Some(3), Some(7)));
    let mut connection = agent.connect();
    connection.call("output.read", json!({"id": "svc_bad", "cursor": 0, "max_bytes": 1000}));
    connection.result().unwrap();
    assert_eq!(String::from_utf8(connection.output().0).unwrap(), "trying\n".repeat(4));
    // Who restarts it has mended something: it has all its tries again.
    assert_eq!(agent.ok("services.restart", json!({"id": "svc_bad"}))["restarts"], 0);
    assert_eq!(wait(&agent, "svc_bad", "failed")["restarts"], 3);
}

#[test]
fn policies_changes_and_revisions() {
    let agent = Agent::start();
    let mut once = service("svc_once", &["true"]);
    once["restart"]["policy"] = json!("on_failure");
    let steady = service("svc_steady", &["sleep", "4242"]);
    apply(&agent, 5, json!([once, steady]));
    wait(&agent, "svc_once", "stopped");
    let pid = wait(&agent, "svc_steady", "ready")["pid"].clone();
    apply(&agent, 6, json!([once, steady]));
    assert_eq!(wait(&agent, "svc_steady", "ready")["pid"], pid);
    let changed = service("svc_steady", &["sleep", "4243"]);
    apply(&agent, 7, json!([changed]));
    let end = Instant::now() + Duration::from_secs(5);
    while [json!(null), pid.clone()].contains(&agent.ok("services.list", json!({}))["services"][0]["pid"]) {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(agent.ok("services.list", json!({}))["services"].as_array().unwrap().len(), 1);
    assert_eq!(agent.refused("services.apply", json!({"revision": 6, "services": []})), "stale_revision");
    let mut stuck = service("svc_a", &["true"]);
    stuck["after"] = json!(["svc_a"]);
    assert_eq!(agent.refused("services.apply", json!({"revision": 8, "services": [stuck]})), "invalid_argument");
    let mut off = changed;
    off["desired"] = json!("stopped");
    apply(&agent, 9, json!([off]));
    wait(&agent, "svc_steady", "stopped");
    apply(&agent, 10, json!([]));
    assert_eq!(agent.refused("services.restart", json!({"id": "svc_steady"})), "not_found");
}

#[test]
fn one_that_ignores_its_stop_signal_is_killed_with_all_it_started() {
    let agent = Agent::start();
    let mut deaf =
        service("svc_deaf", &["/bin/sh", "-c", "trap '' TERM; setsid sleep 4242 & echo up; while :; do sleep 1; done"]);
    deaf["stop"]["grace_ms"] = json!(200);
    apply(&agent, 1, json!([deaf]));
    wait(&agent, "svc_deaf", "ready");
    let mut connection = agent.connect();
    connection.call("output.read", json!({"id": "svc_deaf", "cursor": 0, "max_bytes": 9, "wait_ms": 5000}));
    assert_eq!(connection.result().unwrap()["next_cursor"], 3);
    deaf["desired"] = json!("stopped");
    let began = Instant::now();
    apply(&agent, 2, json!([deaf]));
    let stopped = wait(&agent, "svc_deaf", "stopped");
    assert_eq!(stopped["exit"], json!({"kind": "signaled", "signal": 9}));
    assert!(began.elapsed() < Duration::from_secs(3));
    let spare = agent.spare();
    if let Some(cgroup) = &agent.cgroup {
        let groups = std::fs::read_dir(cgroup.join("p")).unwrap().flatten().filter(|entry| entry.path().is_dir());
        let left: Vec<String> =
            groups.map(|entry| std::fs::read_to_string(entry.path().join("cgroup.procs")).unwrap()).collect();
        assert_eq!(left, [format!("{spare}\n")], "the service's group is gone");
    }
}

/// Who is told that a service is stopped starts it: an answer must not say so of one that was just begun, or it starts twice.
#[test]
fn an_answer_tells_what_was_just_begun() {
    let agent = Agent::start();
    let state = |answer: &Value| answer["services"][0]["state"].as_str().unwrap().to_owned();
    let mut sleeper = service("svc_a", &["/bin/sh", "-c", "echo hello; exec sleep 4242"]);
    let answer = apply(&agent, 1, json!([sleeper]));
    assert_eq!(state(&answer), "starting");
    wait(&agent, "svc_a", "ready");
    sleeper["env"] = json!({"A": "1"});
    assert_eq!(state(&apply(&agent, 2, json!([sleeper]))), "stopping");
    wait(&agent, "svc_a", "ready");
    sleeper["desired"] = json!("stopped");
    assert_eq!(state(&apply(&agent, 3, json!([sleeper]))), "stopping");
    wait(&agent, "svc_a", "stopped");
    sleeper["desired"] = json!("running");
    assert_eq!(state(&apply(&agent, 4, json!([sleeper]))), "starting");
    wait(&agent, "svc_a", "ready");
    assert_eq!(agent.ok("services.restart", json!({"id": "svc_a"}))["state"], "stopping");

    let mut failing = service("svc_b", &["false"]);
    failing["restart"]["limit"] = json!(1);
    apply(&agent, 5, json!([failing]));
    wait(&agent, "svc_b", "failed");
    assert_eq!(agent.ok("services.restart", json!({"id": "svc_b"}))["state"], "starting");
    wait(&agent, "svc_b", "failed");
    failing["argv"] = json!(["sleep", "4242"]);
    assert_eq!(state(&apply(&agent, 6, json!([failing]))), "starting");
    wait(&agent, "svc_b", "ready");
}

#[test]
fn the_same_set_sent_by_many_at_once_starts_each_service_once() {
    let agent = Agent::start();
    let sleeper = service("svc_a", &["/bin/sh", "-c", "echo hello; exec sleep 4242"]);
    let mut connections: Vec<_> = (0..20).map(|_| agent.connect()).collect();
    for connection in &mut connections {
        connection.call("services.apply", json!({"revision": 1, "services": [sleeper]}));
    }
    for connection in &mut connections {
        assert_eq!(connection.result().unwrap()["services"][0]["state"], "starting");
    }
    wait(&agent, "svc_a", "ready");
    let mut connection = agent.connect();
    connection.call("output.read", json!({"id": "svc_a", "cursor": 0, "max_bytes": 100, "wait_ms": 5000}));
    connection.result().unwrap();
    assert_eq!(connection.output().0, b"hello\n");
    assert_eq!(agent.ok("services.list", json!({}))["services"][0]["restarts"], 0);
}
