mod common;

use common::Agent;
use serde_json::{json, Value};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::time::{Duration, Instant};

fn names(value: &Value) -> Vec<String> {
    value["entries"].as_array().unwrap().iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn writes_whole_and_reads_ranges() {
    let agent = Agent::start();
    let path = agent.path("d/a%2Fb ü.bin");
    let bytes: Vec<u8> = (0..700_000u32).map(|at| (at * 31 % 251) as u8).collect();
    assert_eq!(agent.upload("files.write", json!({"path": path}), &bytes).unwrap_err()["code"], "not_found");
    let entry =
        agent.upload("files.write", json!({"path": path, "make_parents": true, "mode": 0o600}), &bytes).unwrap();
    assert_eq!((entry["size_bytes"].as_u64(), entry["mode"].as_u64()), (Some(700_000), Some(0o600)));
    let (_, whole, _) = agent.download("files.read", json!({ "path": path })).unwrap();
    assert!(whole == bytes);
    let (head, part, _) = agent.download("files.read", json!({"path": path, "offset": 699_990, "length": 50})).unwrap();
    assert_eq!((head["length"].as_u64(), part.as_slice()), (Some(10), &bytes[699_990..]));

    let version = &entry["version"];
    let again = json!({"path": path, "if_match": version});
    agent.upload("files.write", again.clone(), b"new").unwrap();
    assert_eq!(agent.upload("files.write", again, b"newer").unwrap_err()["code"], "version_mismatch");
    let once = json!({"path": path, "must_not_exist": true});
    assert_eq!(agent.upload("files.write", once, b"x").unwrap_err()["code"], "already_exists");
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn an_upload_that_breaks_off_changes_nothing() {
    let agent = Agent::start();
    let path = agent.path("file");
    std::fs::write(&path, "old").unwrap();
    let mut connection = agent.connect();
    connection.call("files.write", json!({ "path": path }));
    connection.send(common::DATA, b"half");
    let end = Instant::now() + Duration::from_secs(5);
    while agent
        .ok("files.list", json!({"path": agent.path(""), "limit": 100}))
        .to_string()
        .matches(".holdfast-")
        .count()
        == 0
    {
        assert!(Instant::now() < end);
    }
    drop(connection);
    while std::fs::read_dir(&agent.dir)
        .unwrap()
        .any(|entry| entry.unwrap().file_name().to_string_lossy().starts_with(".holdfast"))
    {
        assert!(Instant::now() < end);
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
}

#[test]
fn edits_exactly_or_not_at_all() {
    let agent = Agent::start();
    let path = agent.path("code");
    std::fs::write(&path, "one two two three").unwrap();
    let edit = |edits: Value| agent.call("files.edit", json!({"path": path, "edits": edits}));
    let error = edit(json!([{"old": "one", "new": "1"}, {"old": "two", "new": "2"}])).unwrap_err();
    assert_eq!(error["details"], json!({"occurrences": 2, "edit": 1}));
    assert_eq!(edit(json!([{"old": "four", "new": ""}])).unwrap_err()["details"]["occurrences"], 0);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "one two two three");
    let done = edit(json!([{"old": "one", "new": "1"}, {"old": "two", "new": "2", "all": true}])).unwrap();
    assert_eq!(done["replaced"], 3);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "1 2 2 three");
    std::os::unix::fs::symlink("code", agent.path("link")).unwrap();
    agent.ok("files.edit", json!({"path": agent.path("link"), "edits": [{"old": "three", "new": "3"}]}));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "1 2 2 3");
    assert!(std::fs::symlink_metadata(agent.path("link")).unwrap().is_symlink());
    std::fs::write(&path, [0xff, 0xfe]).unwrap();
    assert_eq!(edit(json!([{"old": "a", "new": "b"}])).unwrap_err()["code"], "invalid_argument");
}

#[test]
fn pages_through_a_directory_in_order() {
    let agent = Agent::start();
    std::fs::create_dir(agent.path("many")).unwrap();
    for number in 0..2500 {
        std::fs::write(agent.path(&format!("many/{number:04}")), "").unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = agent.ok("files.list", json!({"path": agent.path("many"), "limit": 1000, "after": after}));
        seen.extend(names(&page));
        after = page["next"].clone();
        if after.is_null() {
            break;
        }
    }
    assert_eq!(seen, (0..2500).map(|number| format!("{number:04}")).collect::<Vec<_>>());
}

#[test]
fn moves_makes_and_deletes() {
    let agent = Agent::start();
    let at = |name: &str| agent.path(name);
    agent.ok("files.mkdir", json!({"path": at("a/b/c"), "parents": true}));
    assert_eq!(agent.refused("files.mkdir", json!({"path": at("a")})), "already_exists");
    std::fs::write(at("a/f"), "f").unwrap();
    std::fs::write(at("a/g"), "g").unwrap();
    assert_eq!(agent.refused("files.move", json!({"from": at("a/f"), "to": at("a/g")})), "already_exists");
    agent.ok("files.move", json!({"from": at("a/f"), "to": at("a/g"), "overwrite": true}));
    assert_eq!(agent.refused("files.delete", json!({"path": at("a")})), "not_empty");
    std::os::unix::fs::symlink("/etc", at("a/b/etc")).unwrap();
    assert_eq!(agent.ok("files.delete", json!({"path": at("a"), "recursive": true}))["deleted"], 5);
    assert!(std::path::Path::new("/etc/passwd").exists());
    for path in ["relative", "/a\0b", "/..", ""] {
        assert_eq!(agent.refused("files.stat", json!({ "path": path })), "invalid_argument", "{path:?}");
    }
    assert_eq!(agent.refused("files.stat", json!({"path": format!("/{}", "x".repeat(5000))})), "invalid_argument");
}

