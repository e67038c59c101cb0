use serde::Deserialize;
use std::collections::BTreeMap;

/// Everything one start needs. All paths are the supervisor's own, none is inside a tree that a cell can write.
#[derive(Deserialize)]
pub struct StartSpec {
    /// Name of the container for the runtime: the computer's id.
    pub id: String,
    /// The runtime and where it keeps its state.
    pub runtime: String,
    pub runtime_state: String,
    pub root: RootSpec,
    pub sockets: Vec<SocketSpec>,
    /// Where the cell runs.
    pub cgroups: CgroupSpec,
    pub rules: ExpectedRules,
    #[serde(default)]
    pub trees: Vec<TreeSpec>,
}

/// Files of another computer that the cell is shown, at fixed names in `bundle`; see `trees`.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum TreeSpec {
    /// Of a volume or a snapshot of one, and the image below it. Always read-only.
    Files { name: String, volume: String, image: String },
    /// The place of an archive.
    Archive { volume: String, read_only: bool },
}

/// The cell's file systems. Mounted in a mount namespace of the cell's own, at fixed names in `bundle`.
#[derive(Deserialize)]
pub struct RootSpec {
    /// Holds `config.json`; the helper makes the mount points `lower`, `volume`, `root`, `cgroup/`, `agent` and `users` in it.
    pub bundle: String,
    /// A read-only subvolume.
    pub image: String,
    /// The computer's subvolume: `root/`, `work/`, `.overlay-work/`.
    pub volume: String,
    /// The binary that becomes PID 1.
    pub agent: String,
    /// The host id that root of the cell maps to; the range is `id_count` long.
    pub first_id: u32,
    pub id_count: u32,
    /// Directories and files that the runtime will mount on, relative to the root.
    pub directories: Vec<String>,
    pub files: Vec<String>,
}

#[derive(Deserialize)]
pub struct SocketSpec {
    pub path: String,
    pub gid: u32,
}

#[derive(Deserialize)]
pub struct CgroupSpec {
    /// v1 directories whose limits the cell is to have, by the name of their controller; none where everything is on v2.
    pub legacy: BTreeMap<String, String>,
    /// The cell's directory in the v2 hierarchy; it is delegated to the cell as a detached mount.
    pub unified: String,
}

/// The rules without which no cell may start.
#[derive(Deserialize)]
pub struct ExpectedRules {
    /// The file that names `cellnet`.
    pub namespace: String,
    pub generation: u32,
}

#[derive(Deserialize)]
pub struct RulesSpec {
    pub namespace: String,
}

/// One computer's subvolume. Its quota group is `1/<group>` below `2/<parent_group>`.
#[derive(Deserialize)]
pub struct VolumeSpec {
    pub pool: String,
    pub group: u64,
    pub parent_group: u64,
    pub limit_bytes: u64,
    /// Where the subvolume is made, and its name there.
    pub directory: String,
    pub name: String,
    pub directories: Vec<String>,
    /// The subvolume that it begins as a copy of; then no directory is made.
    pub source: Option<String>,
}

/// A copy of a subvolume in the quota group `1/<group>`, which is there.
#[derive(Deserialize)]
pub struct SnapshotSpec {
    pub source: String,
    pub directory: String,
    pub name: String,
    pub group: u64,
    pub read_only: bool,
    pub sync: bool,
}

#[derive(Deserialize)]
pub struct DeleteSpec {
    pub subvolumes: Vec<SubvolumeSpec>,
}

#[derive(Deserialize)]
pub struct SubvolumeSpec {
    pub directory: String,
    pub name: String,
}

#[derive(Deserialize)]
pub struct NestedSpec {
    pub volume: String,
}

#[derive(Deserialize)]
pub struct SealSpec {
    pub volume: String,
}

/// Directories relative to the volume, the deepest first.
#[derive(Deserialize)]
pub struct TidySpec {
    pub volume: String,
    pub directories: Vec<String>,
}

#[derive(Deserialize)]
pub struct PoolSpec {
    pub pool: String,
}
