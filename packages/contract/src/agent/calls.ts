/** What the host asks of an agent. Built by control from validated operations; shapes: `native/agent/PROTOCOL.md`. */

export interface AgentUser {
  readonly uid: number;
  readonly gid: number;
}

/** Exactly one of `argv` and `shell`. `shell` runs as `/bin/bash -lc` where bash exists, else `/bin/sh -lc`. */
export interface AgentProcessSpec {
  readonly id: string;
  readonly argv?: readonly string[];
  readonly shell?: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: AgentUser;
  /** `closed` is /dev/null; `open` is a pipe fed by `processes.write`; else these bytes (base64, at most 1 MiB) and then the end. */
  readonly stdin: "closed" | "open" | { readonly base64: string };
  /** 0: no timeout. */
  readonly timeout_ms: number;
  readonly pty: { readonly columns: number; readonly rows: number } | null;
  readonly output_limit_bytes: number;
}

export interface AgentProbe {
  readonly kind: "tcp" | "http";
  readonly port: number;
  readonly path: string;
  readonly interval_ms: number;
  readonly timeout_ms: number;
  /** Failures in a row before the service counts as not ready (readiness) or is restarted (liveness). */
  readonly failures: number;
}

export interface AgentServiceSpec {
  readonly id: string;
  readonly name: string;
  readonly argv?: readonly string[];
  readonly shell?: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: AgentUser;
  readonly port: number | null;
  readonly desired: "running" | "stopped";
  readonly restart: {
    readonly policy: "always" | "on_failure" | "never";
    readonly min_backoff_ms: number;
    readonly max_backoff_ms: number;
    /** Restarts within ten minutes before the state is `failed`; 0: no limit. */
    readonly limit: number;
  };
  readonly readiness: AgentProbe | null;
  readonly liveness: AgentProbe | null;
  /** Ids of services that must be ready first. */
  readonly after: readonly string[];
  readonly stop: { readonly signal: number; readonly grace_ms: number };
  readonly output_limit_bytes: number;
}
