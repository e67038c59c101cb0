import { z } from "zod";
import { countedSet } from "./rules.ts";

/** Packets by why they were refused, and for each link how many it had refused inside the reachable range. */
export interface NetworkCounters {
  readonly packets: Readonly<Record<string, number>>;
  readonly refusedByLink: Readonly<Record<string, number>>;
}

const listingSchema = z.object({
  nftables: z.array(
    z.object({
      counter: z.object({ name: z.string(), packets: z.number() }).optional(),
      set: z.object({ name: z.string(), elem: z.array(z.unknown()).optional() }).optional(),
    }),
  ),
});

const countedElement = z.object({
  elem: z.object({ val: z.string(), counter: z.object({ packets: z.number() }) }),
});

/** Takes the output of `nft --json list table`. */
export const parseCounters = (listing: string): NetworkCounters => {
  const { nftables } = listingSchema.parse(JSON.parse(listing));
  const counters = nftables.flatMap(({ counter }) =>
    counter ? [[counter.name, counter.packets] as const] : [],
  );
  const counted = nftables.find(({ set }) => set?.name === countedSet)?.set?.elem ?? [];
  const links = counted.flatMap((element) => {
    const parsed = countedElement.safeParse(element);
    return parsed.success ? [[parsed.data.elem.val, parsed.data.elem.counter.packets] as const] : [];
  });
  return { packets: Object.fromEntries(counters), refusedByLink: Object.fromEntries(links) };
};