#[test]
fn odd_files_are_refused_at_once() {
    let agent = Agent::start();
    agent.sh(&format!("mkfifo {}", agent.path("fifo")));
    std::os::unix::fs::symlink("loop", agent.path("loop")).unwrap();
    let began = Instant::now();
    let code = |path: String| agent.call("files.read", json!({ "path": path })).unwrap_err()["code"].clone();
    assert_eq!(code(agent.path("fifo")), "not_regular_file");
    assert_eq!(code("/dev/null".into()), "not_regular_file");
    assert_eq!(code(agent.path("control")), "not_regular_file");
    assert_eq!(code(agent.path("state")), "is_a_directory");
    assert_eq!(code(agent.path("loop")), "invalid_argument");
    assert_eq!(code("/proc/self/fd/0".into()), "invalid_argument");
    assert_eq!(
        agent.upload("files.write", json!({"path": agent.path("fifo")}), b"x").unwrap_err()["code"],
        "not_regular_file"
    );
    assert!(began.elapsed() < Duration::from_secs(1));
    let sparse = std::fs::File::create(agent.path("sparse")).unwrap();
    sparse.set_len(1 << 40).unwrap();
    sparse.write_at(b"end", (1 << 40) - 3).unwrap();
    let (head, bytes, _) =
        agent.download("files.read", json!({"path": agent.path("sparse"), "offset": (1u64 << 40) - 3})).unwrap();
    assert_eq!((head["file"]["size_bytes"].as_u64(), bytes.as_slice()), (Some(1 << 40), &b"end"[..]));
}

#[test]
fn watches_a_tree() {
    let agent = Agent::start();
    std::fs::create_dir_all(agent.path("w/a")).unwrap();
    let mut connection = agent.connect();
    connection.call("files.watch", json!({"path": agent.path("w"), "recursive": true}));
    connection.result().unwrap();
    std::fs::write(agent.path("w/a/file"), "x").unwrap();
    std::fs::create_dir_all(agent.path("w/new/deep")).unwrap();
    std::fs::remove_file(agent.path("w/a/file")).unwrap();
    let mut wanted = vec![
        ("created", "w/a/file"),
        ("changed", "w/a/file"),
        ("deleted", "w/a/file"),
        ("created", "w/new"),
        ("created", "w/new/deep"),
    ];
    while !wanted.is_empty() {
        let (kind, payload) = connection.frame().unwrap();
        assert_eq!(kind, common::EVENT);
        let event: Value = serde_json::from_slice(&payload).unwrap();
        wanted.retain(|(kind, path)| event != json!({"type": kind, "path": agent.path(path)}));
    }
}

/// Whatever is in a directory, an answer fits a frame and the next page goes on behind it.
#[test]
fn a_hostile_directory_is_listed_page_by_page() {
    use std::os::unix::ffi::OsStrExt;
    let agent = Agent::start();
    let name = |index: u32| {
        let mut bytes = index.to_be_bytes().iter().map(|byte| byte % 16 + 0xf0).collect::<Vec<u8>>();
        bytes.resize(250, 0xff);
        bytes
    };
    let dir = agent.dir.join("hostile");
    std::fs::create_dir(&dir).unwrap();
    for (index, high) in (0..16u32).flat_map(|high| (0..16u32).map(move |low| high << 8 | low)).enumerate() {
        let target = "\u{1}".repeat(4000);
        let path = dir.join(std::ffi::OsStr::from_bytes(&name(high)));
        std::os::unix::fs::symlink(target, path).unwrap_or_else(|error| panic!("{index}: {error}"));
    }
    for limit in [1, 1000] {
        let (mut seen, mut pages, mut after) = (0, 0, Value::Null);
        loop {
            let mut params = json!({"path": agent.path("hostile"), "limit": limit});
            if !after.is_null() {
                params["after"] = after;
            }
            let page = agent.ok("files.list", params);
            let entries = page["entries"].as_array().unwrap().len();
            assert!(entries > 0 && page.to_string().len() < 1 << 20);
            (seen, pages, after) = (seen + entries, pages + 1, page["next"].clone());
            if after.is_null() {
                break;
            }
            assert!(pages <= 256, "it goes round in circles");
        }
        assert_eq!(seen, 256);
        assert!(limit == 1 || (2..30).contains(&pages), "{pages}");
    }
}

#[test]
fn a_tree_that_moves_into_a_watched_directory_is_told_within_bounds() {
    let agent = Agent::start();
    let (watched, tree) = (agent.dir.join("watched"), agent.dir.join("tree"));
    std::fs::create_dir(&watched).unwrap();
    for directory in 0..20 {
        let directory = tree.join(directory.to_string());
        std::fs::create_dir_all(&directory).unwrap();
        for file in 0..500 {
            std::fs::write(directory.join(file.to_string()), "").unwrap();
        }
    }
    let mut connection = agent.connect();
    connection.call("files.watch", json!({"path": agent.path("watched"), "recursive": true}));
    connection.result().unwrap();
    std::fs::rename(&tree, watched.join("tree")).unwrap();
    let mut told = 0;
    loop {
        let (_, payload) = connection.frame().unwrap();
        let event: Value = serde_json::from_slice(&payload).unwrap();
        told += 1;
        if event["type"] == "overflow" {
            break;
        }
        assert!(told < 6000, "no end of {told} events");
    }
    assert!(told > 4000, "{told}");
}
