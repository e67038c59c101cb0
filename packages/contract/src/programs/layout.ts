/** Where the programs of one instance meet on the host. All under root-owned directories; socket paths end at 107 bytes. */
export const instancePattern = /^[a-z][a-z0-9-]{0,15}$/;

/** Where each instance that runs has a directory of its name. */
export const runRoot = "/run/holdfast";

export const runDirectory = (instance: string): string => `${runRoot}/${instance}`;

/** The listening socket that `callee` offers to `caller` alone. */
export const socketPath = (instance: string, callee: string, caller: string): string =>
  `${runDirectory(instance)}/${callee}/${caller}.sock`;

export const cellDirectory = (instance: string, computerId: string): string =>
  `${runDirectory(instance)}/cells/${computerId}`;

/** The agent's socket for control; `native/agent/PROTOCOL.md`. */
export const agentSocketPath = (instance: string, computerId: string): string =>
  `${cellDirectory(instance, computerId)}/control.sock`;

/** The agent's socket for gateway: connections to ports inside the cell. */
export const ingressSocketPath = (instance: string, computerId: string): string =>
  `${cellDirectory(instance, computerId)}/ingress.sock`;

/** Descriptor on which a program finds its listening socket(s), in the order of the launcher's table. */
export const firstListenDescriptor = 3;
