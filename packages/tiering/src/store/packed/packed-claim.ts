import { invariant } from '@tiered/core/internal';
import type { ReadIntoOptions } from '@tiered/core/driver';
import type { Candidate, Claim, Copy, CopyContent, TierStore } from '../../tier/tier-store.js';
import type { Lease } from '../shared/lease.js';
import type { PackedCopy } from './segment.js';

/** A copy in flight to a segment. */
export class PackedClaim implements Claim {
  readonly store: TierStore;
  readonly bytes: number;
  readonly #lease: Lease;
  readonly #object: Candidate;
  readonly #room: number;
  readonly #number: number;
  readonly #gather: (copy: PackedCopy) => void;
  #packed: PackedCopy | undefined;
  #isGivenBack = false;

  /**
   * @param room Bytes that were taken from the lease.
   * @param number Distinguishes the claim from all others.
   * @param gather Adds the copy to those that are written together.
   */
  constructor(
    { store, lease }: { readonly store: TierStore; readonly lease: Lease },
    object: Candidate,
    bytes: number,
    room: number,
    number: number,
    gather: (copy: PackedCopy) => void,
  ) {
    this.store = store;
    this.#lease = lease;
    this.#object = object;
    this.bytes = bytes;
    this.#room = room;
    this.#number = number;
    this.#gather = gather;
  }

  /** Differs from the name of any file. */
  get name(): string {
    return `%packing/${this.#number}`;
  }

  get gathers(): boolean {
    return true;
  }

  write(data: Uint8Array, content: CopyContent): Promise<Copy> {
    return new Promise<Copy>((resolve, reject) => {
      this.#packed = { object: this.#object, data, content, room: this.#room, resolve, reject };
      this.#gather(this.#packed);
    });
  }

  create(): Promise<never> {
    return inParts();
  }

  publish(): Promise<never> {
    return inParts();
  }

  async readInto(target: Uint8Array, { offset, signal }: ReadIntoOptions): Promise<number> {
    const { file, base } = this.#packed?.segment?.placeOf(this.#packed) ?? { file: '', base: 0 };
    return this.store.tier.driver.readInto(file, target, { offset: base + offset, signal });
  }

  async release(): Promise<void> {
    if (this.#packed !== undefined) return this.#packed.segment?.release(this.#packed);
    if (!this.#isGivenBack) this.#lease.giveBack(this.#room);
    this.#isGivenBack = true;
  }
}

/** Packed copies have one chunk. */
async function inParts(): Promise<never> {
  invariant(false, 'a copy that is packed is written in parts');
}
