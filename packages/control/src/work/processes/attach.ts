import { type AgentProcessState, limits } from "@holdfast/contract";
import { z } from "zod";
import type { Attachment } from "../../domain/agents.ts";
import type { TerminalConnection } from "../../domain/handler.ts";
import type { ProcessView } from "./view.ts";

const control = z.object({
  type: z.literal("resize"),
  columns: z.number().int().min(1).max(limits.terminalColumns),
  rows: z.number().int().min(1).max(limits.terminalRows),
});

/**
 * Carries a terminal in both directions until the process ends or the peer goes away. Each direction waits for the other side's buffer, so a
 * stalled peer stalls itself alone. A text message that is not understood ends the connection: it is a broken client.
 */
export const attachTerminal = async (
  attachment: Attachment,
  connection: TerminalConnection,
  ended: (state: AgentProcessState) => Promise<ProcessView>,
): Promise<void> => {
  const gone = (): void => attachment.close();
  connection.signal.addEventListener("abort", gone, { once: true });
  const inward = takeInput(attachment, connection);
  inward.catch(() => gone());
  try {
    for await (const piece of attachment.pieces)
      if (piece.kind === "output") await connection.send(piece.bytes);
    const state = attachment.end()?.process;
    if (state) await connection.send(JSON.stringify({ type: "end", process: await ended(state) }));
    connection.close("the process has ended");
  } catch (error) {
    // Closing detaches; that the peer went away is how most terminals end.
    if (!connection.signal.aborted) {
      connection.close("the computer does not answer");
      throw error;
    }
  } finally {
    connection.signal.removeEventListener("abort", gone);
    attachment.close();
  }
};

const takeInput = async (attachment: Attachment, connection: TerminalConnection): Promise<void> => {
  for await (const message of connection.messages) {
    if (typeof message !== "string") {
      await attachment.write(message);
      continue;
    }
    const parsed = control.safeParse(asJson(message));
    if (!parsed.success) {
      connection.close("a text message is {type: resize, columns, rows}");
      throw new TypeError("a message that is not understood");
    }
    await attachment.resize(parsed.data.columns, parsed.data.rows);
  }
};

const asJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};
