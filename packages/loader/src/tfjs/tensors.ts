import { Tensor, tidy } from '@tensorflow/tfjs-core';
import { TieredError } from '@tiered/core';

/** A batch, of a loader in this thread or another one. */
export interface AnyBatch<C = unknown> {
  readonly epoch: number;
  readonly index: number;
  readonly samples: Uint32Array;
  readonly data: C;
}

/**
 * The tensors of a batch. Everything else that was made on the way is disposed of.
 * @throws TieredError `TIERED_TRANSFORM_FAILED`
 */
export function madeTensors<B extends AnyBatch, D>(batch: B, toTensors: (batch: B) => D): D {
  try {
    return tidy(() => {
      const made = toTensors(batch);
      assertTensors(made);
      return made as never;
    });
  } catch (cause) {
    const text = cause instanceof Error ? cause.message : String(cause);
    const message = `toTensors failed for batch ${batch.index} of epoch ${batch.epoch}: ${text}. Mend the function, or what it is given.`;
    throw new TieredError('TIERED_TRANSFORM_FAILED', message, { cause });
  }
}

/** TF.js would look at each element of anything else, and find no tensors in a promise. */
function assertTensors(made: unknown): void {
  if (made instanceof Tensor) return;
  if (!isPlain(made)) throw new TypeError(`it made ${nameOf(made)} where a tensor is needed`);
  for (const one of Object.values(made)) assertTensors(one);
}

function isPlain(made: unknown): made is object {
  if (typeof made !== 'object' || made === null) return false;
  const prototype: unknown = Object.getPrototypeOf(made);
  return Array.isArray(made) || prototype === Object.prototype || prototype === null;
}

function nameOf(made: unknown): string {
  return typeof made === 'object' && made !== null ? made.constructor.name : String(made);
}
