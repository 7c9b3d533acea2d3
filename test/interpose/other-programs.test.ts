import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Interposer } from '@tiered/interpose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  describeShim,
  makeDataset,
  opensOf,
  serve,
  temporaryDirectory,
  type Dataset,
  type Finally,
} from '../../packages/interpose/test/helpers.js';
import { compiled, describeWith, INSTALL_CC, SOURCES } from './compilers.js';

const KEYS = ['a.bin', 'deep/é 1.bin'];
/** Of another user, who may do nothing. */
const NOBODY = ['setpriv', '--reuid=65534', '--clear-groups'] as const;
const TIMEOUT_TO_COMPILE = 300_000;

const execute = async ([file = '', ...args]: readonly string[], env: NodeJS.ProcessEnv = process.env) =>
  promisify(execFile)(file, args, { env, encoding: 'buffer', maxBuffer: 2 ** 28 });

interface Served {
  readonly dataset: Dataset;
  readonly interposer: Interposer;
  readonly files: readonly string[];
}

/** Files that have copies. */
async function served(options: { readonly farm?: string } = {}): Promise<Served> {
  const dataset = makeDataset(KEYS, { bytes: 100_000 });
  const interposer = await serve(dataset, options);
  for (const key of KEYS) await interposer.hierarchy.place(key);
  await interposer.idle();
  return { dataset, interposer, files: KEYS.map((key) => path.join(dataset.source, key)) };
}

/** What is in the files, behind each other. */
const bytesOf = ({ contents }: Dataset) =>
  Buffer.concat(KEYS.map((key) => contents.get(key) ?? Buffer.alloc(0)));

/**
 * Runs a program that writes these files, behind each other, without the shim and under it. What it writes
 * has to be the same; resolves to what it opened, and wrote to standard error.
 */
async function opened(
  { interposer, dataset }: Served,
  command: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ source: number; copies: number; says: string }> {
  const plain = await execute(command, { ...process.env, ...env });
  const under = await opensOf(interposer, () =>
    execute(command, { ...interposer.environment(process.env), ...env }),
  );
  for (const { stdout } of [plain, under.result]) expect(Buffer.compare(stdout, bytesOf(dataset))).toBe(0);
  expect(under.result.stderr.toString()).toBe(plain.stderr.toString());
  return { source: under.source, copies: under.copies, says: under.result.stderr.toString() };
}

describeShim('a program of another language', () => {
  describeWith('rustc', 'bash tools/servers/install.sh rust', () => {
    const program = path.join(temporaryDirectory(afterAll), 'reads-rust');

    it(
      '[I1] reads the same bytes from copies: std::fs::read of Rust',
      { timeout: TIMEOUT_TO_COMPILE },
      async () => {
        await execute(['rustc', '-O', '-o', program, path.join(SOURCES, 'reads.rs')]);
        const all = await served();
        // What it says is of the source's files.
        const found = await opened(all, [program, ...all.files]);
        expect(found).toMatchObject({ source: 0, copies: 4 });
        for (const file of all.files) expect(found.says).toContain(` ${fs.statSync(file).ino} `);
      },
    );
  });

  describeWith('go', 'bash tools/servers/install.sh go', () => {
    const directory = temporaryDirectory(afterAll);
    const [program, linked] = [path.join(directory, 'static'), path.join(directory, 'linked')];

    beforeAll(async () => {
      const build = (env: NodeJS.ProcessEnv, ...args: readonly string[]) =>
        execute(['go', 'build', ...args, path.join(SOURCES, 'reads.go')], {
          ...process.env,
          ...{ GOFLAGS: '', GOTOOLCHAIN: 'local' },
          ...env,
        });
      await build({ CGO_ENABLED: '0' }, '-o', program);
      await build({ CGO_ENABLED: '1' }, '-ldflags=-linkmode=external', '-o', linked);
    }, TIMEOUT_TO_COMPILE);

    it.each([
      ['that is static', program],
      ['that is linked to the C library', linked],
    ])('[I1] reads the same bytes from the source, which nobody is told: Go %s', async (_, file) => {
      const all = await served();
      expect(await opened(all, [file, ...all.files])).toEqual({ source: 0, copies: 0, says: '' });
    });

    it('[I10] reads the same bytes from copies by a farm: Go', async () => {
      const farm = path.join(temporaryDirectory(), 'farm');
      const { dataset, interposer } = await served({ farm });
      expect(interposer.stats().farm).toMatchObject({ links: 2, toCopies: 2 });
      const files = KEYS.map((key) => path.join(farm, key));
      const [tier = ''] = dataset.tiers;
      for (const file of files) expect(path.relative(tier, fs.realpathSync(file))).not.toMatch(/^\.\./);
      // So that it shows who reads the source.
      for (const key of KEYS) fs.writeFileSync(path.join(dataset.source, key), 'changed');
      const { stdout } = await execute([program, ...files]);
      expect(Buffer.compare(stdout, bytesOf(dataset))).toBe(0);
    });
  });
});

describeShim('a program that the loader runs without the shim', () => {
  const needs = 'root, setpriv, and a temporary directory where setuid is heeded';
  it.skipIf(!heedsSetuid() && process.env['CI'] !== 'true')(
    `[I1] reads the same bytes from the source: setuid (needs ${needs})`,
    async () => {
      const program = setuid('/bin/cat');
      const all = await served();
      // Nobody else may read there, and so not without the bit.
      fs.chmodSync(all.dataset.source, 0o700);
      await expect(execute([...NOBODY, 'cat', ...all.files])).rejects.toThrow('Permission denied');
      expect(await opened(all, [...NOBODY, program, ...all.files])).toEqual({
        source: 0,
        copies: 0,
        says: '',
      });
      // For who is root already it is a program like others.
      expect(await opened(all, [program, ...all.files])).toEqual({ source: 0, copies: 2, says: '' });
    },
  );
});

