import { Cluster } from '@tiered/cluster';
import { SqliteRegistry } from '@tiered/cluster/registry';
import { Hierarchy, MemoryDriver, Random, type StorageDriver } from '@tiered/core';
import { MetricsDriver, ThrottleDriver } from '@tiered/core/decorators';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { firstFit, PlacementHandler } from '@tiered/tiering';
import {
  OBJECTS,
  SOURCE_BYTES_PER_SECOND,
  type WorkerAsked,
  type WorkerTask,
  type WorkerTold,
} from './task.js';

/** A worker of a training: reads its share of each epoch when it is told to. */
const { rank, size, source, registry, quota } = JSON.parse(process.argv[2] ?? '') as WorkerTask;

const tell = (told: WorkerTold) => process.send?.(told);

const cluster =
  registry === undefined
    ? undefined
    : await Cluster.join({ registry: new SqliteRegistry({ path: registry }), rank, size });
const slow = new ThrottleDriver(new FileSystemDriver({ root: source }), {
  latencyMs: 5,
  // Its part of what the source gives to all.
  bytesPerSecond: Math.floor(SOURCE_BYTES_PER_SECOND / size),
});
const counted = new MetricsDriver(slow);
const around = (driver: StorageDriver) => cluster?.source(driver) ?? driver;
const hierarchy = new Hierarchy({
  source: around(counted),
  tiers: [{ driver: new MemoryDriver(), quota }],
  placement: new PlacementHandler({ policy: cluster?.policy(firstFit) ?? firstFit }),
});
await hierarchy.open();
await cluster?.serve(hierarchy);
await cluster?.gathered({ timeoutMs: 30_000 });

function figures(): WorkerTold {
  const { read, readInto } = counted.metrics().operations;
  const sourceBytes = (read?.bytes ?? 0) + (readInto?.bytes ?? 0);
  return { sourceBytes, peerBytes: cluster?.stats().peers.bytes ?? 0 };
}

process.on('message', (asked: WorkerAsked) => {
  if (asked === 'end') void end();
  else if (asked === 'figures') tell(figures());
  else void run(asked);
});
tell(figures());

/** Every sample of an epoch is read by one worker, in the order that the seed gives. */
async function run(epoch: number): Promise<void> {
  const own = new Random(1, epoch).permutation(OBJECTS).filter((_, at) => at % size === rank);
  const next = own.values();
  const read = async () => {
    for (const i of next) await hierarchy.read(`o${i}`);
  };
  await Promise.all([read(), read(), read(), read()]);
  await hierarchy.idle();
  tell(figures());
}

async function end(): Promise<void> {
  await hierarchy.close();
  await cluster?.close();
  process.disconnect();
}
