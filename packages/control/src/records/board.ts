import { isTieredError, TieredError, type Clock } from '@tiered/core';
import { configError } from '@tiered/core/internal';
import type { Registry, RegistryEntry } from '@tiered/cluster/registry';
import {
  policyRecord,
  stageRecord,
  type PolicyRecord,
  type Stage,
  type StageRecord,
} from './stage-record.js';

/** What the registry has: all stages, and what operators have set. */
export interface Seen {
  readonly stages: readonly Stage[];
  readonly policy: PolicyRecord | undefined;
}

const STAGE_SLOT = /^stage\.[\w-]+$/;
const POLICY_SLOTS = 'policy.';

/** Looks once what the registry has. Records that are no such records are left out. */
export async function look(registry: Registry, signal?: AbortSignal): Promise<Seen> {
  const entries = await registry.all({ signal });
  return { stages: stagesIn(entries), policy: policyIn(entries)?.policy };
}

function stagesIn(entries: readonly RegistryEntry[]): Stage[] {
  return entries.flatMap(({ slot, owner, record }) => {
    if (!STAGE_SLOT.test(slot)) return [];
    const { success, data } = stageRecord.safeParse(record);
    return success ? [{ ...data, id: owner }] : [];
  });
}

/** A policy, and the entry that has it. */
interface SetPolicy {
  readonly entry: RegistryEntry;
  readonly policy: PolicyRecord;
}

/** The policy of the highest revision. */
function policyIn(entries: readonly RegistryEntry[]): SetPolicy | undefined {
  let last: SetPolicy | undefined;
  for (const entry of entries) {
    // Most are records of stages, and to check each against a policy costs more than all else of a look.
    if (!entry.slot.startsWith(POLICY_SLOTS)) continue;
    const { success, data: policy } = policyRecord.safeParse(entry.record);
    if (!success || entry.slot !== policySlot(policy.revision)) continue;
    if (last === undefined || policy.revision > last.policy.revision) last = { entry, policy };
  }
  return last;
}

const policySlot = (revision: number) => `${POLICY_SLOTS}${revision}`;

/** What operators have set, without what the registry needs. */
export type Policy = Omit<PolicyRecord, 'v' | 'kind' | 'revision' | 'by'>;

const NOTHING_SET: Policy = { sources: {}, jobs: {}, nodes: {} };
/** A record of a policy lives for so long, where the engine allows it: a year. */
const POLICY_TTL_MS = 365 * 24 * 3600 * 1000;
/** Operators that set something at the same moment try again so many times. */
const MOST_TRIES = 10;

/**
 * Sets a policy for all. Each is a revision that nobody else can take, so that of two operators at the same
 * moment the second one changes what the first one has set.
 * @param change Makes the next policy of the present one.
 * @param owner Names the operator's process; `by` is shown.
 * @throws TieredError `TIERED_UNAVAILABLE` if the registry cannot be reached, `TIERED_CONFIG_INVALID` for a
 * policy that cannot be, `TIERED_LIMIT_REACHED` if others set one at each try.
 */
export async function setPolicy(
  registry: Registry,
  change: (policy: Policy) => Policy,
  { owner, by, signal }: { owner: string; by?: string | undefined; signal?: AbortSignal | undefined },
): Promise<PolicyRecord> {
  const ttlMs = policyTtlOf(registry);
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const last = policyIn(await registry.all({ signal }));
    const revision = (last?.policy.revision ?? 0) + 1;
    const policy = checkedPolicy({
      ...change(last?.policy ?? NOTHING_SET),
      v: 1,
      kind: 'policy',
      revision,
      by,
    });
    if (!(await registry.put({ slot: policySlot(revision), owner, record: policy }, { ttlMs, signal })))
      continue;
    const now = policyIn(await registry.all({ signal }));
    // Somebody has set a later one meanwhile, and removed the one that held the place of this.
    if (now !== undefined && now.policy.revision > revision) {
      await registry.leave(policySlot(revision), owner, { signal });
      continue;
    }
    // It holds no longer, and would be in the way of nobody.
    if (last !== undefined) await registry.leave(last.entry.slot, last.entry.owner, { signal });
    return policy;
  }
  throw new TieredError('TIERED_LIMIT_REACHED', 'Others set a policy at each try; try again.', {
    retryable: true,
  });
}

function checkedPolicy(policy: unknown): PolicyRecord {
  const { data, error } = policyRecord.safeParse(policy);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const field = issue?.path.join('.') ?? 'policy';
  // What is wrong with a name is one level below.
  const wrong = issue?.code === 'invalid_key' ? issue.issues[0] : issue;
  throw new TieredError('TIERED_CONFIG_INVALID', `${field}: ${wrong?.message ?? 'not a policy'}`);
}

