/** Orders kept: prefetching across the boundary of two epochs needs both. */
const ORDERS_KEPT = 2;

/** The orders of epochs, drawn when they are asked for; the two drawn last are kept. */
export class EpochOrders {
  readonly #draw: (epoch: number) => Uint32Array;
  readonly #kept = new Map<number, Uint32Array>();

  constructor(draw: (epoch: number) => Uint32Array) {
    this.#draw = draw;
  }

  of(epoch: number): Uint32Array {
    const kept = this.#kept.get(epoch);
    if (kept !== undefined) return kept;
    // Drop the oldest before the next is drawn, so that there are never three.
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < ORDERS_KEPT) break;
      this.#kept.delete(oldest);
    }
    const order = this.#draw(epoch);
    this.#kept.set(epoch, order);
    return order;
  }
}
