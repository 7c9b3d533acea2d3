import type {
  TorchBatchSamplerOptions,
  TorchDistributedSamplerOptions,
  TorchRandomSamplerOptions,
  TorchSubsetRandomSamplerOptions,
  TorchWeightedRandomSamplerOptions,
} from '@tiered/prefetch/sampling';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';

/** Numbers as they are, or the SHA-256 of them as 32-bit little-endian words. */
export interface Drawn {
  readonly numbers?: readonly number[] | undefined;
  readonly sha256?: string | undefined;
}

/** What tools/torch-vectors.py prints. */
export interface TorchVectors {
  /** The version. */
  readonly torch: string;
  readonly randperm: readonly (Drawn & { readonly n: number; readonly seed: number })[];
  /** What all workers read in an epoch, worker 0 first. */
  readonly distributed: readonly (Drawn &
    Required<TorchDistributedSamplerOptions> & { readonly epoch: number })[];
  /** What is read in `EPOCHS` epochs. */
  readonly random: readonly (Drawn & Required<Omit<TorchRandomSamplerOptions, 'epochs'>>)[];
  /** The same; of weights, the number. */
  readonly weighted: readonly (Drawn &
    Required<Omit<TorchWeightedRandomSamplerOptions, 'epochs' | 'weights'>> & { readonly weights: number })[];
  /** The same; of indices, the number. */
  readonly subset: readonly (Drawn &
    Required<Omit<TorchSubsetRandomSamplerOptions, 'epochs' | 'samples' | 'indices'>> & {
      readonly indices: number;
    })[];
  readonly batches: readonly (Required<TorchBatchSamplerOptions> & {
    readonly samples: number;
    readonly batches: readonly (readonly number[])[];
  })[];
}

/** Epochs of the samplers that go on drawing. */
export const EPOCHS = 3;

/** What a real PyTorch drew. CONTRIBUTING.md says how to make it anew. */
export function readTorchVectors(): TorchVectors {
  return JSON.parse(readFileSync(new URL('torch-vectors.json', import.meta.url), 'utf8')) as TorchVectors;
}

export function expectDrawn(drawn: Uint32Array, { numbers, sha256 }: Drawn, what: string): void {
  if (numbers !== undefined) expect([...drawn], what).toEqual(numbers);
  else expect(createHash('sha256').update(drawn).digest('hex'), what).toBe(sha256);
}
