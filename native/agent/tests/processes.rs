mod common;

use common::Agent;
use serde_json::json;
use std::time::{Duration, Instant};

#[test]
fn runs_a_program_and_tells_its_exit() {
    let agent = Agent::start();
    let ran = agent.sh("printf 'a\\n\\nb'; printf oops >&2; exit 3");
    assert_eq!((ran.code(), ran.text().as_str(), ran.stderr.as_slice()), (3, "a\n\nb", &b"oops"[..]));
    assert_eq!(ran.result["complete"], true);
    let killed = agent.sh("kill -9 $$");
    assert_eq!(killed.result["process"]["exit"], json!({"kind": "signaled", "signal": 9}));
}

#[test]
fn every_byte_then_the_code_200_times() {
    let agent = Agent::start();
    for _ in 0..200 {
        let ran = agent.sh("head -c 1048576 /dev/zero; exit 3");
        assert_eq!((ran.code(), ran.stdout.len()), (3, 1 << 20));
        agent.ok("processes.forget", json!({"ids": [ran.result["process"]["id"]]}));
    }
}

#[test]
fn a_timeout_kills_the_whole_tree() {
    let agent = Agent::start();
    let mut spec =
        agent.spec(&["/bin/sh", "-c", "trap '' TERM; setsid sleep 4242 & (setsid sleep 4242 &) ; sleep 4242"]);
    spec["timeout_ms"] = json!(300);
    let began = Instant::now();
    let ran = agent.run(spec);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(ran.result["process"]["timed_out"], true);
    assert_eq!(ran.result["process"]["exit"], json!({"kind": "signaled", "signal": 9}));
    if agent.cgroup.is_some() {
        assert_eq!(ran.result["process"]["background"], false);
    }
    assert_eq!(agent.sh("echo next").text(), "next\n");
}