/** Makes a program one that runs as its owner, where all may run it. */
function setuid(program: string, atEnd: Finally = onTestFinished): string {
  const directory = temporaryDirectory(atEnd);
  fs.chmodSync(directory, 0o755);
  const file = path.join(directory, path.basename(program));
  fs.copyFileSync(fs.realpathSync(program), file);
  fs.chmodSync(file, 0o4755);
  return file;
}

/** Whether other users become root by such a program, which mounts and containers may forbid. */
function heedsSetuid(): boolean {
  if (process.getuid?.() !== 0) return false;
  try {
    const [setpriv, ...rest] = NOBODY;
    const id = setuid('/usr/bin/id', afterAll);
    return execFileSync(setpriv, [...rest, id, '-u'], { encoding: 'utf8' }) === '0\n';
  } catch {
    return false;
  }
}

describeShim('io_uring', () => {
  describeWith('cc', INSTALL_CC, () => {
    it('[I1] opens files in the source with the same bytes, unless the kernel refuses it', async () => {
      const all = await served();
      const found = await opened(all, [await compiled(['cc', 'ring.c']), ...all.files]);
      const expected = {
        'ring\n': { source: 0, copies: 0 },
        'EPERM\n': { source: 0, copies: 2 },
        'ENOSYS\n': { source: 0, copies: 2 },
      };
      expect(expected).toHaveProperty(found.says);
      expect(found).toMatchObject(expected[found.says as keyof typeof expected]);
    });

    it('[I1] is refused under the shim as without it, and what the program calls then opens copies', async () => {
      const all = await served();
      const program = await compiled(['cc', 'ring.c']);
      expect(await opened(all, [program, 'refused', ...all.files])).toEqual({
        ...{ source: 0, copies: 2, says: 'EPERM\n' },
      });
    });
  });

  describe('of Node', () => {
    const read = async (call: string, after: string, env: NodeJS.ProcessEnv) => {
      const script = `const fs = require('node:fs'), { stdout, stderr } = process;
        (async () => { for (const name of process.argv.slice(1)) stdout.write(${call}); ${after} })();`;
      const all = await served();
      return opened(all, [process.execPath, '-e', script, ...all.files], env);
    };

    it.each(['0', '1'])(
      '[I1] opens no file for sync functions, which read the same bytes, with UV_USE_IO_URING=%s',
      async (value) => {
        expect(await read('fs.readFileSync(name)', '', { UV_USE_IO_URING: value })).toEqual({
          ...{ source: 0, copies: 2, says: '' },
        });
      },
    );

    it.each(['0', '1'])(
      '[I1] opens files in the source for others if it is used, with UV_USE_IO_URING=%s, and reads the same bytes',
      async (value) => {
        // The thread of the kernel that takes what is to be done.
        const look = `const names = fs.readdirSync('/proc/self/task').map((task) => '/proc/self/task/' + task + '/comm');
          if (names.some((name) => fs.readFileSync(name, 'utf8').startsWith('iou-sqp'))) stderr.write('ring');`;
        const found = await read('await fs.promises.readFile(name)', look, { UV_USE_IO_URING: value });
        // With 1, some versions of Node and some kernels do not.
        const isByRing = value === '1' && found.says === 'ring';
        expect(found).toEqual({ source: 0, copies: isByRing ? 0 : 2, says: isByRing ? 'ring' : '' });
      },
    );
  });
});

describeShim('another library that is preloaded', () => {
  describeWith('cc', INSTALL_CC, () => {
    /** What `cat` opens and reads as the library sees it, with the libraries in this order. */
    async function seen(all: Served, order: (library: string, shim: string) => string) {
      const library = await compiled(['cc', '-shared', '-fPIC', '-D_GNU_SOURCE', 'logs.c']);
      const log = path.join(temporaryDirectory(), 'log');
      const shim = all.interposer.environment({})['LD_PRELOAD'] ?? '';
      const env = { ...all.interposer.environment(), LD_PRELOAD: order(library, shim), LOG: log };
      const { result, ...opens } = await opensOf(all.interposer, () => execute(['cat', ...all.files], env));
      const bytes = bytesOf(all.dataset);
      expect(Buffer.compare(result.stdout, bytes)).toBe(0);
      expect(opens).toEqual({ source: 0, copies: 2 });
      const lines = fs.readFileSync(log, 'utf8').split('\n');
      const count = (line: string) => (line.startsWith('read ') ? Number(line.slice(5)) : 0);
      const read = lines.reduce((sum, line) => sum + count(line), 0);
      expect(read).toBeGreaterThanOrEqual(bytes.length);
      return lines.filter((line) => line.startsWith('open')).map((line) => line.replace(/^\S+ /, ''));
    }

    it('[I1] sees the files of the source in front of the shim', async () => {
      const all = await served();
      expect(await seen(all, (library, shim) => `${library}:${shim}`)).toEqual(
        expect.arrayContaining([...all.files]),
      );
    });

    it('[I1] sees their copies behind the shim', async () => {
      const all = await served();
      const paths = await seen(all, (library, shim) => `${shim}:${library}`);
      const [tier = ''] = all.dataset.tiers;
      // Their names end with a tag.
      const copies = fs
        .readdirSync(tier, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.includes('@'));
      expect(copies).toHaveLength(2);
      expect(paths).toEqual(expect.arrayContaining(copies));
      for (const file of all.files) expect(paths).not.toContain(file);
    });
  });
});
