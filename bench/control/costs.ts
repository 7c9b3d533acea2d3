import { MemoryRecords, MemoryRegistry } from '@tiered/cluster/registry';
import { Control } from '@tiered/control';
import { MemoryDriver, systemClock, type StorageDriver } from '@tiered/core';
import { alternate, medianMs } from '../lib/alternate.js';
import type { Row } from '../lib/bench.js';
import { CONTROL, SOURCE_NAME, WITHOUT, type Sharing } from './cases.js';
import { begin, between, type Machine } from './measuring.js';

/** Requests of a stage in a second, if 8 share a source of 150 MB/s in samples of 100 KB. */
const REQUESTS = 1500 / 8;

/** Processor time of each of so many stages that read nothing, for their records. */
export async function recordsRow(machine: Machine, stages: number, seconds: number): Promise<Row> {
  const idle = async (sharing: Sharing) => {
    const running = await begin(machine, { name: 'idle', jobs: [] }, sharing);
    for (let number = 0; number < stages; number++) await running.open({ producers: 8 }, number);
    await systemClock.sleep(1000);
    const before = await running.counts();
    await systemClock.sleep(seconds * 1000);
    const { cpuMs } = between(before, await running.counts());
    await running.end();
    return cpuMs.reduce((sum, ms) => sum + ms, 0) / stages;
  };
  const [without, withControl] = [await idle(WITHOUT), await idle(CONTROL)];
  return {
    'processor time of a stage': `records, ${stages} stages, SQLite`,
    'us a request': [],
    'ms/s': withControl - without,
  };
}

const READS = 20_000;
const AT_ONCE = 16;

/** Processor time for requests that pass the share, on storage that takes no time. */
export async function pacingRows(rounds: number): Promise<Row[]> {
  const memory = new MemoryDriver();
  await memory.open({});
  await memory.write('key', new Uint8Array(1), { size: 1 });
  await using control = await Control.join({
    registry: new MemoryRegistry(new MemoryRecords(systemClock)),
    job: 'job',
  });
  const unbounded = control.source(memory, { name: `${SOURCE_NAME}-2` });
  const bounded = control.source(memory, { name: SOURCE_NAME, budget: { bytesPerSecond: 1e12 } });
  const timings = await alternate(
    { bare: () => readAll(memory), unbounded: () => readAll(unbounded), bounded: () => readAll(bounded) },
    rounds,
    () => undefined,
  );
  const usOf = (setup: string) => (1000 * (medianMs(timings, setup) - medianMs(timings, 'bare'))) / READS;
  return [
    ['pacing, no bound', usOf('unbounded')] as const,
    ['pacing, below the share', usOf('bounded')] as const,
    ['pacing, each request waits', await waitingUs(control, memory)] as const,
  ].map(([what, us]) => ({
    'processor time of a stage': what,
    'us a request': us,
    'ms/s': (us * REQUESTS) / 1000,
  }));
}

/** Of requests that wait for a share of 5,000 in a second, against those that do not wait. */
async function waitingUs(control: Control, memory: StorageDriver): Promise<number> {
  const reads = 5000;
  const waiting = control.source(memory, {
    name: `${SOURCE_NAME}-3`,
    budget: { operationsPerSecond: reads },
  });
  const cpuUs = async (driver: StorageDriver) => {
    const before = process.cpuUsage();
    await readAll(driver, reads);
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
  await readAll(waiting, reads / 5);
  return ((await cpuUs(waiting)) - (await cpuUs(memory))) / reads;
}

async function readAll(driver: StorageDriver, reads = READS): Promise<void> {
  let left = reads;
  const reader = async () => {
    const target = new Uint8Array(1);
    while (left-- > 0) await driver.readInto('key', target, { offset: 0 });
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
}
