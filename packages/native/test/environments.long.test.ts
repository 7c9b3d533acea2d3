import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { Random, systemClock } from '@tiered/core';
import { expect, it } from 'vitest';
import { native } from '../src/index.js';
import { binding } from '../src/load.js';
import { describeNative, outcomesOf, readOf, temporaryDirectory, threadsOn, until } from './helpers.js';

const FILES = 30;
const SIZE = 200_000;

/** What a worker thread or a process is told. */
interface Task {
  readonly addon: string;
  readonly root: string;
  readonly mayHang: boolean;
  /** Whether it reads on and on; else a batch of each kind. */
  readonly forEver: boolean;
}

/**
 * JavaScript that reads and writes through the bare functions, because a worker thread of sources would take
 * a second to start.
 */
const PROGRAM = `
  const ABORTED = -10004, COUNT = ${FILES}, SIZE = ${SIZE};
  const begin = (task, told) => {
    const io = require(task.addon);
    const shared = new Uint8Array(new SharedArrayBuffer(COUNT * SIZE));
    const texts = Array.from({ length: COUNT }, (_, i) => String(i)).join('\\0');
    let job = 0, over = 0;
    const pool = io.open(task.root, 6, task.mayHang, 10000, (id, done, isOver) => {
      if (!isOver) return;
      if (task.forEver) again(); else if (++over === 3) told();
    });
    const again = () => {
      const id = job++;
      if (id % 3 === 2) {
        const keep = [new Float64Array(2), new BigUint64Array(100), shared.subarray(0, SIZE)];
        return io.writeFile(pool, id, 'tmp-' + process.pid + '-' + io.thread + '-' + id + '\\0written', new Float64Array([0o600, 0, 0, 65536]), keep, false);
      }
      const memory = id % 3 === 0 ? shared : new Uint8Array(COUNT * SIZE);
      const numbers = Float64Array.from({ length: 5 * COUNT }, (_, i) => [0, Math.floor(i / 5) * SIZE, SIZE, 0, 0][i % 5]);
      io.readFiles(pool, id, texts, COUNT, numbers, [new Float64Array(2 * COUNT + 1).fill(ABORTED), memory], id % 2 === 0, false);
    };
    for (let i = 0; i < 3; i++) again();
  };`;

const WORKER = `${PROGRAM}
  const { parentPort, threadId, workerData } = require('node:worker_threads');
  require(workerData.addon).thread = threadId;
  begin(workerData, () => undefined);
  parentPort.on('message', () => undefined);
  parentPort.postMessage('going');`;

function taskOn(root: string, options: Partial<Task>): Task {
  const state = native();
  return { addon: state.available ? state.from : '', root, mayHang: false, forEver: true, ...options };
}

function withFiles(): string {
  const root = temporaryDirectory();
  for (let i = 0; i < FILES; i++) fs.writeFileSync(path.join(root, `${i}`), Buffer.alloc(SIZE, i));
  return root;
}

/**
 * How a shell starts a program with what was to be loaded before it, which shells themselves may not bear.
 */
const START = 'exec env LD_PRELOAD="$PRELOAD" "$@"';

/** Runs a program with a task, started by a command of the shell; resolves to what it printed. */
async function output(task: Task, program: string, command = START): Promise<string> {
  const script = `${PROGRAM} const task = ${JSON.stringify(task)}; ${program}`;
  const { LD_PRELOAD: PRELOAD = '', ...env } = process.env;
  const { stdout } = await promisify(execFile)('sh', ['-c', command, 'sh', process.execPath, '-e', script], {
    env: { ...env, PRELOAD },
  });
  return stdout;
}

/** A command that runs another without openat2; undefined where strace does not work. */
function withoutOpenat2(): string | undefined {
  const options = '-f -qqq -o /dev/null -e trace=openat2 -e inject=openat2:error=ENOSYS';
  const command = START.replace('exec', `exec strace ${options}`);
  try {
    execFileSync('sh', ['-c', command, 'sh', 'true'], {
      stdio: 'ignore',
      env: { ...process.env, LD_PRELOAD: '' },
    });
    return command;
  } catch {
    return undefined;
  }
}

