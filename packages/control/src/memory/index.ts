export { candidatesOf } from "./candidates.ts";
export { type Candidates, MemoryPressure } from "./pressure.ts";
