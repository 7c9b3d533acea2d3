import type { PeerModel } from '@tiered/core';

/** Chooses between peers and the source by a model. */
export class PeerChoice {
  readonly #model: PeerModel | undefined;
  #atSource = 0;

  /** @param model Default: none, so that peers are asked first. */
  constructor(model: PeerModel | undefined) {
    this.#model = model;
  }

  /** Whether the source serves this many bytes sooner than a peer. In doubt, the peer is asked. */
  prefersSource({ underWay }: { readonly underWay: number }, bytes: number): boolean {
    if (this.#model === undefined) return false;
    const source = longOr(this.#model.sourceMs(bytes, this.#atSource + 1));
    return source < longOr(this.#model.peerMs(bytes, underWay + 1));
  }

  /** Makes a read of the source, and counts it as in flight. */
  async read<T>(read: () => Promise<T>): Promise<T> {
    this.#atSource += 1;
    try {
      return await read();
    } finally {
      this.#atSource -= 1;
    }
  }
}

function longOr(ms: number): number {
  return ms >= 0 ? ms : Infinity;
}
