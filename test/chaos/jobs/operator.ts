import type { Registry } from '@tiered/cluster/registry';
import { setPolicy, type PolicyRecord } from '@tiered/control';
import { isTieredError, Random, type Clock } from '@tiered/core';
import { SimulatedProcess } from '../simulated/process.js';
import type { SimulatedRegistry } from '../simulated/registry.js';
import { BUDGET } from './source.js';
import { jobOf, SOURCE } from './stage.js';
import type { Setting } from './steps.js';

/** What was set, and in which revision. Without one nobody knows whether it was. */
interface Set {
  readonly setting: Setting;
  readonly revision: number | undefined;
}

/** What operators have set, or have tried to. */
export class Settings {
  readonly #sets: Set[] = [];

  add(set: Set): void {
    this.#sets.push(set);
  }

  /** The first setting that the last policy has lost, in words. */
  lostFrom(policy: PolicyRecord | undefined): string | undefined {
    const fields = new Map(this.#sets.map(({ setting }) => [fieldOf(setting), setting]));
    for (const field of fields.keys()) {
      const tried = this.#sets.filter(({ setting }) => fieldOf(setting) === field);
      const last = tried.reduce((most, { revision = 0 }) => Math.max(most, revision), 0);
      const may = tried.filter(({ revision }) => revision === undefined || revision === last);
      if (last > 0 && !may.some(({ setting }) => isIn(policy, setting)))
        return `${JSON.stringify(may[0])} in ${JSON.stringify(policy)}`;
    }
    return undefined;
  }
}

const fieldOf = (setting: Setting) => (setting.of === 'job' ? jobOf(setting.job) : SOURCE);

function isIn(policy: PolicyRecord | undefined, setting: Setting): boolean {
  if (setting.of === 'source') return policy?.sources[SOURCE]?.bytes === setting.part * BUDGET;
  const { weight, priority } = policy?.jobs[jobOf(setting.job)] ?? {};
  return weight === setting.weight && priority === setting.priority;
}

/** Somebody who sets what holds for all. */
export class Operator {
  readonly options: { readonly who: number };
  readonly isRunning = true;
  readonly #registry: Registry;
  readonly #settings: Settings;
  #opened: Promise<void> | undefined;
  #last: Promise<void> = Promise.resolve();

  constructor(who: number, clock: Clock, registry: SimulatedRegistry, settings: Settings) {
    this.options = { who };
    this.#registry = registry.wayOf(new SimulatedProcess(clock, new Random(who, 3)));
    this.#settings = settings;
  }

  /** Sets one thing after the other. */
  set(setting: Setting): Promise<void> {
    this.#last = this.#last.then(() => this.#set(setting));
    return this.#last;
  }

  close(): Promise<void> {
    return this.#registry.close();
  }

  async #set(setting: Setting): Promise<void> {
    let revision: number | undefined;
    try {
      await (this.#opened ??= this.#registry.open({}));
      const policy = await setPolicy(
        this.#registry,
        (policy) =>
          setting.of === 'source'
            ? { ...policy, sources: { [SOURCE]: { bytes: setting.part * BUDGET } } }
            : { ...policy, jobs: { ...policy.jobs, [jobOf(setting.job)]: termsOf(setting) } },
        { owner: `operator-${this.options.who}` },
      );
      revision = policy.revision;
    } catch (error) {
      if (!isTieredError(error, 'TIERED_UNAVAILABLE')) throw error;
      this.#opened = undefined;
    }
    this.#settings.add({ setting, revision });
  }
}

function termsOf({ weight, priority }: Setting & { readonly of: 'job' }) {
  return { weight, priority };
}
