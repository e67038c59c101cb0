/** A map that never grows past its limit: setting one more lets go of the one that was set longest ago, at no cost that grows with it. */
export class Recent<K, V> {
  readonly #limit: number;
  readonly #items = new Map<K, V>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#items.size;
  }

  get(key: K): V | undefined {
    return this.#items.get(key);
  }

  set(key: K, value: V): void {
    this.#items.delete(key);
    // A map is in order of insertion, so its first key is the oldest.
    if (this.#items.size >= this.#limit)
      for (const oldest of this.#items.keys()) if (this.#items.delete(oldest)) break;
    this.#items.set(key, value);
  }

  delete(key: K): void {
    this.#items.delete(key);
  }

  clear(): void {
    this.#items.clear();
  }
}
