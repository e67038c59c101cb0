import { type ControlGatewayMethods, limits, type Route } from "@holdfast/contract";
import type { Clock, Logger, RpcClient } from "@holdfast/kit";
import type { RouteTable } from "./table.ts";

const waitMs = 25_000;
/** More than the wait: an answer that is later than this is not coming. */
const patienceMs = waitMs + 5000;
const firstRetryMs = 50;
const longestRetryMs = 1000;

/**
 * Keeps the table as control says it, until the signal aborts. While control does not answer the table stays as it is. The first time
 * (and when control's count of changes has gone back, as after a restored backup) it reads everything there is before it replaces any.
 */
export const watchRoutes = async (options: {
  readonly control: RpcClient<ControlGatewayMethods>;
  readonly table: RouteTable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { control, table, clock, logger, signal } = options;
  let after = 0;
  let retryMs = firstRetryMs;
  let away = false;
  while (!signal.aborted) {
    try {
      if (after === 0) {
        const whole = await readWhole(control);
        table.replace(whole.routes);
        after = whole.next;
      }
      if (away) logger.info("control answers again");
      away = false;
      retryMs = firstRetryMs;
      const answer = await control.call(
        "routes.watch",
        { after, wait_ms: waitMs },
        { timeoutMs: patienceMs },
      );
      if (answer.next < after) after = 0;
      else {
        if (answer.routes.length > 0) table.apply(answer.routes);
        after = answer.next;
        // An empty answer that came at once would otherwise be asked for again at once.
        if (answer.routes.length === 0) await clock.sleep(firstRetryMs, signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!away) logger.warn("control does not answer: addresses go on as they were last known", { error });
      away = true;
      await clock.sleep(retryMs, signal).catch(() => {});
      retryMs = Math.min(2 * retryMs, longestRetryMs);
    }
  }
};

/** All routes of now, and the number to go on from. Answers while nothing at all is there yet, too. */
const readWhole = async (
  control: RpcClient<ControlGatewayMethods>,
): Promise<{ readonly routes: readonly Route[]; readonly next: number }> => {
  const routes: Route[] = [];
  let after = 0;
  for (;;) {
    const answer = await control.call("routes.watch", { after, wait_ms: 0 }, { timeoutMs: patienceMs });
    routes.push(...answer.routes);
    const whole = answer.routes.length < limits.routesPerReply;
    if (whole || answer.next <= after) return { routes, next: Math.max(after, answer.next) };
    after = answer.next;
  }
};
