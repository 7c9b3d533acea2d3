import { isPacked, onAbort } from '@tiered/core/internal';
import type { IndexClient } from '../../index/index-client.js';
import type { IndexWriter } from '../../index/index-writer.js';
import type { IndexedCopies } from '../../index/indexed-copies.js';
import type { OpenedIndex } from '../../index/open-index.js';
import type { Packing } from '../packed/packing.js';
import type { Accounts } from './accounts.js';
import type { Leftovers } from './leftovers.js';
import type { SharedStoreParts } from './shared-store-parts.js';

/**
 * Milliseconds between two looks at changes by others. Bytes that another process freed may still count for
 * this long.
 */
const LOOK_EVERY_MS = 250;

/**
 * One in this many looks checks which members run. So the bytes of a killed process may stay taken for 5 s
 * while others continue.
 */
const LOOKS_A_CHECK = 20;

/** Dependencies of `Looks`. */
export interface LooksParts extends Pick<SharedStoreParts, 'tier' | 'home' | 'dataset' | 'clock' | 'events'> {
  readonly client: IndexClient;
  readonly joined: OpenedIndex['joined'];
  readonly writer: IndexWriter;
  readonly accounts: Accounts;
  readonly leftovers: Leftovers;
  readonly copies: IndexedCopies;
  /** Ends the looks. */
  readonly closing: AbortSignal;
  /** As `TierStore.isCurrent`. */
  readonly isCurrent: () => Promise<boolean>;
  /** Called if the index does not belong to this process any more. Then the looks stop. */
  readonly lose: () => void;
  readonly isLost: () => boolean;
  /** The packing, once there is one. */
  readonly packing: () => Packing | undefined;
}

/**
 * Looks at an index periodically for changes by other members: removed copies, requests for room, and members
 * that do not run any more.
 */
export class Looks {
  readonly #parts: LooksParts;
  #seen: number;
  #count = 0;
  /** Whether there are changes that were not handled yet. */
  #isBehind = false;
  #looking: Promise<void> | undefined;

  constructor(parts: LooksParts) {
    this.#parts = parts;
    this.#seen = parts.joined.state.seq;
  }

  /** Begins. One look at a time; a look that fails is followed by another one. */
  begin(): void {
    this.#looking = this.#keepLooking();
  }

  /** Resolves once no look is in progress, and none begins any more. */
  get ended(): Promise<void> | undefined {
    return this.#looking;
  }

  async #keepLooking(): Promise<void> {
    const { clock, closing } = this.#parts;
    const stopped = new Promise<void>((resolve) => onAbort(closing, () => resolve()));
    while (!closing.aborted) {
      await Promise.race([
        clock.sleep(LOOK_EVERY_MS, closing, { background: true }).catch(() => undefined),
        stopped,
      ]);
      if (!closing.aborted) await this.#look().catch(() => undefined);
    }
  }

  async #look(): Promise<void> {
    const { client, home, accounts, leftovers, writer, isCurrent, isLost, lose, packing } = this.#parts;
    if (!(await isCurrent()) || client.isEnded || client.isDamaged) lose();
    if (isLost()) return;
    accounts.lease.looked();
    await leftovers.tryAgain();
    await packing()?.tryAgain();
    this.#count += 1;
    if (this.#count % LOOKS_A_CHECK === 0) await this.#check();
    this.#isBehind = (await client.call('changed', undefined)) || this.#isBehind;
    if (!this.#isBehind) return;
    accounts.learn(await client.call('state', { member: home.member }));
    const { mine, seq, wanted } = accounts.state;
    if (mine === undefined) lose();
    if (isLost()) return;
    if (seq > this.#seen) await this.#letGo(seq);
    if (wanted > 0 || accounts.unleased < 0) writer.write();
    // A busy member gives back a part now, and the rest if it is idle at its next look.
    this.#isBehind = wanted > 0 && accounts.lease.hasSome;
  }

  /** Checks whether others still count this process as a member, and which members still run. */
  async #check(): Promise<void> {
    const { tier, home, client, accounts, leftovers, events, lose } = this.#parts;
    if (!(await home.isRunning(home.member))) lose();
    else if (accounts.state.members > 1) await leftovers.clearUp((call) => call());
    if (tier.layout === 'packed' && (await client.call('sparse', undefined)).length > 0)
      events.emit('sparse', tier.level);
  }

  /** Lets go of copies that others removed, and records that. Their bytes stay taken until then. */
  async #letGo(seq: number): Promise<void> {
    const { tier, home, events, dataset, client, copies, joined, writer } = this.#parts;
    for (const row of await client.call('left', { after: this.#seen })) {
      if (row.member === home.member) continue;
      const copy = copies.copyOf(row);
      if (row.dataset === joined.dataset && copy.dataset === dataset) events.emit('left', tier.level, copy);
      if (!isPacked(row.tag)) await home.forget(copy.name);
    }
    this.#seen = seq;
    writer.seen(seq);
  }
}
