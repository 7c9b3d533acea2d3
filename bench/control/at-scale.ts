import { MemoryRecords, MemoryRegistry, type RegistryEntry } from '@tiered/cluster/registry';
import { Control, decide, look } from '@tiered/control';
import { MemoryDriver, Random, systemClock } from '@tiered/core';
import { ManualClock, ticked } from '@tiered/core/testing';
import { median } from '../lib/alternate.js';
import type { Row } from '../lib/bench.js';
import { SOURCE_NAME } from './cases.js';

const STAGES_OF_A_JOB = 8;
/** Simulated, of one stage among all. */
const SECONDS = 120;
/** Before that, so that everything has been compiled that is to be. */
const WARM_SECONDS = 60;
const SEED = 1;

/**
 * What one stage costs among so many: it runs, on a clock that is moved by hand, and the others are records
 * that were made for it.
 */
export async function atScale(stages: number): Promise<Row> {
  const clock = new ManualClock(ticked);
  const records = new MemoryRecords(clock);
  const registry = new CountingRegistry(records);
  registry.others = Array.from({ length: stages - 1 }, (_, number) => recordOf(number));
  await using control = await clock.run(Control.join({ registry, job: 'job', clock }));
  control.source(new MemoryDriver(), { name: SOURCE_NAME, budget: { bytesPerSecond: 150e6 } });
  await clock.advance(WARM_SECONDS * 1000);
  const before = process.cpuUsage();
  const [puts, looks] = [registry.puts, registry.looks];
  await clock.advance(SECONDS * 1000);
  const { user, system } = process.cpuUsage(before);
  const [putsEach, looksEach] = [(registry.puts - puts) / SECONDS, (registry.looks - looks) / SECONDS];
  const { stages: seen } = control.view().seen;
  return {
    stages,
    'seen by one': seen.length,
    'ms of a look': await msOf(() => look(registry)),
    'ms of a decision': await msOf(async () => decide(seen, undefined)),
    's between looks': 1 / looksEach,
    'puts/s of all': Math.round(putsEach * stages),
    'records read/s of all': Math.round(looksEach * stages * stages),
    'bytes of a record': Buffer.byteLength(JSON.stringify(registry.others[0]?.record ?? {})),
    'CPU ms/s of one stage': (user + system) / 1000 / SECONDS,
  };
}

/** Looks of one stage, among records that nobody puts. */
class CountingRegistry extends MemoryRegistry {
  others: RegistryEntry[] = [];
  puts = 0;
  looks = 0;

  override put(...call: Parameters<MemoryRegistry['put']>): Promise<boolean> {
    this.puts += 1;
    return super.put(...call);
  }

  override async all(...call: Parameters<MemoryRegistry['all']>): Promise<readonly RegistryEntry[]> {
    this.looks += 1;
    return [...this.others, ...(await super.all(...call))];
  }
}

/** Some stages are bound by compute, and others want everything. */
function recordOf(number: number): RegistryEntry {
  const random = new Random(SEED, number);
  const used = { bytes: random.below(20e6), operations: random.below(200) };
  const isBound = random.below(2) === 0;
  const record = {
    v: 1,
    kind: 'stage',
    job: `job-${Math.floor(number / STAGES_OF_A_JOB)}`,
    node: `node-${number % STAGES_OF_A_JOB}`,
    terms: { weight: 1 + random.below(4) },
    sources: { [SOURCE_NAME]: { used, wanted: isBound ? used : {}, waits: 0, budget: { bytes: 150e6 } } },
    stall: 0,
    memory: { used: 16e6, most: 256e6 },
    producers: { used: 8, most: 64 },
    tiers: { ram: { used: 0, most: 1e9 } },
  };
  return { slot: `stage.${number}`, owner: `${number}`, record };
}

/** Of five times, the one in the middle. */
async function msOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < 5; round++) {
    const begun = systemClock.now();
    await work();
    times.push(systemClock.now() - begun);
  }
  return median(times);
}
