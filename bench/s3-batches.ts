import { readEach, type ReadOutcome, type ReadRequest } from '@tiered/core/driver';
import { S3Driver } from '@tiered/s3-adapter';
import { alternate, median, medianMs, ratio } from './lib/alternate.js';
import { atLeast, type Bench, type BenchOptions, type Check, type Row } from './lib/bench.js';
import { credentials, keyOf, startGateway } from './s3-batches/plan.js';

/** Objects that are read at once. */
const BATCH = 64;
const OBJECTS = 16 * BATCH;
/** Batches that gain less would not be worth their code. */
const WORTH_IT = 1.2;
const TOGETHER = 'in batches';
const SINGLY = 'one by one';

type ReadMany = (driver: S3Driver, requests: readonly ReadRequest[]) => Promise<readonly ReadOutcome[]>;

const WAYS: Readonly<Record<string, ReadMany>> = {
  [TOGETHER]: (driver, requests) => driver.readMany(requests, {}),
  [SINGLY]: (driver, requests) => readEach(driver, requests, {}),
};

const bench: Bench = {
  summary: `S3Driver on a gateway: ${BATCH} objects at once in one request, against a request for each`,
  run: async (options) => {
    const rows: Row[] = [];
    const checks: Check[] = [];
    for (const bytes of [10_000, 100_000]) await measure(bytes, options, rows, checks);
    return { rows, checks };
  },
};

export default bench;

/** Microseconds of CPU, by way and round. */
type Cpu = Record<string, { readonly client: readonly number[]; readonly gateway: readonly number[] }>;

async function measure(
  bytes: number,
  { quick, progress }: BenchOptions,
  rows: Row[],
  checks: Check[],
): Promise<void> {
  const calls = quick ? 2 : 200;
  const name = `${bytes / 1000} KB`;
  await using gateway = await startGateway({ objects: OBJECTS, bytes });
  const { endpoint } = gateway;
  const driver = new S3Driver({ bucket: 'data', endpoint, credentials, proxy: 'none' });
  await driver.open({});
  // The answer says that there are batches.
  await driver.stat(keyOf(0), {});
  const cpu: Cpu = {};
  const setups = Object.entries(WAYS).map(([way, readMany]) => {
    const [client, served]: [number[], number[]] = [[], []];
    cpu[way] = { client, gateway: served };
    const round = async () => {
      const [before, servedBefore] = [process.cpuUsage(), await gateway.cpu()];
      for (let call = 0; call < calls; call++) await readBatch(driver, readMany, call, bytes);
      const { user, system } = process.cpuUsage(before);
      client.push(user + system);
      served.push((await gateway.cpu()) - servedBefore);
    };
    return [way, round] as const;
  });
  const rounds = quick ? 1 : 7;
  const timings = await alternate(Object.fromEntries(setups), rounds, (round) =>
    progress(`${name}: round ${round} of ${rounds}`),
  );
  await driver.close();
  const count = calls * BATCH;
  // The first round of each is not counted, as its time is not.
  const each = (of: readonly number[] = []) => median(of.slice(1)) / count;
  for (const way of Object.keys(WAYS)) {
    rows.push({
      objects: name,
      way,
      'objects/s': (count / medianMs(timings, way)) * 1000,
      'us of CPU an object, client': each(cpu[way]?.client),
      'us of CPU an object, gateway': each(cpu[way]?.gateway),
      'x one by one': ratio(timings, way, SINGLY),
    });
  }
  checks.push(atLeast(`${name}, ${TOGETHER}`, ratio(timings, TOGETHER, SINGLY), WORTH_IT, `x ${SINGLY}`));
}

const memory = new SharedArrayBuffer(BATCH * 100_000);

/** Reads the objects of a call, into the same memory again and again. */
async function readBatch(driver: S3Driver, readMany: ReadMany, call: number, bytes: number): Promise<void> {
  const requests = Array.from({ length: BATCH }, (_, i) => ({
    key: keyOf((call * BATCH + i) % OBJECTS),
    offset: 0,
    target: new Uint8Array(memory, i * bytes, bytes),
  }));
  for (const outcome of await readMany(driver, requests)) {
    if ('error' in outcome) throw outcome.error;
    if (outcome.bytes !== bytes) throw new Error('a read was short');
  }
}
