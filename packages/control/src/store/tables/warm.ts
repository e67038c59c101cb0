import type { ComputerSize } from "@holdfast/contract";

/** Owned by `warm/`. What the columns mean stands in `migrations/0033_warm.sql`. */
export interface WarmTables {
  warm_cells: {
    computer_id: string;
    node_id: string;
    size: ComputerSize;
    state: "making" | "ready" | "going";
    image: string | null;
    policy: string | null;
    cell_id: string | null;
    made_at_ms: number;
  };
}
