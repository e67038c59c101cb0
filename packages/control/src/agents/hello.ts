import { type AgentHello, agentHello, frameType } from "@holdfast/contract";
import type { Frame } from "./frames.ts";
import { parseJson } from "./json.ts";
import { ProtocolViolation } from "./violation.ts";

/** Protocol versions that this side speaks. */
export interface Versions {
  readonly current: number;
  readonly oldest: number;
}

export const readHello = (frame: Frame): AgentHello => {
  if (frame.type !== frameType.hello)
    throw new ProtocolViolation(`the first frame is of type ${frame.type}, not HELLO`);
  const hello = parseJson(agentHello, frame.payload, "HELLO");
  if (hello.oldest > hello.protocol)
    throw new ProtocolViolation(
      `HELLO offers versions ${hello.oldest} to ${hello.protocol}, which is no range`,
    );
  return hello;
};

/** The newest version both sides speak. Undefined when there is none. */
export const agree = (hello: AgentHello, ours: Versions): number | undefined => {
  const newest = Math.min(hello.protocol, ours.current);
  return newest >= Math.max(hello.oldest, ours.oldest) ? newest : undefined;
};
