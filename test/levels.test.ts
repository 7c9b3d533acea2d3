import { Hierarchy, isTieredError, MemoryDriver, type StorageDriver } from '@tiered/core';
import { PrefixDriver, RetryDriver } from '@tiered/core/decorators';
import { InterceptingDriver, type DriverCall } from '@tiered/core/driver';
import { FileSystemDriver } from '@tiered/node-fs-adapter';
import { PlacementHandler } from '@tiered/tiering';
import fc from 'fast-check';
import { execFile, spawnSync } from 'node:child_process';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';

const REFUSED = expect.objectContaining({ code: 'TIERED_CONFIG_INVALID' }) as Error;

function hierarchyOf(source: StorageDriver, ...tiers: readonly StorageDriver[]): Hierarchy {
  const placement = new PlacementHandler();
  return new Hierarchy({ source, tiers: tiers.map((driver) => ({ driver, quota: '1MiB' })), placement });
}

const at = (root: string) => new FileSystemDriver({ root, writable: true });

/** The levels that the message of a refusal names, in its order. */
function refusedLevels(make: () => unknown): string[] {
  try {
    make();
  } catch (error) {
    if (isTieredError(error, 'TIERED_CONFIG_INVALID'))
      return error.message.match(/source|tiers\[\d\]/g) ?? [];
    throw error;
  }
  return [];
}

async function temporaryDirectory(): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'tiered-test-'));
  onTestFinished(() => fs.rm(directory, { recursive: true }));
  return directory;
}

/** Storage that is somewhere, as a bucket is. */
class Placed extends InterceptingDriver {
  readonly at: string;

  constructor(at: string) {
    super(new MemoryDriver());
    this.at = at;
  }

  override get location(): string {
    return this.at;
  }

  protected override intercept<T>(call: DriverCall<T>): Promise<T> {
    return call.proceed();
  }
}

describe('levels that share storage', () => {
  it('[L1] are refused when the hierarchy is made, exactly if one directory is or holds the other', () => {
    const directory = fc.array(fc.constantFrom('a', 'ab', 'b', ' #?%'), { maxLength: 3 });
    fc.assert(
      fc.property(directory, directory, (one, two) => {
        const shared = Math.min(one.length, two.length);
        const overlap = one.slice(0, shared).join('/') === two.slice(0, shared).join('/');
        const roots = [one, two].map((segments) => path.join('/nowhere', ...segments));
        const [inner, outer] = one.length >= two.length ? ['source', 'tiers[0]'] : ['tiers[0]', 'source'];
        const refused = refusedLevels(() => hierarchyOf(at(roots[0] ?? ''), at(roots[1] ?? '')));
        expect(overlap ? refused.sort() : refused).toEqual(overlap ? [inner, outer].sort() : []);
      }),
    );
  });

  it('are named both, the inner one first', () => {
    const levels =
      (source: string, ...tiers: string[]) =>
      () =>
        hierarchyOf(at(source), ...tiers.map(at));
    expect(refusedLevels(levels('/data', '/data/cache'))).toEqual(['tiers[0]', 'source']);
    expect(refusedLevels(levels('/cache/data', '/cache'))).toEqual(['source', 'tiers[0]']);
    expect(refusedLevels(levels('/data', '/fast', '/slow', '/fast/'))).toEqual(['tiers[2]', 'tiers[0]']);
    expect(refusedLevels(levels('/', '/cache'))).toEqual(['tiers[0]', 'source']);
    expect(refusedLevels(levels('/data', '/data2', '/cache', '/cache 2'))).toEqual([]);
  });

  it('are recognised relative to the working directory, behind decorators and behind prefixes', () => {
    const here = path.basename(process.cwd());
    expect(refusedLevels(() => hierarchyOf(at('.'), at(`../${here}/cache`)))).toEqual(['tiers[0]', 'source']);
    expect(refusedLevels(() => hierarchyOf(new RetryDriver(at('/data')), at('/data')))).toHaveLength(2);
    const part = (name: string) => new PrefixDriver(new RetryDriver(at('/data')), name);
    expect(refusedLevels(() => hierarchyOf(part('train/'), at('/data/train/cache')))).toHaveLength(2);
    expect(refusedLevels(() => hierarchyOf(part('train/'), part('train/')))).toHaveLength(2);
    // A prefix is no directory: "tr" is the beginning of the keys in "train/" too.
    expect(refusedLevels(() => hierarchyOf(part('tr'), part('train/')))).toHaveLength(2);
    expect(refusedLevels(() => hierarchyOf(part('train/'), part('cache/')))).toEqual([]);
  });

  it('are recognised by their location whatever their driver is; what has none is nowhere else', () => {
    const [bucket, part, other] = ['s3://bucket/', 's3://bucket/part/', 's3://bucket2/'];
    expect(refusedLevels(() => hierarchyOf(new Placed(bucket), new Placed(part)))).toHaveLength(2);
    expect(refusedLevels(() => hierarchyOf(new Placed(bucket), new Placed(other)))).toEqual([]);
    expect(
      refusedLevels(() => hierarchyOf(new MemoryDriver(), new MemoryDriver(), new MemoryDriver())),
    ).toEqual([]);
  });

  it('[L1] that meet through a symbolic link are refused by open(), before anything is deleted', async () => {
    const directory = await temporaryDirectory();
    const [real, link] = [path.join(directory, 'real'), path.join(directory, 'link')];
    const kept = at(real);
    await kept.open({});
    await kept.write('object', new Uint8Array(10), { size: 10 });
    await kept.close();
    await fs.symlink(real, link);
    const hierarchy = hierarchyOf(new MemoryDriver(), at(real), at(link));
    await expect(hierarchy.open()).rejects.toEqual(REFUSED);
    expect(await fs.readdir(real)).toContain('object');
  });

  it('[L1] that meet through a link in the way to a tier that does not exist yet are refused by open()', async () => {
    const directory = await temporaryDirectory();
    const [real, link] = [path.join(directory, 'real'), path.join(directory, 'link')];
    await fs.mkdir(real);
    await fs.symlink(real, link);
    const source = new FileSystemDriver({ root: real });
    await expect(hierarchyOf(source, at(path.join(link, 'cache'))).open()).rejects.toEqual(REFUSED);
  });

  it.each(['', 'below', 'below/more'])(
    '[L1] [R3] a link into the source as a tier, at %j, leaves nothing in the source',
    async (below) => {
      const directory = await temporaryDirectory();
      const [real, link] = [path.join(directory, 'real'), path.join(directory, 'link')];
      await fs.mkdir(path.join(real, 'empty'), { recursive: true });
      await fs.symlink(path.join(real, 'empty'), link);
      const source = new FileSystemDriver({ root: real });
      await expect(hierarchyOf(source, at(path.join(link, below))).open()).rejects.toEqual(REFUSED);
      expect(await fs.readdir(real, { recursive: true })).toEqual(['empty']);
    },
  );

  it('[L1] that are apart for the kernel too are opened', async () => {
    const directory = await temporaryDirectory();
    const source = new FileSystemDriver({ root: path.join(directory, 'real') });
    await fs.mkdir(path.join(directory, 'real'));
    const hierarchy = hierarchyOf(
      source,
      at(path.join(directory, 'real2')),
      at(path.join(directory, 'a b\\')),
    );
    await hierarchy.open();
    await hierarchy.close();
  });
});

