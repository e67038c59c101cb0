import { execFile } from "node:child_process";
import process from "node:process";
import { promisify } from "node:util";
import { restCore } from "./proxies.ts";
import type { Tools } from "./tools.ts";

/** What one run of the load generator saw. */
export interface Load {
  readonly requestsPerSecond: number;
  readonly medianMs: number;
  readonly p99Ms: number;
}

/** Loads a proxy for `seconds`. Rejects when a request was not answered with success: such figures mean nothing. */
export const load = async (
  tools: Tools,
  target: { readonly port: number; readonly host: string; readonly path?: string },
  options: { readonly connections: number; readonly seconds: number },
): Promise<Load> => {
  const { stdout } = await promisify(execFile)(
    "taskset",
    [
      "-c",
      restCore,
      tools.wrk,
      "--threads=1",
      `--connections=${options.connections}`,
      `--duration=${options.seconds}s`,
      "--latency",
      `--header=Host: ${target.host}`,
      `http://127.0.0.1:${target.port}${target.path ?? "/"}`,
    ],
    { env: { ...process.env, ...tools.environment } },
  );
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(`requests failed: ${stdout}`);
  const requestsPerSecond = Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1] ?? 0);
  if (requestsPerSecond === 0) throw new Error(`nothing was answered: ${stdout}`);
  return {
    requestsPerSecond,
    medianMs: milliseconds(/^\s+50%\s+([\d.]+)(us|ms|s)/m.exec(stdout)),
    p99Ms: milliseconds(/^\s+99%\s+([\d.]+)(us|ms|s)/m.exec(stdout)),
  };
};

const units: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1000 };

const milliseconds = (found: RegExpExecArray | null): number =>
  Number(found?.[1] ?? Number.NaN) * (units[found?.[2] ?? ""] ?? Number.NaN);
