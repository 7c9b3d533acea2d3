import { assertCounts, configError } from '@tiered/core/internal';
import { Calls } from './calls.js';
import { assertSlot, checkedRecord } from './checks.js';
import { systemClock } from '@tiered/core';
import { slotOf } from '../member.js';
import type { PutOptions, Registry, RegistryCallOptions, RegistryEntry } from './registry.js';

/** A member of a static list. */
export interface StaticMember {
  /** The rank of the worker, from 0. */
  readonly rank: number;
  /** The URL where it serves others: `http://HOST:PORT`. */
  readonly url: string;
}

/** Options of a `StaticRegistry`. */
export interface StaticRegistryOptions {
  /** All members, with each rank once. */
  readonly members: readonly StaticMember[];
}

/** The bound of calls, which never wait. */
const BOUND_MS = 1000;

/**
 * A list of members that never changes, for clusters whose addresses are known beforehand. It contacts no
 * member, so it does not know which ones are present: workers find out when they ask a peer.
 *
 * `put` resolves to true for the slot of a member of the list, and to false for others. `all` always returns
 * the records of the list, `{ rank, url, share: true }`, whatever was put. Nothing expires, and `leave` does
 * nothing.
 */
export class StaticRegistry implements Registry {
  readonly name: string;
  readonly longestTtlMs = Infinity;
  /** The list. */
  readonly members: readonly StaticMember[];
  readonly #entries: ReadonlyMap<string, RegistryEntry>;
  readonly #calls: Calls;

  /** @throws TieredError `TIERED_CONFIG_INVALID` for an invalid rank or URL, or a duplicate rank. */
  constructor({ members }: StaticRegistryOptions) {
    this.name = `static:${members.length}`;
    this.members = members;
    this.#calls = new Calls(this.name, systemClock, BOUND_MS);
    this.#entries = new Map(members.map((member, i) => entryOf(member, `members[${i}]`)));
    if (this.#entries.size < members.length)
      throw configError('members', 'each rank once', members.map(({ rank }) => rank).join(', '));
  }

  /**
   * Makes the list of a training's workers from the environment that torchrun sets for each, and one variable
   * of our own.
   *
   * There are `WORLD_SIZE` members, one for each rank. `TIERED_PEERS` is the template of their addresses,
   * such as `worker-{rank}.training:9400`. `{rank}` stands for a worker's rank, `{node}` for the number of
   * its node, and `{local}` for its number on the node: rank is node times `LOCAL_WORLD_SIZE` (default: 1)
   * plus local. For example, four workers per pod are `worker-{node}.training:940{local}`, and all workers on
   * one machine are `localhost:940{local}`. `http://` may be omitted.
   *
   * Kubernetes provides such names with a headless service `training`, for the pods of a StatefulSet
   * `worker`, and for the pods of an Indexed Job `worker` with `subdomain: training`. Pass torchrun the
   * number of the pod as `--node-rank` (the end of its name, or `JOB_COMPLETION_INDEX`). Otherwise torchrun
   * may number the nodes in the order they arrive, which no list can know beforehand: use another registry
   * there. `MASTER_ADDR` is not used: it is the address of one worker.
   * @param env Default: the environment of this process.
   * @throws TieredError `TIERED_CONFIG_INVALID` that names the missing or invalid variable.
   */
  static fromTorch(env: NodeJS.ProcessEnv = process.env): StaticRegistry {
    const { TIERED_PEERS: template } = env;
    if (template === undefined || !/\{(rank|node|local)\}/.test(template))
      throw configError(
        'TIERED_PEERS',
        'where members serve, such as "worker-{rank}.training:9400"',
        template,
      );
    const size = countOf(env, 'WORLD_SIZE');
    const toNode = countOf(env, 'LOCAL_WORLD_SIZE', '1');
    const address = template.includes('://') ? template : `http://${template}`;
    const members = Array.from({ length: size }, (_, rank) => {
      const [node, local] = [Math.floor(rank / toNode), rank % toNode];
      const numbers: Readonly<Record<string, number>> = { rank, node, local };
      return {
        rank,
        url: address.replaceAll(/\{(rank|node|local)\}/g, (_all, of: string) => String(numbers[of])),
      };
    });
    return new StaticRegistry({ members });
  }

  open({ signal }: RegistryCallOptions = {}): Promise<void> {
    return this.#calls.open(signal, async () => undefined);
  }

  async put(entry: RegistryEntry, options: PutOptions): Promise<boolean> {
    checkedRecord(entry, options);
    return this.#calls.run(options.signal, async () => this.#entries.has(entry.slot));
  }

  all({ signal }: RegistryCallOptions = {}): Promise<readonly RegistryEntry[]> {
    return this.#calls.run(signal, async () => [...this.#entries.values()]);
  }

  watch(): () => void {
    return () => undefined;
  }

  async leave(slot: string, _owner: string, { signal }: RegistryCallOptions = {}): Promise<void> {
    assertSlot(slot);
    return this.#calls.run(signal, async () => undefined);
  }

  close(): Promise<void> {
    return this.#calls.close();
  }
}

/** Makes an entry that no process has put: its owner is the slot itself. */
function entryOf({ rank, url }: StaticMember, field: string): [string, RegistryEntry] {
  assertCounts({ [`${field}.rank`]: rank }, 0);
  if (!URL.canParse(url) || !['http:', 'https:'].includes(new URL(url).protocol))
    throw configError(`${field}.url`, 'a URL such as "http://worker-0.training:9400"', url);
  const slot = slotOf(rank);
  return [slot, { slot, owner: slot, record: { rank, url, share: true } }];
}

function countOf(env: NodeJS.ProcessEnv, variable: string, otherwise = ''): number {
  const count = Number(env[variable] ?? otherwise);
  if (Number.isSafeInteger(count) && count > 0) return count;
  throw configError(variable, 'a whole number of at least 1', env[variable]);
}
