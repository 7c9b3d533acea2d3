import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { bucket, KEYS, LEAVES_ALL } from '../../packages/interpose/test/bucket.js';
import { describeShim } from '../../packages/interpose/test/helpers.js';
import { line } from './processes.js';

describeShim('a Node program below a root that is not there', () => {
  it('[I7] reads what no tier takes, and holds nothing longer than it must', async () => {
    const { interposer, root, bytesOf } = await bucket({ policy: LEAVES_ALL, spool: 6000 });
    // Reads everything for each line, in the way that the line names, and lives on.
    const script = `import fs from 'node:fs'; import readline from 'node:readline';
      const names = ${JSON.stringify(KEYS.map((key) => path.join(root, key)))};
      const ways = {
        sync: () => names.map((name) => fs.readFileSync(name).length),
        both: () => Promise.all(names.map(async (name) => (await fs.promises.readFile(name)).length)),
      };
      for await (const way of readline.createInterface(process.stdin)) console.log(JSON.stringify(await ways[way]()));`;
    const environment = interposer.environment();
    const args = ['--input-type=module', '-e', script];
    const program = await line({ command: process.execPath, arguments: args, environment });
    for (const way of ['sync', 'both']) {
      expect(JSON.parse(await program.ask(way))).toEqual(KEYS.map((key) => bytesOf(key).byteLength));
      // It would never come to rest if the program, which is still there, held a copy that it has opened.
      await interposer.idle();
      const spool = path.join(environment['TIERED_INTERPOSE'] ?? '', 'spool');
      const left = fs.readdirSync(spool, { recursive: true, withFileTypes: true });
      // There is room for one of them.
      expect(left.filter((entry) => entry.isFile())).toHaveLength(1);
    }
  });
});