function policyTtlOf({ longestTtlMs }: Registry): number {
  return Math.min(longestTtlMs, POLICY_TTL_MS);
}

/** What a board needs. */
export interface BoardParts {
  readonly registry: Registry;
  /** Names this stage. */
  readonly id: string;
  /** Milliseconds between two records, and after which a record expires. */
  readonly everyMs: number;
  readonly ttlMs: number;
  readonly clock: Clock;
  /** What the stage says of itself now. */
  readonly report: () => StageRecord;
  /** Told what the registry had; this stage is there as it is now. */
  readonly onLook: (seen: Seen) => void;
  /** Told each time that the registry could not be reached. */
  readonly onLost: (error: unknown) => void;
}

/**
 * So many stages are looked at in the time of a record; more make all of them slower, and the registry not.
 */
const STAGES_AT_ONCE = 200;
/** A record is put so often until it would expire, so that a put that fails is not the end of it. */
const PUTS_PER_TTL = 3;

/**
 * The place of a stage in the registry: it puts its record each half second, and looks at those of all. What
 * operators have set is kept there by the stages, since engines let records expire, and may forget them: the
 * first of them renews it, and each puts again what it misses.
 */
export class Board {
  readonly #parts: BoardParts;
  readonly #ended = new AbortController();
  #running: Promise<void> | undefined;
  #policy: SetPolicy | undefined;
  #policyPutAt = -Infinity;
  #stages = 1;
  /** That the last record lives. */
  #ttlMs: number;

  constructor(parts: BoardParts) {
    this.#parts = parts;
    this.#ttlMs = parts.ttlMs;
  }

  /**
   * Opens the registry, and looks for the first time.
   * @throws TieredError `TIERED_UNAVAILABLE` if the registry cannot be reached.
   */
  async join(signal: AbortSignal | undefined): Promise<void> {
    await this.#parts.registry.open({ signal });
    await this.#exchange(signal);
    this.#running = this.#run();
  }

  /** Leaves the registry, as far as it can be reached, and closes it. */
  async leave(): Promise<void> {
    const { registry, id } = this.#parts;
    this.#ended.abort(new Error('The stage has left.'));
    try {
      await this.#running;
      await registry.leave(this.#slot, id, {}).catch(() => undefined);
    } finally {
      await registry.close();
    }
  }

  async #run(): Promise<void> {
    const { clock, onLost } = this.#parts;
    const { signal } = this.#ended;
    while (!signal.aborted) {
      // Before the record expires that is there.
      const ms = Math.min(this.#everyMs, this.#ttlMs / PUTS_PER_TTL);
      await clock.sleep(ms, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#exchange(signal);
      } catch (error) {
        if (signal.aborted) return;
        // Its calls reject so in operation. Anything else is a bug, of ours or of the registry's author.
        if (!isTieredError(error)) throw error;
        onLost(error);
      }
    }
  }

  async #exchange(signal: AbortSignal | undefined): Promise<void> {
    const { registry, id, ttlMs: least, report, onLook } = this.#parts;
    const record = report();
    const ttlMs = Math.min(registry.longestTtlMs, Math.max(least, Math.ceil(this.#everyMs * PUTS_PER_TTL)));
    if (!(await registry.put({ slot: this.#slot, owner: id, record }, { ttlMs, signal })))
      throw configError('registry', 'one that keeps records of stages', registry.name);
    this.#ttlMs = ttlMs;
    const entries = await registry.all({ signal });
    const others = stagesIn(entries).filter((stage) => stage.id !== id);
    const stages = [...others, { ...record, id }];
    this.#stages = stages.length;
    await this.#keepPolicy(policyIn(entries), stages, signal);
    onLook({ stages, policy: this.#policy?.policy });
  }

  async #keepPolicy(
    found: SetPolicy | undefined,
    stages: readonly Stage[],
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const { registry, id, clock } = this.#parts;
    const isNewer = (found?.policy.revision ?? 0) >= (this.#policy?.policy.revision ?? 0);
    if (isNewer && found !== undefined) this.#policy = found;
    if (this.#policy === undefined) return;
    const ttlMs = policyTtlOf(registry);
    const isLost = found === undefined || !isNewer;
    // What is lost is put again by whoever misses it; the first of the stages renews it in time.
    const isFirst = !stages.some((stage) => stage.id < id);
    if (!isLost && (!isFirst || clock.now() < this.#policyPutAt + ttlMs / 3)) return;
    await registry.put(this.#policy.entry, { ttlMs, signal });
    this.#policyPutAt = clock.now();
  }

  /** Milliseconds between two looks, as far as records live so long. */
  get #everyMs(): number {
    return this.#parts.everyMs * Math.max(1, this.#stages / STAGES_AT_ONCE);
  }

  get #slot(): string {
    return `stage.${this.#parts.id}`;
  }
}
