import type { Interposer } from '@tiered/interpose';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INSTALL } from '../../../tools/frameworks/environments.js';
import { LineProcess } from '../../../tools/processes/line-process.js';
import {
  type Finally,
  opensOf,
  serve,
  temporaryDirectory,
} from '../../../packages/interpose/test/helpers.js';

/** A script of this directory, and what its interpreter has to have. */
export interface Framework {
  readonly name: string;
  readonly script: string;
  /** The interpreter; undefined if the environment is not there. */
  readonly python: string | undefined;
  /** The ways to read that the script knows, and how many files are opened when it reads so once. */
  readonly ways: Readonly<Record<string, number>>;
}

interface Running {
  readonly interposer: Interposer;
  readonly plain: LineProcess;
  readonly under: LineProcess;
}

/** Tests that a framework reads the same with and without the shim, first the source and then copies. */
export function describeFramework({ name, script, python, ways }: Framework): void {
  describe.skipIf(python === undefined && process.env['CI'] !== 'true')(`${name} (needs ${INSTALL})`, () => {
    const closers: (() => void | Promise<void>)[] = [];
    let running: Running;

    beforeAll(async () => {
      if (python === undefined) throw new Error(`It is not installed: ${INSTALL}`);
      running = await start(python, script, (closer) => closers.push(closer));
    });
    afterAll(async () => {
      for (const close of closers.reverse()) await close();
    });

    it.each(Object.entries(ways))('[I1] reads the same from copies: %s', async (way, opens) => {
      const { interposer, plain, under } = running;
      const expected = await plain.ask(way);
      const first = await opensOf(interposer, () => under.ask(way));
      expect(first.result).toBe(expected);
      // What is opened several times may have a copy already the second time.
      expect(first.source + first.copies).toBe(opens);
      await interposer.idle();
      for (let epoch = 0; epoch < 2; epoch++) {
        const later = await opensOf(interposer, () => under.ask(way));
        expect(later).toEqual({ result: expected, source: 0, copies: opens });
      }
    });
  });
}

/** Makes the files of a script, and has two processes read them: one as it is, and one under the shim. */
async function start(python: string, name: string, atEnd: Finally): Promise<Running> {
  const script = path.join(import.meta.dirname, name);
  const above = temporaryDirectory(atEnd);
  const [source, tier, home] = ['source', 'tier', 'home'].map((one) => path.join(above, one)) as [
    string,
    string,
    string,
  ];
  for (const directory of [source, home]) fs.mkdirSync(directory);
  // What frameworks keep in the home directory would outlive the test.
  const environment = { HOME: home, TF_CPP_MIN_LOG_LEVEL: '3', PYTHONDONTWRITEBYTECODE: '1' };
  await promisify(execFile)(python, [script, 'make', source], { env: { ...process.env, ...environment } });
  const interposer = await serve({ source, tiers: [tier] }, {}, atEnd);
  const command = { command: python, arguments: [script, 'read', source] };
  const plain = await LineProcess.start({ ...command, environment });
  atEnd(() => plain.close());
  const under = await LineProcess.start({ ...command, environment: interposer.environment(environment) });
  atEnd(() => under.close());
  return { interposer, plain, under };
}
