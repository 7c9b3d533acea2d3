import { environmentAt } from '@tiered/interpose';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeShim, makeDataset, opensOf, run, serve, temporaryDirectory } from './helpers.js';

const KEYS = ['a', 'other', 'd/b', 'd/e/c'];

/** Files that all have copies, the link `link` to the first of them too. */
async function copied(at?: string) {
  const dataset = makeDataset(KEYS);
  fs.symlinkSync('a', path.join(dataset.source, 'link'));
  const interposer = await serve(dataset, { at });
  for (const key of [...KEYS, 'link']) await interposer.hierarchy.place(key);
  await interposer.idle();
  const python = (script: string) =>
    run(interposer, 'python3', ['-c', script], { cwd: dataset.source }).then((said) => said.trim());
  return { dataset, interposer, python };
}

/** Each makes `a` another file. */
const CHANGES: Readonly<Record<string, string>> = {
  'open for writing': `f = os.open('a', os.O_WRONLY | os.O_TRUNC); os.write(f, b'new')`,
  'an absolute path': `open(os.getcwd() + '/a', 'w').write('new')`,
  'a path with dots': `open('d/../a', 'w').write('new')`,
  'a link': `open('link', 'w').write('new')`,
  'a stream of the C library': `libc = ctypes.CDLL(None); libc.fopen.restype = ctypes.c_void_p; f = libc.fopen(b'a', b'w'); libc.fputs(b'new', ctypes.c_void_p(f)); libc.fclose(ctypes.c_void_p(f))`,
  rename: `open('tmp', 'w').write('new'); os.rename('tmp', 'a')`,
  'rename by a directory': `open('d/tmp', 'w').write('new'); d = os.open('d', os.O_RDONLY); os.rename('tmp', '../a', src_dir_fd=d, dst_dir_fd=d)`,
  'unlink and a new file': `os.unlink('a'); f = os.open('a', os.O_WRONLY | os.O_CREAT | os.O_EXCL); os.write(f, b'new')`,
  truncate: `os.truncate('a', 0); f = os.open('a', os.O_WRONLY); os.write(f, b'new')`,
  'another program': `subprocess.run(['sh', '-c', 'printf new > a'])`,
};
const READ = `print(*[open(name).read() for name in ['a', os.getcwd() + '/a', 'link', 'd/../a']])`;

