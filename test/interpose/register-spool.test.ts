import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { bucket, KEYS, LEAVES_ALL } from '../../packages/interpose/test/bucket.js';
import { temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { buildRegister, REGISTER } from '../../packages/interpose/test/registered.js';
import { line } from './processes.js';

beforeAll(buildRegister);

it('[I7] a Node program with register reads what no tier takes, and holds nothing longer than it must', async () => {
  const session = path.join(temporaryDirectory(), 'session');
  const { interposer, root, bytesOf } = await bucket({ at: session, policy: LEAVES_ALL, spool: 6000 });
  // Reads everything for each line, in the way that the line names, and lives on.
  const script = `import fs from 'node:fs'; import readline from 'node:readline';
    const names = ${JSON.stringify(KEYS.map((key) => path.join(root, key)))};
    const ways = {
      sync: () => names.map((name) => fs.readFileSync(name).length),
      both: () => Promise.all(names.map(async (name) => (await fs.promises.readFile(name)).length)),
    };
    for await (const way of readline.createInterface(process.stdin)) console.log(JSON.stringify(await ways[way]()));`;
  const program = await line({
    command: process.execPath,
    arguments: ['--import', REGISTER, '--input-type=module', '-e', script],
    environment: { TIERED_INTERPOSE: session },
  });
  const expected = KEYS.map((key) => bytesOf(key).byteLength);
  for (const way of ['sync', 'both']) {
    expect(JSON.parse(await program.ask(way))).toEqual(expected);
    // It would never come to rest if the program, which is still there, held a copy that it has opened.
    await interposer.idle();
    const left = fs
      .readdirSync(path.join(session, 'spool'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile());
    // There is room for one of them.
    expect(left).toHaveLength(1);
  }
});
