import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { SharedLog } from '@tiered/core';
import { Random } from '@tiered/core';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { describe, expect, it, onTestFinished } from 'vitest';
import { childCommand, onLinux, place, temporaryFiles, turn, withCode, type Place } from './helpers.js';

const hour = 60 * 60;

/** The log of a place, closed when the test ends. */
async function openLog({ driver }: Pick<Place, 'driver'>): Promise<SharedLog> {
  const log = await driver.openLog({});
  onTestFinished(() => log.close());
  return log;
}

const pathOf = ({ root }: Place) => path.join(root, '.tiered', 'log');

interface Child {
  readonly process: ChildProcessByStdio<Writable, Readable, null>;
  readonly member: string;
}

/** A process that has the log open. */
async function child({ root }: Place, ...args: readonly number[]): Promise<Child> {
  const [command, all] = childCommand('append-lines.ts', root, ...args.map(String));
  const started = spawn(command, all, { stdio: ['pipe', 'pipe', 'inherit'] });
  onTestFinished(() => void started.kill('SIGKILL'));
  const [member] = (await once(started.stdout, 'data')) as [Buffer];
  return { process: started, member: member.toString().split('\n')[0] ?? '' };
}

async function kill({ process }: Child): Promise<void> {
  process.kill('SIGKILL');
  await once(process, 'exit');
}

describe('the log of a directory', () => {
  it('is read in the same order by every process that appends to it', async () => {
    const there = await place({ writable: true });
    const [each, processes] = [2000, 4];
    const children = await Promise.all(
      Array.from({ length: processes }, () => child(there, each, each * processes)),
    );
    const outputs = children.map((one) => text(one.process.stdout));
    for (const one of children) one.process.stdin.end('go');
    const sequences = (await Promise.all(outputs)).map((output) => JSON.parse(output) as string[]);
    const log = await openLog(there);
    const all = [...log.readNew()];
    expect(all).toHaveLength(each * processes);
    for (const sequence of sequences) expect(sequence).toEqual(all);
    for (const { process } of children) {
      const own = all.filter((line) => line.startsWith(`${process.pid} `));
      expect(own).toEqual(Array.from({ length: each }, (_, i) => `${process.pid} ${i}`));
    }
    const writers = all.map((line) => line.split(' ')[0]);
    const changes = writers.filter((writer, i) => writer !== writers[i + 1]).length;
    expect(changes, 'changes of the process that appends').toBeGreaterThan(processes);
  });

  it('has whole lines only after processes were killed while they appended', async () => {
    const random = new Random(7);
    const there = await place({ writable: true });
    const log = await openLog(there);
    for (let round = 0; round < 3; round++) {
      const writers = await Promise.all([child(there), child(there)]);
      for (let dots = 1 + random.below(4); dots > 0; dots--) await once(writers[0].process.stdout, 'data');
      await Promise.all(writers.map(kill));
      log.append([`round ${round}`]);
      const lines = [...log.readNew()];
      expect(lines.length).toBeGreaterThan(20);
      expect(lines.at(-1)).toBe(`round ${round}`);
      for (const line of lines.slice(0, -1)) expect(line).toMatch(/^(\d+\.\d+) x{5000} \1$/);
    }
  });

  it('leaves out a line that was cut short, and keeps those before and after it', async () => {
    const there = await place({ writable: true });
    const log = await openLog(there);
    for (const { end, atOnce = [], afterwards = [] } of [
      { end: 'cut' },
      { end: 'whole\r\ncut', atOnce: ['whole'] },
      { end: 'cut between its two last characters\r', afterwards: ['cut between its two last characters'] },
    ]) {
      log.append(['before']);
      fs.appendFileSync(pathOf(there), end);
      expect([...log.readNew()]).toEqual(['before', ...atOnce]);
      log.append(['after']);
      expect([...log.readNew()]).toEqual([...afterwards, 'after']);
      const lines = [...(await openLog(there)).readNew()];
      expect(lines).toEqual(['before', ...atOnce, ...afterwards, 'after']);
      log.replace([]);
    }
  });

  it('takes empty lines, lines of any characters, and lines longer than what is read at once', async () => {
    const there = await place({ writable: true });
    const [log, other] = [await openLog(there), await openLog(there)];
    const random = new Random(3);
    const lines = ['', ' ', '\t"€"', '\u2028', ''];
    for (let i = 0; i < 40; i++) lines.push('a€𝄞'.repeat(random.below(40_000)) + String(i));
    lines.push('€'.repeat(1_500_000), 'end');
    log.append(lines.slice(0, 20));
    log.append([]);
    log.append(lines.slice(20));
    expect([...log.readNew()]).toEqual(lines);
    // Given one at a time by somebody who leaves early, none is lost and none comes twice.
    const oneByOne: string[] = [];
    for (let before = -1; before < oneByOne.length;) {
      before = oneByOne.length;
      for (const line of other.readNew()) {
        oneByOne.push(line);
        break;
      }
    }
    expect(oneByOne).toEqual(lines);
  });

  it('gives each line once, also what comes while it is read', async () => {
    const there = await place({ writable: true });
    const [log, other] = [await openLog(there), await openLog(there)];
    log.append(['1', '2']);
    const read: string[] = [];
    for (const line of log.readNew()) {
      read.push(line);
      if (line === '1') other.append(['3']);
    }
    expect([...read, ...log.readNew()]).toEqual(['1', '2', '3']);
    expect([...log.readNew()]).toEqual([]);
    expect([...other.readNew()]).toEqual(['1', '2', '3']);
  });

  it.skipIf(process.platform === 'win32')('is for its owner only, and no object', async () => {
    const there = await place({ writable: true });
    const log = await openLog(there);
    expect(fs.statSync(pathOf(there)).mode & 0o777).toBe(0o600);
    log.replace(['new']);
    expect(fs.statSync(pathOf(there)).mode & 0o777).toBe(0o600);
    for await (const page of there.driver.list({})) expect(page).toEqual([]);
  });

  it('is not followed out of the root if it is a link', async () => {
    const there = await place({ writable: true });
    fs.symlinkSync(path.join(there.outside, 'a'), pathOf(there));
    await expect(there.driver.openLog({})).rejects.toEqual(withCode('TIERED_KEY_INVALID'));
  });

  it('is made again with a root that was emptied', async () => {
    const there = await place({ writable: true });
    fs.rmSync(path.join(there.root, '.tiered'), { recursive: true });
    const log = await openLog(there);
    log.append(['line']);
    expect([...log.readNew()]).toEqual(['line']);
  });

  it('counts as an open file until it is closed, and works no more then', async () => {
    const { driver } = await place({ writable: true });
    const log = await driver.openLog({});
    expect(driver.openFiles).toBe(1);
    log.close();
    log.close();
    expect(driver.openFiles).toBe(0);
    expect(() => log.append(['late'])).toThrow(withCode('TIERED_CLOSED'));
    expect(() => [...log.readNew()]).toThrow(withCode('TIERED_CLOSED'));
    expect(() => log.replace([])).toThrow(withCode('TIERED_CLOSED'));
  });
});

