import type { Farm } from './farm.js';
import type { Filling } from './filling.js';
import type { PublishedTable } from './published-table.js';
import type { FileKnowledge } from './source-files.js';
import type { Tree } from './tree.js';

/** Told how many objects are done while that takes a while. */
interface GrowingProgress {
  readonly onTable?: ((objects: number) => void) | undefined;
  readonly onFarm?: ((objects: number) => void) | undefined;
}

/** What knows of objects, and has to take in those that come later. */
interface GrowingParts {
  readonly table: PublishedTable;
  readonly files: FileKnowledge;
  readonly tree: Tree | undefined;
  readonly farm: Farm | undefined;
  readonly filling: Filling | undefined;
  readonly ending: AbortSignal;
}

/** Takes in objects. */
export interface Growing {
  readonly more: (signal: AbortSignal | undefined, progress?: GrowingProgress) => Promise<void>;
  readonly ended: () => Promise<unknown>;
}

/** Takes in objects, one time after the other: a table that grows may be replaced. */
export function growing({ table, files, tree, farm, filling, ending }: GrowingParts): Growing {
  let last: Promise<unknown> = Promise.resolve();
  const more: Growing['more'] = (under, { onTable, onFarm } = {}) => {
    const signal = AbortSignal.any([ending, ...(under === undefined ? [] : [under])]);
    const grown = last.then(async () => {
      signal.throwIfAborted();
      await tree?.grow(signal);
      await files.renew?.(signal);
      if (await table.grow(signal, onTable)) files.forgetAll?.();
      await farm?.grow(signal, onFarm);
      filling?.begin();
    });
    last = grown.catch(() => undefined);
    return grown;
  };
  return { more, ended: () => last };
}