describeShim('a program that changes the source', () => {
  it.each(Object.entries(CHANGES))('[I15] reads what it wrote: %s', async (_, change) => {
    const { interposer, python } = await copied();
    const imports = 'import ctypes, os, subprocess';
    expect(await python([imports, change, READ].join('\n'))).toBe('new new new new');
    // So do others, and what was not changed is read on the tier.
    expect(await python([imports, READ].join('\n'))).toBe('new new new new');
    const { copies, source } = await opensOf(interposer, () => python(`open('d/b', 'rb').read()`));
    expect([copies, source]).toEqual([1, 0]);
  });

  it('[I15] is counted where it reads what it may write, which is not placed again', async () => {
    const { interposer, python } = await copied();
    const before = interposer.hierarchy.stats().source.reads;
    const { copies, source } = await opensOf(interposer, () =>
      python(`
import mmap, os
f = os.open('a', os.O_RDWR); mmap.mmap(f, 0)[:]
open('d/b', 'r+b').read()
open('a', 'rb').read(); open('d/b', 'rb').read(); open('d/e/c', 'rb').read()
os.open('other', os.O_WRONLY); os.open('link', os.O_RDWR | os.O_TRUNC)`),
    );
    await interposer.idle();
    expect([copies, source, interposer.stats().written]).toEqual([1, 4, 4]);
    expect(interposer.hierarchy.stats().source.reads).toBe(before);
  });

  it('[I15] finds nothing where it removed or renamed something, nor below', async () => {
    const { dataset, python } = await copied();
    const said = await python(`
import os
def there(name):
  try: return len(open(name, 'rb').read())
  except OSError as e: return type(e).__name__
os.unlink('other')
os.rename('d', 'moved')
print(there('other'), there('d/b'), there('d/e/c'), there('moved/b'))
os.mkdir('d'); open('d/b', 'w').write('new')
print(there('d/b'), os.path.getsize('d/b'), there('a'))`);
    const [a = 0, b = 0] = ['a', 'd/b'].map((key) => dataset.contents.get(key)?.byteLength);
    expect(said).toBe(`FileNotFoundError FileNotFoundError FileNotFoundError ${b}\n3 3 ${a}`);
  });

  it('[I15] is told what it changed of what a file is', async () => {
    const { python } = await copied();
    const said = await python(`
import os
os.chmod('a', 0o640); os.utime('a', ns=(7, 7))
s = os.fstat(os.open('a', os.O_RDONLY))
print(oct(s.st_mode & 0o777), s.st_mtime_ns)`);
    expect(said).toBe('0o640 7');
  });

  it('[I15] reads what it wrote also by the next daemon, before that has looked', async () => {
    const at = path.join(temporaryDirectory(), 'session');
    const { dataset, interposer } = await copied(at);
    const running = promisify(execFile)(
      'python3',
      [
        '-c',
        `
import sys
f = open('a', 'r+'); print('open', flush=True); sys.stdin.readline()
f.truncate(0); f.write('new'); f.flush()
print(open('a').read(), len(open('other', 'rb').read()))`,
      ],
      { env: environmentAt(at), cwd: dataset.source },
    );
    const { stdout, stdin } = running.child;
    await new Promise((resolve) => stdout?.once('data', resolve));
    await interposer.close();
    const next = await serve(dataset, { at });
    await next.idle();
    stdin?.end('\n');
    expect((await running).stdout).toBe(`open\nnew ${dataset.contents.get('other')?.byteLength}\n`);
  });

  it('[I15] has all else placed and counted, also what has no copy yet', async () => {
    const dataset = makeDataset(KEYS);
    const interposer = await serve(dataset);
    const read = `for name in ${JSON.stringify(KEYS)}: open(name, 'rb').read()`;
    const python = (script: string) => run(interposer, 'python3', ['-c', script], { cwd: dataset.source });
    await python(`open('checkpoint', 'w').write('new'); open('a', 'r+').write('n')`);
    const first = await opensOf(interposer, () => python(read));
    await interposer.idle();
    const second = await opensOf(interposer, () => python(read));
    expect([first.source, first.copies]).toEqual([KEYS.length, 0]);
    // A copy of what was written is of no use to anybody.
    expect([second.source, second.copies]).toEqual([1, KEYS.length - 1]);
    expect(interposer.hierarchy.stats().placement.placed).toBe(KEYS.length - 1);
  });

  it('[I15] keeps a database right that is read and written', async () => {
    const { interposer, python } = await copied();
    await python(`
import sqlite3
db = sqlite3.connect('d/x.db')
db.execute('pragma journal_mode=wal'); db.execute('create table t (n, pad)')
with db: db.executemany('insert into t values (?, ?)', [(n, 'x' * 500) for n in range(200)])`);
    await interposer.rescan();
    await interposer.hierarchy.place('d/x.db');
    await interposer.idle();
    // One that is opened for reading while the other one writes, and moves what it wrote into the database.
    const said = await python(`
import sqlite3
writer = sqlite3.connect('d/x.db')
for i in range(5):
  with writer: writer.executemany('insert into t values (?, ?)', [(n, 'y' * 900) for n in range(300)])
  if i % 2: writer.execute('pragma wal_checkpoint(truncate)')
  reader = sqlite3.connect('file:d/x.db?mode=ro', uri=True)
  print(*reader.execute('select count(*) from t').fetchone(), *reader.execute('pragma integrity_check').fetchone())`);
    expect(said.split('\n')).toEqual([500, 800, 1100, 1400, 1700].map((count) => `${count} ok`));
  });
});
