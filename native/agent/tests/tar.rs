mod common;

use common::Agent;
use serde_json::{json, Value};
use std::path::Path;

/// An entry as a hostile writer would put it.
struct Entry<'a> {
    name: &'a [u8],
    kind: u8,
    mode: u32,
    link: &'a [u8],
    content: &'a [u8],
    size: Option<[u8; 12]>,
}

fn file<'a>(name: &'a str, content: &'a str) -> Entry<'a> {
    Entry { name: name.as_bytes(), kind: b'0', mode: 0o644, link: b"", content: content.as_bytes(), size: None }
}

fn archive(entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        let mut block = [0u8; 512];
        block[..entry.name.len()].copy_from_slice(entry.name);
        block[100..107].copy_from_slice(format!("{:07o}", entry.mode).as_bytes());
        block[124..136].copy_from_slice(&entry.size.unwrap_or_else(|| {
            let mut size = [0; 12];
            size[..11].copy_from_slice(format!("{:011o}", entry.content.len()).as_bytes());
            size
        }));
        block[156] = entry.kind;
        block[157..157 + entry.link.len()].copy_from_slice(entry.link);
        block[257..265].copy_from_slice(b"ustar\x0000");
        block[148..156].copy_from_slice(b"        ");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(block);
        out.extend(entry.content);
        out.resize(out.len().div_ceil(512) * 512, 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

fn import(agent: &Agent, name: &str, bytes: &[u8]) -> Result<Value, Value> {
    let params = json!({"path": agent.path(name), "limit_bytes": 1 << 30, "limit_entries": 1000});
    agent.upload("tar.import", params, bytes)
}

#[test]
fn hostile_archives_are_refused_and_leave_nothing() {
    let agent = Agent::start();
    let e = |name: &'static str, kind: u8, link: &'static str| Entry { kind, link: link.as_bytes(), ..file(name, "") };
    let pax = |content: &'static str| Entry { kind: b'x', content: content.as_bytes(), ..file("pax", "") };
    let outside = agent.path("outside");
    std::fs::write(&outside, "safe").unwrap();
    let hostile: Vec<(&str, &str, Vec<Entry>)> = vec![
        ("dot dot", "`..`", vec![file("../outside", "x")]),
        ("dot dot inside", "`..`", vec![file("a/../../outside", "x")]),
        ("absolute", "absolute", vec![file("/tmp/outside", "x")]),
        ("link then file", "earlier entry", vec![e("l", b'2', "../outside"), file("l", "x")]),
        ("link then file below", "through a link", vec![e("l", b'2', ".."), file("l/outside", "x")]),
        ("link by PAX path", "through a link", vec![e("l", b'2', ".."), pax("18 path=l/outside\n"), file("x", "x")]),
        ("hard link out", "`..`", vec![e("h", b'1', "../outside")]),
        ("hard link absolute", "absolute", vec![e("h", b'1', "/etc/passwd")]),
        ("hard link to a link", "no file", vec![e("l", b'2', "../outside"), e("h", b'1', "l")]),
        ("hard link through a link", "through a link", vec![e("l", b'2', ".."), e("h", b'1', "l/outside")]),
        ("character device", "device", vec![e("d", b'3', "")]),
        ("block device", "device", vec![e("d", b'4', "")]),
        ("pipe", "device", vec![e("p", b'6', "")]),
        ("unknown kind", "not known", vec![e("s", b'S', "")]),
        ("setuid", "setuid", vec![Entry { mode: 0o4755, ..file("s", "x") }]),
        ("setgid", "setuid", vec![Entry { mode: 0o2755, ..file("s", "x") }]),
        ("NUL in PAX", "NUL", vec![pax("12 path=a\0b\n"), file("x", "x")]),
        ("damaged PAX", "damaged", vec![pax("99 path=a\n"), file("x", "x")]),
        ("negative PAX size", "not a number", vec![pax("11 size=-5\n"), file("x", "x")]),
        ("security attribute", "attributes", vec![pax("38 SCHILY.xattr.security.capability\x3dx\n"), file("x", "x")]),
        ("overlay attribute", "attributes", vec![pax("41 SCHILY.xattr.trusted.overlay.opaque\x3dy\n"), file("x", "x")]),
        ("negative size", "negative", vec![Entry { size: Some([0xff; 12]), ..file("n", "") }]),
        (
            "huge size",
            "more than",
            vec![Entry { size: Some(*b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"), ..file("h", "") }],
        ),
        ("no number", "not a number", vec![Entry { size: Some(*b"zzzzzzzzzzz\0"), ..file("n", "") }]),
        ("unicode twins", "spelling", vec![file("\u{e9}", "a"), file("e\u{301}", "b")]),
        ("file then directory", "through a link or a file", vec![file("a", "x"), file("a/b", "x")]),
        (
            "global path",
            "all entries",
            vec![Entry { kind: b'g', content: b"10 path=a\n", ..file("g", "") }, file("x", "x")],
        ),
    ];
    for (what, why, mut entries) in hostile {
        // Something good comes first: it must not stay either.
        entries.insert(0, file("good", "good"));
        let error = import(&agent, "new", &archive(&entries)).expect_err(what);
        let code = error["code"].as_str().unwrap();
        assert!(code == "refused_entry" || (what == "huge size" && code == "too_large"), "{what}: {error}");
        assert!(error["message"].as_str().unwrap().contains(why), "{what}: {error}");
        assert_nothing_left(&agent, what);
    }
    assert_eq!(std::fs::read_to_string(outside).unwrap(), "safe");
}

fn assert_nothing_left(agent: &Agent, what: &str) {
    let left: Vec<_> = std::fs::read_dir(&agent.dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !["state", "control", "ingress", "outside", "old"].contains(&name.as_str()))
        .collect();
    assert!(left.is_empty(), "{what}: {left:?}");
}

#[test]
fn cut_damaged_and_large_archives_are_refused() {
    let agent = Agent::start();
    let good = archive(&[file("a", "content"), file("b", "more")]);
    for length in [0, 1, 511, 512, 700, 1024, 1536, 2047] {
        assert_eq!(import(&agent, "new", &good[..length]).unwrap_err()["code"], "refused_entry", "{length}");
        assert_nothing_left(&agent, "cut");
    }
    let mut damaged = good.clone();
    damaged[0] ^= 1;
    assert_eq!(import(&agent, "new", &damaged).unwrap_err()["code"], "refused_entry");
    assert_eq!(import(&agent, "new", b"\x1f\x8bnot gzip at all").unwrap_err()["code"], "refused_entry");
    let limited = |bytes: u64, entries: u64| {
        let params = json!({"path": agent.path("new"), "limit_bytes": bytes, "limit_entries": entries});
        agent.upload("tar.import", params, &good).map_err(|error| error["code"].clone())
    };
    assert_eq!(limited(10, 100).unwrap_err(), "too_large");
    assert_eq!(limited(100, 1).unwrap_err(), "too_large");
    assert_nothing_left(&agent, "limits");
    limited(11, 2).unwrap();
}

#[test]
fn what_is_exported_is_imported() {
    let agent = Agent::start();
    let long = "long-".repeat(30);
    let script = format!(
        "cd {} && mkdir -p old/d/e && printf hello > old/d/f && chmod 750 old/d/f && ln -s ../outside old/link && \
         printf x > 'old/{long}ü' && ln -s '/{long}/t' old/longlink && mkfifo old/fifo && truncate -s 5000000 old/sparse",
        agent.dir.display()
    );
    assert_eq!(agent.sh(&script).code(), 0);
    let (_, bytes, end) = agent.download("tar.export", json!({"path": agent.path("old")})).unwrap();
    assert_eq!((end["entries"].as_u64(), end["bytes"].as_u64()), (Some(7), Some(5_000_006)));
    std::fs::write(agent.path("archive.tar"), &bytes).unwrap();
    let listed = agent.sh(&format!("tar -tf {} | sort", agent.path("archive.tar")));
    assert_eq!(listed.text().lines().count(), 7, "{}", listed.text());
    let zipped = agent.sh(&format!("gzip -c {}", agent.path("archive.tar"))).stdout;
    for (name, archive) in [("plain", &bytes), ("zipped", &zipped)] {
        import(&agent, name, archive).unwrap();
        let differs = agent.sh(&format!(
            "cd {0} && rm -f old/fifo; diff -r --no-dereference old {name} && stat -c %a {name}/d/f",
            agent.dir.display()
        ));
        assert_eq!(differs.text(), "750\n");
    }
    let blocks = std::os::unix::fs::MetadataExt::blocks(&std::fs::metadata(agent.path("plain/sparse")).unwrap());
    assert!(blocks < 1000, "the hole became {blocks} blocks");
}

#[test]
fn an_archive_merges_into_a_directory_that_exists() {
    let agent = Agent::start();
    let at = |name: &str| agent.path(name);
    std::fs::create_dir_all(at("new/d")).unwrap();
    std::fs::write(at("new/d/kept"), "kept").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", at("new/d/f")).unwrap();
    import(&agent, "new", &archive(&[file("d/f", "ours"), file("g", "g")])).unwrap();
    assert_eq!(std::fs::read_to_string(at("new/d/f")).unwrap(), "ours");
    assert_eq!(std::fs::read_to_string(at("new/d/kept")).unwrap(), "kept");
    assert_eq!(
        import(&agent, "new", &archive(&[file("g/x", "x"), file("new", "n")])).unwrap_err()["code"],
        "already_exists"
    );
    std::os::unix::fs::symlink("/tmp", at("new/t")).unwrap();
    assert_eq!(import(&agent, "new", &archive(&[file("t/x", "x")])).unwrap_err()["code"], "already_exists");
    assert!(!Path::new(&at("new/new")).exists());
    assert_eq!(std::fs::read_dir(at("new")).unwrap().count(), 3);
}