describe('a log that is replaced', () => {
  it('is no longer the current one of others, also in another process, and goes on for whoever replaced it', async () => {
    const there = await place({ writable: true });
    const [log, other] = [await openLog(there), await openLog(there)];
    log.append(['old 1', 'old 2']);
    expect([log.current, other.current]).toEqual([true, true]);
    log.replace(['new 1', 'new 2']);
    expect([log.current, other.current]).toEqual([true, false]);
    expect([...log.readNew()], 'own position is at the end').toEqual([]);
    other.append(['to the old one']);
    const third = await openLog(there);
    third.append(['new 3']);
    expect([...log.readNew()]).toEqual(['new 3']);
    expect([...third.readNew()]).toEqual(['new 1', 'new 2', 'new 3']);
    expect([...other.readNew()]).toEqual(['old 1', 'old 2', 'to the old one']);
    expect(await temporaryFiles(there.root)).toEqual([]);
  });

  it('is not current either once it was removed', async () => {
    const there = await place({ writable: true });
    const log = await openLog(there);
    fs.rmSync(pathOf(there));
    expect(log.current).toBe(false);
  });

  it('is as it was if the new lines fail', async () => {
    const there = await place({ writable: true });
    const log = await openLog(there);
    log.append(['old']);
    const failing = function* () {
      yield 'x'.repeat(2_000_000);
      throw new Error('no more');
    };
    expect(() => log.replace(failing())).toThrow('no more');
    expect(log.current).toBe(true);
    log.append(['newer']);
    expect([...log.readNew()]).toEqual(['old', 'newer']);
    expect(await temporaryFiles(there.root)).toEqual([]);
  });

  it('holds as many lines as come', async () => {
    const there = await place({ writable: true });
    const log = await openLog(there);
    const many = Array.from({ length: 100_000 }, (_, i) => `${i} ${'y'.repeat(i % 40)}`);
    log.replace(many);
    log.append(['last']);
    expect([...(await openLog(there)).readNew()]).toEqual([...many, 'last']);
  });
});

