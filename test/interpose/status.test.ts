import { ManualClock } from '@tiered/core/testing';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import {
  describeShim,
  makeDataset,
  run,
  serve,
  temporaryDirectory,
} from '../../packages/interpose/test/helpers.js';
import { showStatus } from '../../packages/tiered/src/cli/shared/watched.js';
import { textOf } from '../../packages/tiered/test/cli/text-of.js';
import { KEYS, tieredIn } from './tiered.js';

describeShim('tiered run', () => {
  it('is watched by tiered top while it runs', async () => {
    const { source } = makeDataset(KEYS);
    const env = { XDG_RUNTIME_DIR: temporaryDirectory() };
    const script = 'cat "$TIERED_ROOT"/Set/* | cksum; echo ready; read line';
    const running = tieredIn(env, 'run', source, '--tier', 'ram:8MiB', '--', 'sh', '-c', script);
    await running.says('ready');
    const top = tieredIn(env, 'top', '--count', '1');
    expect(await top.ended).toBe(0);
    expect(top.out()).toMatch(/watched for \d+ s: 0 % of 8 files opened on tiers, 0 B of 39.1 KiB \(0 %\)\n/);
    const json = tieredIn(env, 'top', '--count', '1', '--json');
    expect(await json.ended).toBe(0);
    const [watched] = JSON.parse(json.out()) as { look: { programs: unknown } }[];
    const bytes = { sourceBytes: 40_028, copyBytes: 0 };
    expect(watched?.look.programs).toEqual({ root: source, opens: 8, redirected: 0, epoch: 0, ...bytes });
    const text = tieredIn(env, 'top', '--count', '1');
    expect(await text.ended).toBe(0);
    // What programs read on tiers, and in the source, is in the first line: the daemon does not see it.
    expect(text.out()).toMatch(
      /: 0 % of 8 files opened on tiers, .*\n {2}tier 0, fs:.* of 8 MiB \(\d+ %\)\n/,
    );
    expect(text.out()).toMatch(/^ {2}source, fs:.* so far by the daemon$/m);
    running.process.stdin?.end('\n');
    expect(await running.ended).toBe(0);
    const gone = tieredIn(env, 'top', '--count', '1');
    expect([await gone.ended, gone.messages()]).toEqual([
      1,
      expect.stringContaining('No process offers a socket'),
    ]);
  });

  it('has a line of status on a terminal every 30 seconds, while files are opened', async () => {
    const dataset = makeDataset(KEYS);
    const interposer = await serve(dataset);
    const read = () =>
      run(
        interposer,
        'cat',
        KEYS.map((key) => path.join(dataset.source, key)),
      );
    const clock = new ManualClock();
    const terminal = Object.assign(new PassThrough(), { isTTY: true });
    const ended = new AbortController();
    const shown = showStatus({ terminal, clock }, interposer, ended.signal);
    await clock.advance(31_000);
    await read();
    await clock.advance(30_000);
    expect(textOf(terminal)).toBe('tiered: 0 % of 8 files opened on tiers, 0 B of 39.1 KiB (0 %)\n');
    await interposer.idle();
    await read();
    await clock.advance(60_000);
    expect(textOf(terminal)).toBe(
      'tiered: epoch 2, 100 % of 8 files opened on tiers, 39.1 KiB of 39.1 KiB (100 %)\n',
    );
    ended.abort();
    await shown;
    const nowhere = Object.assign(new PassThrough(), { isTTY: false });
    await showStatus({ terminal: nowhere, clock }, interposer, ended.signal);
    expect(textOf(nowhere)).toBe('');
  });

  it('says why nothing was opened', async () => {
    const { source } = makeDataset(KEYS);
    const running = tieredIn({}, 'run', source, '--tier', 'ram:8MiB', '--', 'true');
    expect(await running.ended).toBe(0);
    expect(running.messages()).toContain(`None of the 8 files below ${source} was opened for reading.\n`);
    expect(running.messages()).toContain('- The shim was loaded. Does the program read another path?');
    const empty = temporaryDirectory();
    const none = tieredIn({}, 'run', empty, '--tier', 'ram:8MiB', '--', 'true');
    expect([await none.ended, none.messages()]).toEqual([
      0,
      `No file was opened below ${empty}: the source has none.\n`,
    ]);
  });
});
