import { AsyncResource } from 'node:async_hooks';
import { prefetchChannel, type PrefetchTrace } from '@tiered/core/tracing';
import { traceEnd, traceStart } from '@tiered/core/internal';
import type { Access } from '../sequence/access-sequence.js';

/**
 * A sample that subscribers of `tiered:prefetch` follow, from its admission until it has settled. Made only
 * if there are any.
 */
export class TracedSample {
  readonly #context: { -readonly [Field in keyof PrefetchTrace]: PrefetchTrace[Field] };
  /** Keeps what subscribers bind to the start, for the read that comes later. */
  readonly #scope: AsyncResource;

  constructor(
    hierarchy: string | undefined,
    { request, size }: { readonly request: Access; readonly size: number },
  ) {
    const { key, epoch, position } = request;
    this.#context = { hierarchy, key, epoch, position, bytes: size, repeated: false };
    this.#scope = traceStart(prefetchChannel, this.#context, () => new AsyncResource('tiered:prefetch'));
  }

  /** Makes a read as a part of what is traced. */
  run<T>(read: () => T): T {
    return this.#scope.runInAsyncScope(read);
  }

  /** Tells that its bytes are copied from another sample. */
  repeats(): void {
    this.#context.repeated = true;
  }

  /** @param bytes What was read, unless that failed. */
  end(failure: { readonly error: unknown } | undefined, bytes: number): void {
    if (failure === undefined) this.#context.bytes = bytes;
    traceEnd(prefetchChannel, this.#context, failure);
  }
}
