import { isTieredError, TieredError } from '@tiered/core';
import type { Access } from '../sequence/access-sequence.js';

/** A sample that was skipped because it could not be read. */
export interface SkippedSample extends Access {
  readonly error: unknown;
}

/** Rules for samples that cannot be read. */
export interface SkipRules {
  readonly onError: 'throw' | 'skip';
  readonly maxSkipped: number;
  readonly onSkip: ((skipped: SkippedSample) => void) | undefined;
}

/** Decides about samples that cannot be read, in the order of their sequence. */
export class Skips {
  readonly #rules: SkipRules;
  #epoch = 0;
  #inEpoch = 0;
  /** Samples skipped in total. */
  count = 0;
  /** Whether `onSkip` is being called; the sample is still the first of its queue then. */
  isTelling = false;

  constructor(rules: SkipRules) {
    this.#rules = rules;
  }

  get areAllowed(): boolean {
    return this.#rules.onError === 'skip';
  }

  /** Skips a sample, or returns the error that the sequence ends with instead. */
  skip({ key, epoch, position }: Access, error: unknown): { readonly error: unknown } | undefined {
    if (!this.areAllowed) return { error };
    if (epoch !== this.#epoch) this.#inEpoch = 0;
    this.#epoch = epoch;
    if (this.#inEpoch >= this.#rules.maxSkipped) return { error: this.#tooMany(error) };
    this.#inEpoch += 1;
    this.count += 1;
    this.isTelling = true;
    try {
      this.#rules.onSkip?.({ key, epoch, position, error });
      return undefined;
    } catch (thrown) {
      return { error: thrown };
    } finally {
      this.isTelling = false;
    }
  }

  #tooMany(error: unknown): unknown {
    if (!isTieredError(error)) return error;
    const { code, message, key, retryable } = error;
    const before = `${this.#inEpoch} samples of this epoch were skipped before it, as many as maxSkipped allows`;
    return new TieredError(code, `${message} (${before}.)`, { key, retryable, cause: error });
  }
}
