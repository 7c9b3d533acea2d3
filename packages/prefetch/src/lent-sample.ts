import { releasedError } from './errors.js';
import type { Sample } from './sample.js';
import type { Access } from './sequence/access-sequence.js';

/** A sample in the hands of a consumer. */
export abstract class LentSample implements Sample {
  readonly key: string;
  readonly epoch: number;
  readonly position: number;
  /** Undefined after the release. */
  #bytes: Uint8Array | undefined;

  constructor({ key, epoch, position }: Access, bytes: Uint8Array) {
    this.key = key;
    this.epoch = epoch;
    this.position = position;
    this.#bytes = bytes;
  }

  get data(): Uint8Array {
    if (this.#bytes === undefined) throw releasedError(this.key);
    return this.#bytes;
  }

  release(): void {
    if (this.#bytes === undefined) return;
    this.#bytes = undefined;
    this.onRelease();
  }

  [Symbol.dispose](): void {
    this.release();
  }

  /** Called once, when the bytes are not looked at any more. */
  protected abstract onRelease(): void;
}
