/**
 * Looks for tables that a program would not survive: `npm run fuzz -w @tiered/interpose [-- SECONDS]`, 60
 * by default. Needs clang with libFuzzer; `CLANG` names it. What was found interesting is kept in
 * build/fuzz/corpus, and the next run begins with it. A finding is printed, its input is a file in
 * build/fuzz, and the exit code is 1. With 0 seconds it makes the program and the first tables, as AFL++
 * needs them: `CLANG=afl-clang-fast`, then `afl-fuzz -i corpus -o afl -- ./fuzz` in build/fuzz.
 */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { TableWriter } from '../src/table/writer.js';
import { compile } from './compile.js';

const INSTALL = 'apt-get install clang-14 libclang-rt-14-dev';
const FLAGS = ['-O1', '-g', '-fsanitize=fuzzer,address,undefined', '-fno-sanitize-recover=undefined'];
const MOST_BYTES = 16_384;
const KEYS = ['Train/Image 1.JPG', 'a', '.tiered', 'é/%/^', 'x'.repeat(255)];
const PATHS = ['Train/Image 1.JPG', 'a/../b', './', '/', '/nvme/a/x@00000001', '/data/..'];

const directory = path.join(import.meta.dirname, '../build/fuzz');
const corpus = path.join(directory, 'corpus');
const seconds = Number(process.argv[2] ?? '60');

/** Of those that Debian and Ubuntu have, the first that is installed. */
function clang(): string | undefined {
  const names = [process.env['CLANG'], 'clang', ...[21, 20, 19, 18, 17, 16, 15, 14].map((n) => `clang-${n}`)];
  return names.find((name) => name !== undefined && spawnSync(name, ['--version']).status === 0);
}

/** A text behind a byte with its length. */
const textOf = (text: string) => Buffer.from([Buffer.byteLength(text), ...Buffer.from(text)]);

/** Tables as a daemon makes them. */
async function writeSeeds(): Promise<void> {
  fs.mkdirSync(corpus, { recursive: true });
  const tiers = ['/nvme/a', '/dev/shm/b'];
  for (const [i, key] of KEYS.entries()) {
    const file = path.join(directory, 'table');
    const roots = ['/data/set', ...(i % 2 === 0 ? [] : ['/other'])];
    const options = { path: file, roots, tiers: tiers.slice(i % 3), isImaginary: i === 3, entries: i };
    const table = await TableWriter.create(options);
    for (const one of KEYS.slice(0, i))
      table.setPlace(table.add(one, 100), { level: i % 2, tag: 1_000_003 * i });
    table.publish();
    const seed = [textOf(key), textOf(PATHS[i] ?? ''), fs.readFileSync(file)];
    fs.writeFileSync(path.join(corpus, `seed-${i}`), Buffer.concat(seed));
    table.close();
    fs.rmSync(file);
  }
}

const compiler = clang();
if (compiler === undefined) throw new Error(`There is no clang, which brings libFuzzer: ${INSTALL}`);
const program = await compile({ program: 'test/fuzz.c', name: 'fuzz', compiler: [compiler], flags: FLAGS });
await writeSeeds();
if (seconds > 0) {
  const limits = [
    `-max_total_time=${seconds}`,
    `-max_len=${MOST_BYTES}`,
    '-timeout=10',
    '-rss_limit_mb=2048',
  ];
  const report = ['-print_final_stats=1', '-artifact_prefix=./'];
  const { status } = spawnSync(program, [corpus, ...limits, ...report], { cwd: directory, stdio: 'inherit' });
  process.exitCode = status === 0 ? 0 : 1;
}