describe('members of a log', () => {
  it('are alive as long as they have it open in this process', async () => {
    const there = await place({ writable: true });
    const log = await openLog(there);
    const other = await there.driver.openLog({});
    expect(other.member).not.toBe(log.member);
    expect([log.isAlive(log.member), log.isAlive(other.member)]).toEqual([true, true]);
    other.close();
    expect([log.isAlive(log.member), log.isAlive(other.member)]).toEqual([true, false]);
  });

  it('are alive until their process is killed', async () => {
    const there = await place({ writable: true });
    const log = await openLog(there);
    const one = await child(there, 1, 1);
    expect(log.isAlive(one.member)).toBe(true);
    await kill(one);
    expect(log.isAlive(one.member)).toBe(false);
  });

  it.skipIf(onLinux.skip)(
    'are dead if another process has their number, or none has asked for their end',
    async () => {
      const there = await place({ writable: true });
      const log = await openLog(there);
      const [host, pid, started, ...rest] = log.member.split('.');
      expect(log.isAlive([host, pid, Number(started) - 1, ...rest].join('.'))).toBe(false);
      // A process that ends when its parent has become another program, which does not know of it.
      const script = 'cat <&3 & echo $!; exec 3<&-; exec cat';
      const parent = spawn('sh', ['-c', script], { stdio: ['pipe', 'pipe', 'inherit', 'pipe'] });
      onTestFinished(() => void parent.kill('SIGKILL'));
      const [input, output, , held] = parent.stdio as unknown as [Writable, Readable, null, Writable];
      const [said] = (await once(output, 'data')) as [Buffer];
      input.write('is cat now');
      await once(output, 'data');
      held.end();
      const statOfChild = () => fs.readFileSync(`/proc/${Number(said)}/stat`, 'utf8').split(' ');
      while (statOfChild()[2] !== 'Z') await turn();
      expect(log.isAlive([host, Number(said), statOfChild()[21], ...rest].join('.'))).toBe(false);
    },
  );

  it('of other hosts are alive, unless nobody had touched the log for a day', async () => {
    const there = await place({ writable: true });
    const elsewhere = 'not-this-machine.1.1.1.x';
    const first = await openLog(there);
    expect(first.isAlive(elsewhere)).toBe(true);
    const { mtimeMs } = fs.statSync(pathOf(there));
    for (const [hours, alive] of [
      [23, true],
      [25, false],
    ] as const) {
      fs.utimesSync(pathOf(there), mtimeMs / 1000, mtimeMs / 1000 - hours * hour);
      const log = await openLog(there);
      log.append(['touched']);
      expect(log.isAlive(elsewhere), `after ${hours} hours`).toBe(alive);
      expect(first.isAlive(elsewhere), 'for one that had it open').toBe(true);
    }
    expect(await temporaryFiles(there.root)).toEqual([]);
  });

  it('of no form that is known are taken to be alive', async () => {
    const there = await place({ writable: true });
    const log = await openLog(there);
    for (const member of ['', 'x', '1.2.3', log.member.split('.').slice(0, 1).join('.')])
      expect(log.isAlive(member), member).toBe(true);
  });
});

it('a driver for reading only has no log', async () => {
  const { driver } = await place();
  expect(driver.capabilities.log).toBe(false);
  await expect(driver.openLog({})).rejects.toEqual(withCode('TIERED_UNSUPPORTED'));
});

it('two drivers on one directory share its log', async () => {
  const there = await place({ writable: true });
  const neighbour = new FileSystemDriver({ root: there.root, writable: true });
  await neighbour.open({});
  const log = await openLog(there);
  const theirs = await neighbour.openLog({});
  theirs.append(['theirs']);
  log.append(['ours']);
  expect([...log.readNew()]).toEqual(['theirs', 'ours']);
  theirs.close();
  await neighbour.close();
});
