import { MetadataContainer } from '@tiered/core';
import { ManualClock, ticked } from '@tiered/core/testing';
import fc from 'fast-check';
import fs from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Tree } from '../src/daemon/tree.js';
import { temporaryDirectory } from './helpers.js';

const { signal } = new AbortController();

function treeOf(root: string) {
  const namespace = new MetadataContainer(1);
  const tree = new Tree(root, namespace, new ManualClock(ticked));
  const take = async (...keys: string[]) => {
    for (const key of keys) namespace.put({ key, size: 1, version: '1' });
    await tree.grow(signal);
  };
  return { tree, take };
}

it('[I7] what was listed as a file becomes a directory, when objects come that are in it', async () => {
  const root = temporaryDirectory();
  const { tree, take } = treeOf(root);
  await take('a', 'b/c');
  await tree.complete('', signal);
  await tree.complete('b', signal);
  expect(fs.lstatSync(path.join(root, 'a')).isSymbolicLink()).toBe(true);
  await take('a/b', 'b/c/d/e');
  for (const key of ['a', 'b', 'b/c', 'b/c/d']) await tree.complete(key, signal);
  expect(fs.readdirSync(root, { recursive: true }).sort()).toEqual([
    ...['a', 'a/b', 'b', 'b/c', 'b/c/d', 'b/c/d/e'],
  ]);
});

it('[I7] directories list all files and directories in them, whatever comes when', async () => {
  const part = fc.constantFrom('a', 'b', 'c');
  const key = fc.array(part, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'));
  const above = temporaryDirectory(onTestFinished);
  await fc.assert(
    fc.asyncProperty(fc.array(fc.record({ come: fc.array(key), listed: fc.array(key) })), async (rounds) => {
      const root = fs.mkdtempSync(path.join(above, 'tree-'));
      const { tree, take } = treeOf(root);
      const known = new Set<string>();
      for (const { come, listed } of rounds) {
        await take(...come);
        for (const one of come) for (let at = one; at !== '.'; at = path.posix.dirname(at)) known.add(at);
        for (const one of ['', ...listed]) {
          await tree.complete(one, signal);
          const below = [...known].filter((name) => path.posix.dirname(name) === (one || '.'));
          if (below.length === 0) continue;
          expect(fs.readdirSync(path.join(root, one)).sort()).toEqual(
            below.map((name) => path.posix.basename(name)).sort(),
          );
        }
      }
      fs.rmSync(root, { recursive: true });
    }),
    { numRuns: 50 },
  );
});
