/*
 * Serves a directory to programs, in a process of its own, as `tiered daemon` does: what measures programs
 * must not be busy with what they say. Its argument is what to serve, as JSON. Answers each line, which is a
 * question as JSON, with a line.
 */
import { Interposer, keysOf, readTrace } from '@tiered/interpose';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { firstFit, PlacementHandler, type PlacementPolicy } from '@tiered/tiering';
import readline from 'node:readline';
import type { DaemonQuestion, ServedDirectory } from './daemon-process.js';

const served = JSON.parse(process.argv[2] ?? '') as ServedDirectory;
const { source, tier, quota = '1GiB', leaves, record, replay } = served;

const policy: PlacementPolicy = {
  name: 'firstFitOfSome',
  place: (object, tiers) =>
    leaves !== undefined && object.key.startsWith(leaves) ? undefined : firstFit.place(object, tiers),
};

const interposer = await Interposer.open({
  hierarchy: {
    source: new FileSystemDriver({ root: source }),
    tiers: [{ driver: new FileSystemDriver({ root: tier, writable: true }), quota }],
    placement: new PlacementHandler({ policy }),
  },
  record,
  plan: replay === undefined ? undefined : keysOf(readTrace(replay)),
});

async function answer(question: DaemonQuestion): Promise<unknown> {
  if (question.ask === 'environment') return interposer.environment({});
  if (question.ask === 'place') for (const key of question.keys) await interposer.hierarchy.place(key);
  await interposer.idle();
  return interposer.stats().hierarchy.placement.placed;
}

for await (const line of readline.createInterface(process.stdin))
  console.log(JSON.stringify(await answer(JSON.parse(line) as DaemonQuestion)));
await interposer.close();
