import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeAll, beforeEach } from 'vitest';
import { Child, type ChildOptions } from './child.js';
import type { Place } from './place.js';
import { programOf } from './program.js';

/** Processes that use a tier, and a directory for them. Both end with each test. */
export interface TierProcesses {
  /** Of the present test. */
  readonly directory: string;
  /** All that the present test has started. */
  readonly all: readonly Child[];
  /** Starts one. */
  start(place: Place, options?: ChildOptions): Child;
  /** Starts one, and waits until it has opened the tier. */
  begin(place: Place, options?: ChildOptions): Promise<Child>;
}

/** To be called where the tests of a file are registered. */
export function tierProcesses(): TierProcesses {
  let program: string;
  let directory: string;
  let children: Child[];

  beforeAll(async () => {
    const built = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-program-'));
    program = await programOf('use-tier', built);
    return () => fs.rmSync(built, { recursive: true, force: true });
  });

  beforeEach(() => {
    directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-processes-'));
    children = [];
  });

  afterEach(async () => {
    await Promise.all(children.map((child) => child.kill()));
    fs.rmSync(directory, { recursive: true, force: true });
  });

  const start = (place: Place, options?: ChildOptions) => {
    const child = new Child(program, place, options);
    children.push(child);
    return child;
  };

  return {
    get directory() {
      return directory;
    },
    get all() {
      return children;
    },
    start,
    begin: async (place, options) => {
      const child = start(place, options);
      await child.started;
      return child;
    },
  };
}
