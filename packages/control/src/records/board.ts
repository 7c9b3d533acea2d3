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

/** The contents of the registry: all stages, and the policy that operators have set. */
export interface Seen {
  readonly stages: readonly Stage[];
  readonly policy: PolicyRecord | undefined;
}

const STAGE_SLOT = /^stage\.[\w-]+$/;
const POLICY_SLOTS = 'policy.';

/** Reads the registry once. Omits records of other kinds. */
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

/** A policy, and its entry. */
interface SetPolicy {
  readonly entry: RegistryEntry;
  readonly policy: PolicyRecord;
}

/** The policy with the highest revision. */
function policyIn(entries: readonly RegistryEntry[]): SetPolicy | undefined {
  let last: SetPolicy | undefined;
  for (const entry of entries) {
    // Most are records of stages. Checking each against the policy schema would cost more than the rest of a
    // look.
    if (!entry.slot.startsWith(POLICY_SLOTS)) continue;
    const { success, data: policy } = policyRecord.safeParse(entry.record);
    if (!success || entry.slot !== policySlot(policy.revision)) continue;
    if (last === undefined || policy.revision > last.policy.revision) last = { entry, policy };
  }
  return last;
}

const policySlot = (revision: number) => `${POLICY_SLOTS}${revision}`;

/** The policy that operators have set, without the registry's own fields. */
export type Policy = Omit<PolicyRecord, 'v' | 'kind' | 'revision' | 'by'>;

const NOTHING_SET: Policy = { sources: {}, jobs: {}, nodes: {} };
/** Lifetime of a policy record, where the engine allows it: a year. */
const POLICY_TTL_MS = 365 * 24 * 3600 * 1000;
/** Tries to set a policy while others set one at the same moment. */
const MOST_TRIES = 10;

/**
 * Sets a policy for all stages. Each policy takes a revision that no one else can take, so of two operators
 * at the same moment, the second changes the policy of the first.
 * @param change Makes the next policy from the present one.
 * @param owner Identifies the operator's process; `by` is shown.
 * @throws TieredError `TIERED_UNAVAILABLE` if the registry cannot be reached, `TIERED_CONFIG_INVALID` for an
 * invalid policy, `TIERED_LIMIT_REACHED` if others set one at each try.
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
    // Another operator has set a later policy meanwhile, and removed the one that held this revision.
    if (now !== undefined && now.policy.revision > revision) {
      await registry.leave(policySlot(revision), owner, { signal });
      continue;
    }
    // The last policy is no longer in force. Left in place, it would do no harm.
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
  // The error of a name is one level below.
  const wrong = issue?.code === 'invalid_key' ? issue.issues[0] : issue;
  throw new TieredError('TIERED_CONFIG_INVALID', `${field}: ${wrong?.message ?? 'not a policy'}`);
}

function policyTtlOf({ longestTtlMs }: Registry): number {
  return Math.min(longestTtlMs, POLICY_TTL_MS);
}

/** Dependencies of `Board`. */
export interface BoardParts {
  readonly registry: Registry;
  /** Identifies this stage. */
  readonly id: string;
  /** Milliseconds between two records, and after which a record expires. */
  readonly everyMs: number;
  readonly ttlMs: number;
  readonly clock: Clock;
  /** Makes the stage's present record. */
  readonly report: () => StageRecord;
  /** Called with the contents of the registry, in which this stage is as it is now. */
  readonly onLook: (seen: Seen) => void;
  /** Called each time the registry could not be reached. */
  readonly onLost: (error: unknown) => void;
}

/** The most stages that look at the full rate. More stages slow down all looks, but not the registry. */
const STAGES_AT_ONCE = 200;
/** Puts of a record within its lifetime, so that it survives a failed put. */
const PUTS_PER_TTL = 3;

/**
 * A stage's place in the registry. It puts its record each half second, and reads the records of all. The
 * stages also keep the operators' policy there, since engines let records expire and may forget them: the
 * first stage renews it, and every stage puts it again if it is missing.
 */
export class Board {
  readonly #parts: BoardParts;
  readonly #ended = new AbortController();
  #running: Promise<void> | undefined;
  #policy: SetPolicy | undefined;
  #policyPutAt = -Infinity;
  #stages = 1;
  /** Lifetime of the last record. */
  #ttlMs: number;

  constructor(parts: BoardParts) {
    this.#parts = parts;
    this.#ttlMs = parts.ttlMs;
  }

  /**
   * Opens the registry, and looks once.
   * @throws TieredError `TIERED_UNAVAILABLE` if the registry cannot be reached.
   */
  async join(signal: AbortSignal | undefined): Promise<void> {
    await this.#parts.registry.open({ signal });
    await this.#exchange(signal);
    this.#running = this.#run();
  }

  /** Removes the record if the registry can be reached, and closes the registry. */
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
      // Look before the present record expires.
      const ms = Math.min(this.#everyMs, this.#ttlMs / PUTS_PER_TTL);
      await clock.sleep(ms, signal, { background: true }).catch(() => undefined);
      if (signal.aborted) return;
      try {
        await this.#exchange(signal);
      } catch (error) {
        if (signal.aborted) return;
        // Expected failures are TieredErrors. Anything else is a bug, ours or the registry author's.
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
    // Any stage that misses the policy puts it again; the first stage renews it in time.
    const isFirst = !stages.some((stage) => stage.id < id);
    if (!isLost && (!isFirst || clock.now() < this.#policyPutAt + ttlMs / 3)) return;
    await registry.put(this.#policy.entry, { ttlMs, signal });
    this.#policyPutAt = clock.now();
  }

  /** Milliseconds between two looks, bounded by the lifetime of records. */
  get #everyMs(): number {
    return this.#parts.everyMs * Math.max(1, this.#stages / STAGES_AT_ONCE);
  }

  get #slot(): string {
    return `stage.${this.#parts.id}`;
  }
}
