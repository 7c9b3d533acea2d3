import { environmentAt } from '@tiered/interpose';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { LineProcess } from '../../tools/processes/line-process.js';
import {
  describeShim,
  makeDataset,
  serve,
  temporaryDirectory,
  type Dataset,
} from '../../packages/interpose/test/helpers.js';
import { daemonOf, line, place } from './processes.js';

const KEYS = ['a', 'b'];
const DAEMON = new URL('programs/daemon.ts', import.meta.url);
/** Answers each line, which is a path, with where that was opened. */
const OPENER =
  'import os, sys\nfor line in sys.stdin:\n  fd = os.open(line.strip(), os.O_RDONLY)\n  print(os.path.realpath(f"/proc/self/fd/{fd}"), flush=True)\n  os.close(fd)';

const daemon = ({ source, tiers: [tier] }: Dataset, at: string): Promise<LineProcess> =>
  line(daemonOf(DAEMON, { source, tier, at }));

/** A program that opens objects. */
async function opener(
  { source, tiers: [tier = ''] }: Dataset,
  at: string,
  environment = environmentAt(at),
): Promise<{ readonly isCopy: (key: string) => Promise<boolean> }> {
  const program = await line({
    command: 'python3',
    arguments: ['-c', OPENER],
    environment,
  });
  return { isCopy: async (key) => (await program.ask(path.join(source, key))).startsWith(`${tier}/`) };
}

/** As if nobody had said anything there since 1970. */
function silence(at: string): void {
  for (const name of [...fs.readdirSync(at), '.']) fs.utimesSync(path.join(at, name), 0, 0);
}

const OF_ANOTHER_USER: [string, string, (file: string) => void] = [
  'a table that is of another user',
  'table',
  (file) => fs.chownSync(file, 65_534, 65_534),
];

describeShim('programs that run', () => {
  it('[I2] open the source once the daemon was silent for 3 seconds, and copies when it goes on', async () => {
    const dataset = makeDataset(KEYS);
    const at = place();
    const first = await daemon(dataset, at);
    const pid = Number(await first.ask('place a'));
    const { isCopy } = await opener(dataset, at);
    expect(await isCopy('a')).toBe(true);
    process.kill(pid, 'SIGSTOP');
    while (await isCopy('a')) continue;
    process.kill(pid, 'SIGCONT');
    while (!(await isCopy('a'))) continue;
    process.kill(pid, 'SIGKILL');
    while (await isCopy('a')) continue;
  });

  it('[I2] open the source once the daemon was closed, which leaves nothing behind', async () => {
    const dataset = makeDataset(KEYS);
    const at = place();
    const interposer = await serve(dataset, { at });
    await interposer.hierarchy.place('a');
    const environment = environmentAt(at);
    const { isCopy } = await opener(dataset, at, environment);
    expect(await isCopy('a')).toBe(true);
    await interposer.close();
    expect(await isCopy('a')).toBe(false);
    expect(await (await opener(dataset, at, environment)).isCopy('a')).toBe(false);
    expect(fs.existsSync(at)).toBe(false);
    expect(interposer.stats().opens).toBe(1);
    await interposer.close();
  });

  it.each<[string, string, (file: string) => void]>([
    ['the table', 'table', (file) => fs.chmodSync(file, 0o620)],
    ['the ring', 'ring', (file) => fs.chmodSync(file, 0o602)],
    // Only root can give a file to somebody else.
    ...(process.getuid?.() === 0 ? [OF_ANOTHER_USER] : []),
  ])('[I5] open the source if others may write %s', async (_, name, change) => {
    const dataset = makeDataset(KEYS);
    const at = place();
    const interposer = await serve(dataset, { at });
    await interposer.hierarchy.place('a');
    expect(await (await opener(dataset, at)).isCopy('a')).toBe(true);
    change(path.join(at, name));
    expect(await (await opener(dataset, at)).isCopy('a')).toBe(false);
  });

  it('find copies of what came to the source meanwhile, also in a larger table', async () => {
    const dataset = makeDataset(KEYS);
    const at = place();
    const interposer = await serve(dataset, { at });
    const { isCopy } = await opener(dataset, at);
    expect(await isCopy('a')).toBe(false);
    // More than a table has room for beside what was there.
    const later = Array.from({ length: 3000 }, (_, i) => `later/${i}`);
    fs.mkdirSync(path.join(dataset.source, 'later'));
    for (const key of later) fs.writeFileSync(path.join(dataset.source, key), key);
    await interposer.rescan();
    const last = later.at(-1) ?? '';
    for (const key of ['a', last]) await interposer.hierarchy.place(key);
    expect([await isCopy('a'), await isCopy(last)]).toEqual([true, true]);
  });
});

describeShim('the place of a daemon', () => {
  it('[I2] [I3] is taken by the next one once it was killed, and programs that run go over to that', async () => {
    const dataset = makeDataset(KEYS);
    const at = place();
    const first = await daemon(dataset, at);
    const pid = await first.ask('place a');
    const { isCopy } = await opener(dataset, at);
    expect([await isCopy('a'), await isCopy('b')]).toEqual([true, false]);
    process.kill(Number(pid), 'SIGKILL');
    await first.close().catch(() => undefined);
    const second = await daemon(dataset, at);
    await second.ask('place b');
    expect([await isCopy('a'), await isCopy('b')]).toEqual([true, true]);
    expect(await second.ask('opens')).toBe('2');
  });

  it('is left to one that was stopped, however long it says nothing', async () => {
    const dataset = makeDataset(KEYS);
    const at = place();
    const first = await daemon(dataset, at);
    const pid = Number(await first.ask('place a'));
    process.kill(pid, 'SIGSTOP');
    silence(at);
    await expect(serve(makeDataset(KEYS), { at })).rejects.toThrow(/^at: a daemon already runs at /);
    process.kill(pid, 'SIGCONT');
    expect(await first.ask('opens')).toBe('0');
  });

  it('is nothing else: what somebody has there stays', async () => {
    const at = place();
    const dataset = makeDataset(KEYS);
    const file = path.join(temporaryDirectory(), 'file');
    fs.writeFileSync(file, '');
    fs.utimesSync(file, 0, 0);
    await expect(serve(dataset, { at: file })).rejects.toThrow(/a path at which there is nothing/);
    // With names that a daemon uses, too.
    for (const name of ['thesis.tex', 'tree/oak', 'ring']) {
      fs.mkdirSync(path.join(at, path.dirname(name)), { recursive: true });
      fs.writeFileSync(path.join(at, name), 'years of work');
      silence(at);
      await expect(serve(dataset, { at })).rejects.toThrow(/a path at which there is nothing/);
      expect(fs.readFileSync(path.join(at, name), 'utf8')).toBe('years of work');
      fs.rmSync(at, { recursive: true });
    }
    const interposer = await serve(dataset, { at });
    expect(environmentAt(at)['TIERED_INTERPOSE']).toBe(at);
    await interposer.close();
    expect(fs.existsSync(at)).toBe(false);
  });
});
