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
    pub link: LinkSpec,
}

/// The cell's file systems. Mounted in a mount namespace of the cell's own, at fixed names in `bundle`.
#[derive(Deserialize)]
pub struct RootSpec {
    /// Holds `config.json` and the empty directories `lower`, `volume`, `root` `cgroup/`, and the empty file `agent`.
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

/// The pair of links between the namespace `cellnet` and the cell.
#[derive(Deserialize)]
pub struct LinkSpec {
    /// The file that names `cellnet`.
    pub namespace: String,
    /// The name of the end in `cellnet`.
    pub interface: String,
    /// The cell's address.
    pub address: String,
    /// The address of the end in `cellnet`, and what is reached through it.
    pub gateway: String,
    pub range: String,
    pub ip: String,
}
