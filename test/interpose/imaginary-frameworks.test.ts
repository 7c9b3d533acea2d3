import { MemoryDriver } from '@tiered/core';
import { Interposer } from '@tiered/interpose';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { describeShim, temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { debianWith, INSTALL, pythonOf } from '../../tools/frameworks/environments.js';
import { line } from './processes.js';

const SCRIPT = path.join(import.meta.dirname, 'frameworks/arrays.py');
const WAYS = [
  'numpy load',
  'numpy load mmap_mode',
  'numpy load npz',
  'numpy fromfile',
  'numpy memmap',
  'h5py',
  'open',
  'mmap',
  'os.pread',
  'shutil.copyfile',
];

const python = debianWith('numpy', 'h5py') ?? pythonOf('tensorflow');

/** The files of a directory, as objects. */
async function objectsOf(directory: string): Promise<MemoryDriver> {
  const objects = new MemoryDriver({ quota: '1GiB' });
  for (const entry of fs.readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = path.join(entry.parentPath, entry.name);
    const bytes = fs.readFileSync(file);
    await objects.write(path.relative(directory, file), bytes, { size: bytes.byteLength });
  }
  return objects;
}

describeShim('a root that is not there, under frameworks that were not changed', () => {
  it.skipIf(python === undefined && process.env['CI'] !== 'true')(
    `[I7] gives NumPy, h5py and Python what a directory gives them, and later from copies (needs ${INSTALL})`,
    async () => {
      const command = python ?? INSTALL;
      const above = temporaryDirectory();
      const [directory, root] = [path.join(above, 'directory'), path.join(above, 'not/there')];
      await promisify(execFile)(command, [SCRIPT, 'make', directory]);
      const tier = new FileSystemDriver({ root: path.join(above, 'tier'), writable: true });
      const interposer = await Interposer.open({
        hierarchy: {
          source: await objectsOf(directory),
          tiers: [{ driver: tier, quota: '1GiB' }],
          placement: new PlacementHandler(),
        },
        root,
      });
      onTestFinished(() => interposer.close());
      const plain = await line({ command, arguments: [SCRIPT, 'read', directory] });
      const under = await line({
        command,
        arguments: [SCRIPT, 'read', root],
        environment: interposer.environment(),
      });
      for (const way of WAYS) {
        const digest = await plain.ask(way);
        for (let epoch = 0; epoch < 3; epoch++) expect([way, await under.ask(way)]).toEqual([way, digest]);
      }
      // Each object was fetched once, and the rest were copies.
      const { hierarchy, opens, redirected, failed } = interposer.stats();
      const objects = interposer.hierarchy.namespace.count;
      expect({
        placed: hierarchy.placement.placed,
        fromSource: opens - redirected,
        failed: failed.count,
      }).toEqual({
        placed: objects,
        fromSource: objects,
        failed: 0,
      });
    },
  );
});
