/**
 * Looks up credentials that come from outside, so that those who try ever new ones cost the database little and shut nobody else out. Filled
 * by `authority/strangers.ts`.
 */
export interface Strangers {
  /**
   * What `load` finds behind a credential; undefined when nothing is. `name` stands for the credential (a digest), `from` for whom strangers
   * are counted by. Throws `rate_limited` when too many unknown ones came from there, `unavailable` when too many are looked up at once.
   */
  meet<T>(name: string, from: string, load: () => Promise<T | undefined>): Promise<T | undefined>;
  /** It was given out just now: it is looked up whatever comes from beside it. */
  introduce(name: string): void;
}
