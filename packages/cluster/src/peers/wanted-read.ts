import type { ReadIntoOptions } from '@tiered/core/driver';
import { onAbort } from '@tiered/core/internal';
import { etagOf } from '@tiered/gateway/internal';

/** A range of an object that is wanted from a peer. */
export interface WantedRange {
  readonly key: string;
  readonly offset: number;
  /** Bytes, at least 1. */
  readonly length: number;
  /** The ETag that the object must have there; undefined for any. */
  readonly etag: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The range that a driver's read asks for. */
export function wantedRange(
  key: string,
  length: number,
  { offset, version, signal }: ReadIntoOptions,
): WantedRange {
  return { key, offset, length, etag: version === undefined ? undefined : etagOf(version), signal };
}

/** A read of a range. It ends once: with its bytes, a failure, or an abort. */
export class WantedRead {
  readonly range: WantedRange;
  readonly bytes: Promise<Uint8Array>;
  /** Called when its caller no longer waits for it. */
  onLeft: () => void = () => undefined;
  /** Called when it ends. */
  onEnd: () => void = () => undefined;
  #resolve: (bytes: Uint8Array) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #isOver = false;
  readonly #stopListening: () => void;

  constructor(range: WantedRange) {
    this.range = range;
    this.bytes = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#stopListening = onAbort(range.signal, (reason) => {
      this.fail(reason);
      this.onLeft();
    });
  }

  /** Whether it has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  give(bytes: Uint8Array): void {
    this.#end();
    this.#resolve(bytes);
  }

  fail(error: unknown): void {
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#isOver = true;
    this.onEnd();
    this.#stopListening();
  }
}
