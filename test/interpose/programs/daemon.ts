/*
 * A daemon in a process of its own, which can be killed. Its argument says as JSON what it serves. Answers
 * each line: `place KEY` when the object has a copy, `rescan` when the source was listed again, `opens` with
 * how many files programs have opened.
 */
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { Interposer } from '@tiered/interpose';
import readline from 'node:readline';

const { source, tier, at } = JSON.parse(process.argv[2] ?? '') as Record<'source' | 'tier' | 'at', string>;

const interposer = await Interposer.open({
  hierarchy: {
    source: new FileSystemDriver({ root: source }),
    tiers: [{ driver: new FileSystemDriver({ root: tier, writable: true }), quota: '1GiB' }],
    placement: new PlacementHandler(),
  },
  at,
});

for await (const line of readline.createInterface(process.stdin)) {
  const [question, key = ''] = line.split(' ');
  if (question === 'place') await interposer.hierarchy.place(key);
  if (question === 'rescan') await interposer.rescan();
  await interposer.idle();
  console.log(question === 'opens' ? interposer.stats().opens : process.pid);
}
await interposer.close();
