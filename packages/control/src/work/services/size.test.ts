import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import type { ServiceRow } from "../../store/services.ts";
import { fitTogether, refuseOversized } from "./size.ts";

const service = (name: string, valueBytes: number): ServiceRow =>
  ({
    id: `svc_${name}`,
    name,
    desired_state: "running",
    base_environment: { BASE: "x".repeat(valueBytes) },
    definition: {
      command: "true",
      cwd: "/work",
      environment: {},
      user: { uid: 0, gid: 0 },
      restart: {},
      after: [],
      stop_signal: "TERM",
      stop_grace_ms: 0,
      output_limit_bytes: 4096,
    },
  }) as unknown as ServiceRow;

test("a set of services is refused when it could not be sent in one frame", () => {
  const half = 500 * 1024;
  refuseOversized({ name: "box" }, [service("a", half), service("b", half)]);
  const rows = [service("a", half), service("b", half), service("c", half)];
  assert.equal(fitTogether(rows), false);
  assert.throws(
    () => refuseOversized({ name: "box" }, rows),
    (error) => error instanceof HoldfastError && error.code === "limit_reached",
  );
});
