import { z } from "zod";
import type { AgentProcessSpec, AgentServiceSpec, AgentUser } from "./calls.ts";
import {
  agentCounted,
  agentFileEdit,
  agentFileEntry,
  agentFileEvent,
  agentFileHead,
  agentFileList,
  agentInfo,
  agentOutputHead,
  agentPortList,
  agentProcessList,
  agentProcessState,
  agentRunResult,
  agentServiceList,
  agentServiceState,
  agentUsage,
} from "./messages.ts";

const count = z.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER);
const nothing = z.object({});
const outputEvent = z.object({ type: z.literal("dropped"), bytes: count });
const outputEnd = z.object({
  process: agentProcessState.optional(),
  service: agentServiceState.optional(),
});

/**
 * Every call that control makes, with its shape and what it accepts back. `repeatable`: doing it twice is the same as doing it once, so it
 * may be sent before the agent's HELLO has been read, and again after a lost connection. `carries`: the frames legal between RESULT and
 * END.
 */
export const agentMethods = {
  "agent.info": { shape: "plain", repeatable: true, result: agentInfo },
  "processes.start": { shape: "plain", repeatable: true, result: agentProcessState },
  "processes.run": {
    shape: "download",
    repeatable: true,
    result: agentRunResult,
    carries: ["output", "event"],
    event: outputEvent,
    end: nothing,
  },
  "processes.get": { shape: "plain", repeatable: true, result: agentProcessState },
  "processes.list": { shape: "plain", repeatable: true, result: agentProcessList },
  "processes.write": { shape: "upload", repeatable: false, result: z.object({ accepted_bytes: count }) },
  "processes.signal": { shape: "plain", repeatable: false, result: agentProcessState },
  "processes.resize": { shape: "plain", repeatable: true, result: agentProcessState },
  "processes.attach": {
    shape: "duplex",
    repeatable: true,
    result: nothing,
    carries: ["output", "event"],
    event: outputEvent,
    end: outputEnd,
  },
  "processes.forget": { shape: "plain", repeatable: true, result: z.object({ forgotten: count }) },
  "output.read": {
    shape: "download",
    repeatable: true,
    result: agentOutputHead,
    carries: ["output", "event"],
    event: outputEvent,
    end: nothing,
  },
  "output.follow": {
    shape: "download",
    repeatable: true,
    result: agentOutputHead,
    carries: ["output", "event"],
    event: outputEvent,
    end: outputEnd,
  },
  "services.apply": { shape: "plain", repeatable: true, result: agentServiceList },
  "services.list": { shape: "plain", repeatable: true, result: agentServiceList },
  "services.restart": { shape: "plain", repeatable: false, result: agentServiceState },
  "services.wait": { shape: "plain", repeatable: true, result: agentServiceState },
  "services.shutdown": { shape: "plain", repeatable: true, result: z.object({ stopped: count }) },
  "files.stat": { shape: "plain", repeatable: true, result: agentFileEntry },
  "files.list": { shape: "plain", repeatable: true, result: agentFileList },
  "files.read": {
    shape: "download",
    repeatable: true,
    result: agentFileHead,
    carries: ["data"],
    event: z.never(),
    end: nothing,
  },
  "files.write": { shape: "upload", repeatable: false, result: agentFileEntry },
  "files.edit": { shape: "plain", repeatable: false, result: agentFileEdit },
  "files.move": { shape: "plain", repeatable: false, result: agentFileEntry },
  "files.delete": { shape: "plain", repeatable: false, result: z.object({ deleted: count }) },
  "files.mkdir": { shape: "plain", repeatable: false, result: agentFileEntry },
  "files.watch": {
    shape: "download",
    repeatable: true,
    result: nothing,
    carries: ["event"],
    event: agentFileEvent,
    end: nothing,
  },
  "tar.export": {
    shape: "download",
    repeatable: true,
    result: nothing,
    carries: ["data"],
    event: z.never(),
    end: agentCounted,
  },
  "tar.import": { shape: "upload", repeatable: false, result: agentCounted },
  "ports.list": { shape: "plain", repeatable: true, result: agentPortList },
  "usage.read": { shape: "plain", repeatable: true, result: agentUsage },
  "system.sync": { shape: "plain", repeatable: true, result: nothing },
} as const;

/** What each call is given. The agent trusts these, so they are types and not schemas: control builds them from validated input. */
export interface AgentParams {
  "agent.info": Record<never, never>;
  "processes.start": AgentProcessSpec;
  "processes.run": AgentProcessSpec & { readonly wait_ms: number; readonly max_output_bytes: number };
  "processes.get": { readonly id: string; readonly wait_ms?: number };
  "processes.list": Record<never, never>;
  "processes.write": { readonly id: string; readonly close?: boolean };
  "processes.signal": {
    readonly id: string;
    readonly signal: number;
    readonly scope: "process" | "all" | "kill";
  };
  "processes.resize": { readonly id: string; readonly columns: number; readonly rows: number };
  "processes.attach": { readonly id: string; readonly cursor?: number };
  "processes.forget": { readonly ids: readonly string[] };
  "output.read": {
    readonly id: string;
    readonly cursor: number;
    readonly max_bytes: number;
    readonly wait_ms?: number;
  };
  "output.follow": { readonly id: string; readonly cursor: number };
  "services.apply": { readonly revision: number; readonly services: readonly AgentServiceSpec[] };
  "services.list": Record<never, never>;
  "services.restart": { readonly id: string };
  "services.wait": { readonly id: string; readonly wait_ms: number; readonly state?: string };
  "services.shutdown": { readonly grace_ms: number };
  "files.stat": { readonly path: string; readonly follow?: boolean };
  "files.list": { readonly path: string; readonly limit: number; readonly after?: string };
  "files.read": { readonly path: string; readonly offset?: number; readonly length?: number };
  "files.write": {
    readonly path: string;
    readonly mode?: number;
    readonly user?: AgentUser;
    readonly make_parents?: boolean;
    readonly if_match?: string;
    readonly must_not_exist?: boolean;
  };
  "files.edit": {
    readonly path: string;
    readonly edits: readonly { readonly old: string; readonly new: string; readonly all?: boolean }[];
    readonly if_match?: string;
  };
  "files.move": { readonly from: string; readonly to: string; readonly overwrite?: boolean };
  "files.delete": { readonly path: string; readonly recursive?: boolean };
  "files.mkdir": {
    readonly path: string;
    readonly parents?: boolean;
    readonly mode?: number;
    readonly user?: AgentUser;
  };
  "files.watch": { readonly path: string; readonly recursive?: boolean };
  "tar.export": { readonly path: string };
  "tar.import": {
    readonly path: string;
    readonly limit_bytes: number;
    readonly limit_entries: number;
    readonly user?: AgentUser;
  };
  "ports.list": Record<never, never>;
  "usage.read": Record<never, never>;
  "system.sync": Record<never, never>;
}

export type AgentMethods = typeof agentMethods;
export type AgentMethod = keyof AgentMethods;
export type AgentMethodOf<Shape extends string> = {
  [M in AgentMethod]: AgentMethods[M]["shape"] extends Shape ? M : never;
}[AgentMethod];
export type AgentResult<M extends AgentMethod> = z.output<AgentMethods[M]["result"]>;
export type AgentStream = AgentMethodOf<"download" | "duplex">;
export type AgentEvent<M extends AgentStream> = z.output<AgentMethods[M]["event"]>;
export type AgentEnd<M extends AgentStream> = z.output<AgentMethods[M]["end"]>;