/** A mount namespace of one's own, gone with its last process; some containers forbid it even to root. */
const canMount = spawnSync('unshare', ['-rm', 'mount', '-t', 'tmpfs', 'tmpfs', os.tmpdir()]).status === 0;

describe.skipIf(!canMount && process.env['CI'] !== 'true')(
  'levels that meet through a bind mount (unshare of util-linux, where containers allow it)',
  () => {
    /** What a hierarchy says that is opened where one directory is mounted at another. */
    async function openedWith(mounted: string, at: string, ...levels: readonly string[]): Promise<string> {
      const script = path.join(import.meta.dirname, 'children/open-levels.ts');
      const node = [process.execPath, '--conditions=tiered-source', '--import', 'tsx', script, ...levels];
      const shell = ['sh', '-c', 'mount --bind "$0" "$1" && shift && exec "$@"', mounted, at, ...node];
      return (await promisify(execFile)('unshare', ['-rm', ...shell])).stdout;
    }

    /** A source with an empty directory, and one beside it to mount at; blanks are escaped by the kernel. */
    async function place(): Promise<{
      source: string;
      inner: string;
      beside: string;
      look: () => Promise<string[]>;
    }> {
      const directory = await temporaryDirectory();
      const [source, beside] = [path.join(directory, 'the source'), path.join(directory, 'be side')];
      const inner = path.join(source, 'in ner');
      await fs.mkdir(inner, { recursive: true });
      await fs.mkdir(beside);
      return { source, inner, beside, look: () => fs.readdir(directory, { recursive: true }) };
    }

    it('[L1] [R3] a tier that is the source, or a directory of it, is refused and leaves nothing', async () => {
      const { source, inner, beside, look } = await place();
      const before = await look();
      expect(await openedWith(source, beside, source, '', beside)).toMatch(
        /^TIERED_CONFIG_INVALID: tiers\[0\]: .* is where source is too/,
      );
      for (const tier of [beside, path.join(beside, 'new')]) {
        expect(await openedWith(inner, beside, source, '', tier)).toMatch(
          /^TIERED_CONFIG_INVALID: tiers\[0\]: .* is inside source/,
        );
        expect(await openedWith(inner, beside, beside, '', path.join(inner, 'new'))).toMatch(
          /is inside source/,
        );
      }
      expect(await look()).toEqual(before);
    });

    it('[L1] two tiers that are one directory are refused', async () => {
      const { source, beside } = await place();
      const [one, other] = [path.join(beside, 'one'), path.join(beside, 'other')];
      await fs.mkdir(one);
      await fs.mkdir(other);
      expect(await openedWith(one, other, source, '', one, other)).toMatch(
        /^TIERED_CONFIG_INVALID: tiers\[1\]: .* is where tiers\[0\] is too/,
      );
    });

    it('[L1] [R3] a manifest inside the source is refused and not written', async () => {
      const { source, inner, beside, look } = await place();
      const before = await look();
      expect(await openedWith(inner, beside, source, path.join(beside, 'manifest'))).toMatch(
        /^TIERED_CONFIG_INVALID: manifest/,
      );
      expect(await look()).toEqual(before);
    });

    it('[L1] directories of one disk that are mounted apart are levels, unless one is mounted inside the other', async () => {
      const { source, inner, beside } = await place();
      const elsewhere = path.join(path.dirname(source), 'elsewhere');
      await fs.mkdir(elsewhere);
      expect(await openedWith(inner, beside, inner, '', elsewhere)).toBe('opened');
      expect(await openedWith(elsewhere, inner, source, '', beside)).toBe('opened');
      expect(await openedWith(elsewhere, inner, source, '', elsewhere)).toMatch(/is inside source/);
    });
  },
);