const WITHOUT_OPENAT2 = withoutOpenat2();

describeNative('an environment', () => {
  it.each([
    [false, 1],
    [false, 2],
    [true, 3],
  ])('that is terminated in mid-call takes nothing with it (mayHang %s, seed %d)', async (mayHang, seed) => {
    const random = new Random(seed);
    const root = withFiles();
    const io = threadsOn(root);
    const before = binding().live();
    for (let round = 0; round < 5; round++) {
      const workers = Array.from(
        { length: 3 },
        () => new Worker(WORKER, { eval: true, workerData: taskOn(root, { mayHang }), execArgv: [] }),
      );
      await Promise.all(workers.map((worker) => once(worker, 'message')));
      // This environment goes on meanwhile.
      expect(await outcomesOf(io, [readOf('3', SIZE)])).toEqual([SIZE]);
      for (let turns = random.below(30); turns > 0; turns--) await systemClock.turn();
      await Promise.all(workers.map((worker) => worker.terminate()));
    }
    expect(await outcomesOf(io, [readOf('4', SIZE), readOf('x')])).toEqual([SIZE, 'ENOENT']);
    await io.close();
    await until(() => binding().live() <= before - 1);
    expect(fs.readdirSync(root).filter((name) => name.startsWith('tmp-'))).toEqual([]);
  });

  it('keeps its process while something is under way, and not afterwards', async () => {
    const task = taskOn(withFiles(), { forEver: false });
    expect(await output(task, `begin(task, () => console.log('done'));`)).toBe('done\n');
  });

  it('of a process that ends in mid-call lets it end', async () => {
    const root = withFiles();
    for (const mayHang of [false, true]) {
      const task = taskOn(root, { mayHang });
      for (const end of [
        'process.exit(0)',
        'setImmediate(() => process.exit(0))',
        'setTimeout(() => process.exit(0), 9)',
      ])
        expect(await output(task, `begin(task); begin(task); ${end};`)).toBe('');
    }
  });

  it('has its writes fail at the step write where files may not be so large', async () => {
    const root = withFiles();
    const program = `
      const io = require(task.addon), result = new Float64Array(2);
      const part = new Uint8Array(new SharedArrayBuffer(100000));
      const pool = io.open(task.root, 1, false, 1000, () => console.log(...result));
      io.writeFile(pool, 0, 'tmp\\0to', new Float64Array([384, 1, 0, 0]), [result, new BigUint64Array(0), part], false);`;
    // EFBIG, step 2; the signal that comes with it is for no thread of ours.
    expect(await output(taskOn(root, {}), program, `ulimit -f 1; ${START}`)).toBe('-27 2\n');
    expect(fs.readdirSync(root)).not.toContain('tmp');
  });

  it.skipIf(WITHOUT_OPENAT2 === undefined && process.env['CI'] !== 'true')(
    'is as good where the kernel has no openat2 (needs strace)',
    async () => {
      const root = withFiles();
      fs.symlinkSync('/etc/hostname', path.join(root, 'out'));
      fs.symlinkSync('1', path.join(root, 'in'));
      const program = `
        const io = require(task.addon), result = new Float64Array(9);
        const memory = new Uint8Array(new SharedArrayBuffer(8));
        const pool = io.open(task.root, 1, false, 1000, () => console.log(...result.subarray(0, 4)));
        const numbers = new Float64Array(20).map((_, i) => [0, 0, 8, 0, 0][i % 5]);
        io.readFiles(pool, 0, '1\\0in\\0out\\0none', 4, numbers, [result, memory], false, false);`;
      expect(await output(taskOn(root, {}), program)).toBe('8 8 -10002 -2\n');
      expect(await output(taskOn(root, {}), program, WITHOUT_OPENAT2)).toBe('8 8 -10002 -2\n');
    },
  );
});