#[test]
fn a_background_child_that_holds_stdout_does_not_hang_the_call() {
    let agent = Agent::start();
    let began = Instant::now();
    let ran = agent.sh("sleep 4242 & echo started");
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!((ran.code(), ran.text().as_str()), (0, "started\n"));
    assert_eq!(ran.result["process"]["background"], true);
    let id = &ran.result["process"]["id"];
    agent.ok("processes.signal", json!({"id": id, "signal": 9, "scope": "kill"}));
    let end = Instant::now() + Duration::from_secs(5);
    while agent.ok("processes.get", json!({"id": id}))["background"] == true {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn no_zombie_is_left_of_500_double_forks() {
    let agent = Agent::start();
    let ran = agent.sh("i=0; while [ $i -lt 500 ]; do (true &); i=$((i+1)); done");
    assert_eq!(ran.code(), 0);
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        let children = std::fs::read_to_string(format!("/proc/{0}/task/{0}/children", agent.pid())).unwrap();
        if children.split_ascii_whitespace().count() == agent.spares().len() {
            return;
        }
        assert!(Instant::now() < end, "left: {children}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_same_id_runs_once() {
    let agent = Agent::start();
    let mut spec = agent.spec(&["/bin/sh", "-c", "echo x >> \"$FILE\"; echo out"]);
    spec["env"] = json!({"FILE": agent.path("count")});
    let first = agent.run(spec.clone());
    let second = agent.run(spec);
    assert_eq!((first.result["existed"].as_bool(), second.result["existed"].as_bool()), (Some(false), Some(true)));
    assert_eq!(second.text(), "out\n");
    assert_eq!(std::fs::read_to_string(agent.path("count")).unwrap(), "x\n");
}

#[test]
fn stdin_arguments_and_all_bytes_arrive_whole() {
    let agent = Agent::start();
    let mut spec = agent.spec(&["cat"]);
    spec["stdin"] = json!("open");
    let id = spec["id"].clone();
    agent.ok("processes.start", spec);
    let bytes: Vec<u8> = (0..1 << 20).map(|at| (at * 7 % 256) as u8).collect();
    let written = agent.upload("processes.write", json!({"id": id, "close": true}), &bytes).unwrap();
    assert_eq!(written["accepted_bytes"], 1 << 20);
    let mut connection = agent.connect();
    connection.call("output.follow", json!({"id": id, "cursor": 0}));
    connection.result().unwrap();
    assert!(connection.output().0 == bytes);

    let mut spec = agent.spec(&["cat"]);
    spec["stdin"] = json!({"base64": "AAEC/w=="});
    assert_eq!(agent.run(spec).stdout, [0, 1, 2, 255]);

    let word = "x\ny".repeat(40_000);
    let ran = agent.run(agent.spec(&["printf", "%s", &word]));
    assert_eq!(ran.text(), word);

    let mut spec = agent.spec(&[]);
    spec.as_object_mut().unwrap().remove("argv");
    let line = format!("v='{}'; printf %s \"$v$#\"", "y".repeat(256 * 1024));
    spec["shell"] = json!(line);
    assert_eq!(agent.run(spec).stdout.len(), 256 * 1024 + 1);

    let error = agent.call("processes.start", agent.spec(&["printf", &"z".repeat(256 * 1024)])).unwrap_err();
    assert_eq!(error["code"], "too_large");
}

#[test]
fn a_process_has_three_descriptors_and_default_signals() {
    let agent = Agent::start();
    let ran = agent.sh("ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign)' /proc/self/status; umask; ps -o sid= -p $$ | tr -d ' '; echo $$");
    let lines: Vec<String> = ran.text().lines().map(str::to_owned).collect();
    // The fourth is the directory that `ls` itself reads.
    assert_eq!(lines[0].trim(), "4");
    assert!(lines[1].ends_with("0000000000000000") && lines[2].ends_with("0000000000000000"), "{lines:?}");
    assert_eq!(lines[3], "0022");
    assert_eq!(lines[4], lines[5]);
}

#[test]
fn failures_to_start_say_why() {
    let agent = Agent::start();
    let reason = |spec| agent.call("processes.start", spec).unwrap_err()["details"]["reason"].clone();
    assert_eq!(reason(agent.spec(&["no-such-program"])), "command_not_found");
    assert_eq!(reason(agent.spec(&["/etc/passwd"])), "permission_denied");
    for cwd in ["/no/such", "/etc/passwd", "/proc/self/fd/3", "/proc/1/cwd", "/proc/self/cwd", "/proc/thread-self/root"]
    {
        let mut spec = agent.spec(&["true"]);
        spec["cwd"] = json!(cwd);
        assert_eq!(reason(spec), "bad_working_directory", "{cwd}");
    }
    std::fs::write(agent.path("bad"), [0u8; 64]).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(agent.path("bad"), mode).unwrap();
    assert_eq!(reason(agent.spec(&[&agent.path("bad")])), "bad_format");
    assert_eq!(agent.ok("processes.list", json!({}))["processes"], json!([]));
}

#[test]
fn records_and_output_survive_a_crash_of_the_cell() {
    let mut agent = Agent::start();
    let ended = agent.sh("echo done; exit 4").result["process"]["id"].clone();
    let spec = agent.spec(&["/bin/sh", "-c", "echo before; exec sleep 4242"]);
    let running = spec["id"].clone();
    agent.ok("processes.start", spec);
    let mut connection = agent.connect();
    connection.call("output.read", json!({"id": running, "cursor": 0, "max_bytes": 100, "wait_ms": 5000}));
    assert_eq!(connection.result().unwrap()["next_cursor"], 7);
    agent.crash_and_restart();
    let state = |id| agent.ok("processes.get", json!({ "id": id }));
    assert_eq!(state(&ended)["exit"], json!({"kind": "exited", "code": 4}));
    assert_eq!(
        (state(&running)["exit"].clone(), state(&running)["state"].clone()),
        (json!({"kind": "lost"}), json!("ended"))
    );
    for (id, text) in [(&ended, "done\n"), (&running, "before\n")] {
        let mut connection = agent.connect();
        connection.call("output.follow", json!({"id": id, "cursor": 0}));
        connection.result().unwrap();
        assert_eq!(connection.output().0, text.as_bytes());
    }
}

#[test]
fn a_terminal_resizes_keeps_history_and_takes_typing() {
    let agent = Agent::start();
    let mut spec = agent.spec(&["/bin/sh"]);
    spec["pty"] = json!({"columns": 80, "rows": 24});
    spec["stdin"] = json!("open");
    spec["env"] = json!({"PS1": "> "});
    let id = spec["id"].clone();
    agent.ok("processes.start", spec);
    agent.ok("processes.resize", json!({"id": id, "columns": 100, "rows": 40}));
    let mut first = agent.connect();
    first.call("processes.attach", json!({ "id": id }));
    first.result().unwrap();
    first.send(common::DATA, b"stty size; echo mark-$((40+2))\n");
    read_until(&mut first, "mark-42");
    drop(first);
    let mut second = agent.connect();
    second.call("processes.attach", json!({ "id": id }));
    second.result().unwrap();
    second.send(common::CONTROL, br#"{"type":"resize","columns":120,"rows":50}"#);
    second.send(common::DATA, b"stty size; exit 5\n");
    let (output, _, _) = second.output();
    let text = String::from_utf8_lossy(&output).into_owned();
    assert!(text.contains("40 100") && text.contains("mark-42") && text.contains("50 120"), "{text}");
    assert_eq!(agent.ok("processes.get", json!({"id": id, "wait_ms": 2000}))["exit"]["code"], 5);
    let plain = agent.sh("true").result["process"]["id"].clone();
    assert_eq!(agent.refused("processes.resize", json!({"id": plain, "columns": 1, "rows": 1})), "no_pty");
}

fn read_until(connection: &mut common::Connection, text: &str) {
    let mut seen = Vec::new();
    while !String::from_utf8_lossy(&seen).contains(text) {
        let (kind, payload) = connection.frame().expect("output");
        assert_eq!(kind, common::OUTPUT);
        seen.extend(&payload[1..]);
    }
}

#[test]
fn a_start_whose_caller_went_away_is_finished_and_listed() {
    let agent = Agent::start();
    let mut ids = Vec::new();
    for _ in 0..30 {
        let spec = agent.spec(&["sleep", "4242"]);
        ids.push(spec["id"].clone());
        let mut connection = agent.connect();
        connection.call("processes.start", spec);
        drop(connection);
    }
    let end = Instant::now() + Duration::from_secs(5);
    let running = || {
        let list = agent.ok("processes.list", json!({}));
        let all = list["processes"].as_array().unwrap().clone();
        all.iter().filter(|process| process["state"] == "running").count()
    };
    // A call that was closed before it was read never began; one that began is there.
    let members = || {
        let path = agent.cgroup.as_ref().map(|path| path.join("p"));
        let groups = path.map(|path| std::fs::read_dir(path).unwrap().flatten().filter(|entry| entry.path().is_dir()));
        groups.map(|groups| groups.count() - agent.spares().len())
    };
    while members().is_some_and(|members| members != running()) {
        assert!(Instant::now() < end, "{:?} groups, {} processes", members(), running());
        std::thread::sleep(Duration::from_millis(5));
    }
    for id in ids {
        let _ = agent.call("processes.signal", json!({"id": id, "signal": 9, "scope": "kill"}));
    }
}

#[test]
fn the_same_id_at_once_runs_once() {
    let agent = Agent::start();
    let spec = agent.spec(&["sleep", "4242"]);
    let mut connections: Vec<_> = (0..20).map(|_| agent.connect()).collect();
    for connection in &mut connections {
        connection.call("processes.start", spec.clone());
    }
    let states: Vec<_> = connections.iter_mut().map(|connection| connection.result().unwrap()).collect();
    assert_eq!(states.iter().filter(|state| state["existed"] == false).count(), 1);
    assert!(states.iter().all(|state| state["pid"] == states[0]["pid"]));
}

/// The records lie on the volume, where the cell's root can write what it likes.
#[test]
fn records_that_the_cell_made_up_hide_nothing_and_hold_no_start_up() {
    let mut agent = Agent::start();
    agent.sh("echo real");
    let made_up = |id: &str, record: serde_json::Value| {
        let dir = agent.dir.join("state/processes").join(id);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("record.json"), record.to_string()).unwrap();
        dir
    };
    let command = "\u{1}".repeat(500);
    for index in 0..1500 {
        let record = json!({"sequence": 1_000_000 + index, "command": command, "started_at_ms": 1, "ended_at_ms": 2,
                            "exit": {"kind": "exited", "code": 0}, "segments": []});
        made_up(&format!("prc_made_up_{index}"), record);
    }
    // Output that would take minutes to measure, at no cost on the disk.
    let endless = made_up("prc_endless", json!({"sequence": 1, "command": "x", "started_at_ms": 1}));
    for index in 0..64u64 {
        std::fs::File::create(endless.join(format!("out.{index}"))).unwrap().set_len(64 << 30).unwrap();
    }
    agent.crash_and_restart();
    let spec = agent.spec(&["sleep", "4242"]);
    let id = spec["id"].clone();
    agent.ok("processes.start", spec);
    let list = agent.ok("processes.list", json!({}));
    assert!(list.to_string().len() < 1 << 20, "{}", list.to_string().len());
    let listed = list["processes"].as_array().unwrap();
    assert!(listed.len() > 200 && listed.iter().any(|process| process["id"] == id), "{} listed", listed.len());
}

#[test]
fn a_hostile_path_to_look_in_costs_nothing() {
    let agent = Agent::start();
    let mut spec = agent.spec(&[&"x".repeat(100_000)]);
    spec["env"] = json!({"PATH": "/a:".repeat(40_000)});
    let error = agent.call("processes.start", spec).unwrap_err();
    assert_eq!(error["code"], "spawn_failed", "{error}");
    let mut spec = agent.spec(&["true"]);
    spec["env"] = json!({"PATH": format!("{}/usr/bin:/bin", "/a:".repeat(100))});
    assert_eq!(agent.run(spec).code(), 0);
}
