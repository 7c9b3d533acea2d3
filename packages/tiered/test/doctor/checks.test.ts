import { describe, expect, it } from 'vitest';
import { dataFits, layoutSuits } from '../../src/doctor/data.js';
import { configurationThatIsWrong } from '../../src/doctor/diagnose.js';
import type { DirectoryFacts } from '../../src/doctor/directory.js';
import { fileSystemOf } from '../../src/doctor/file-systems.js';
import type { Finding } from '../../src/doctor/finding.js';
import {
  coresSuffice,
  descriptorsSuffice,
  nodeWorks,
  threadsSuffice,
  memorySuffices,
} from '../../src/doctor/machine.js';
import { programsFindTiers } from '../../src/doctor/programs.js';
import { clocksAgree, serverOf } from '../../src/doctor/server.js';
import {
  directoryCanBeTier,
  fileSystemSuits,
  quotasFit,
  type FoundTier,
} from '../../src/doctor/tier-directories.js';

const GIB = 2 ** 30;
const HERE: DirectoryFacts = {
  state: 'own',
  refusal: undefined,
  fileSystem: { kind: 'local', name: 'ext4' },
  device: 1,
  freeBytes: 100 * GIB,
  usedBytes: 0,
  mount: undefined,
};
const tier = (name: string, quotaGiB: number, facts: Partial<DirectoryFacts> = {}): FoundTier => ({
  name,
  place: `/${name}`,
  quotaBytes: quotaGiB * GIB,
  facts: { ...HERE, ...facts },
});
const levels = (findings: readonly Finding[]) => findings.map(({ about, level }) => `${about}: ${level}`);

describe('the data', () => {
  const level = (layout?: string) =>
    ({ name: 'tier 0', quotaBytes: 33 * GIB, fields: { driver: 'fs', ...(layout && { layout }) } }) as never;
  const data = { objects: 1000, bytes: 64 * GIB - 1000 * 4096, small: 900, isAll: true };

  it('fits in part, and that is said with what follows', () => {
    expect(dataFits(data, [level()])).toEqual([
      {
        level: 'note',
        about: 'tiers',
        found: 'the source has 1,000 objects, 64 GiB, and the tiers have room for about 50 % of it',
        advice: 'After the first, each epoch reads about 50 % from the source. Larger quotas change that.',
      },
    ]);
    expect(dataFits(data, [level(), level()])).toMatchObject([
      { level: 'ok', found: expect.stringContaining('room for all of it') },
    ]);
    expect(dataFits({ ...data, isAll: false }, [level()])).toMatchObject([
      {
        found: expect.stringContaining('more than 1,000 objects'),
        advice: expect.stringContaining('tiered stats'),
      },
    ]);
    // Memory takes the bytes alone: half of 64 GiB less those of 1,000 files.
    const memory = { quotaBytes: data.bytes / 2, fields: { driver: 'memory' } } as never;
    expect(dataFits(data, [memory, level()])[0]?.found).toContain('room for all of it');
    expect(dataFits(data, [])).toEqual([]);
  });

  it('of small objects is read faster where it is packed', () => {
    expect(layoutSuits(data, [level()])).toMatchObject([
      {
        about: 'tier 0',
        found: expect.stringContaining('90 %'),
        advice: expect.stringContaining('layout: packed'),
      },
    ]);
    expect(layoutSuits(data, [level('packed')])).toEqual([]);
    expect(layoutSuits({ ...data, small: 500 }, [level()])).toEqual([]);
  });
});

describe('programs that know nothing of tiers', () => {
  const libc = { libc: 'glibc 2.36' };
  const told = (facts: Parameters<typeof programsFindTiers>[0]) => {
    const [finding] = programsFindTiers(facts, libc);
    return `${finding?.level}: ${finding?.found}`;
  };

  it('find them where there is a shim, and shared memory', () => {
    const shim = { file: '/x/tiered-shim.so' };
    expect(told({ shim, sharedBytes: GIB })).toBe(
      'ok: "tiered run" works here: the shim for glibc 2.36 is there, and /dev/shm has 1 GiB free',
    );
    expect(told({ shim, sharedBytes: 64 * 2 ** 20 })).toMatch(/^note: .* has 64 MiB free$/);
    expect(told({ shim, sharedBytes: undefined })).toMatch(/^note: .*there is no \/dev\/shm/);
    expect(told({ shim: undefined, sharedBytes: GIB })).toBe('note: "tiered run" is not installed');
    expect(told({ shim: { reason: 'it is for glibc only, and this is musl.' }, sharedBytes: GIB })).toBe(
      'note: "tiered run" does not work here: it is for glibc only, and this is musl',
    );
  });
});

describe('room on disks', () => {
  it('is what is free and what the copies take already', () => {
    expect(levels(quotasFit([tier('a', 100)]))).toEqual(['a: ok']);
    const [full] = quotasFit([tier('a', 101)]);
    expect(full).toMatchObject({ level: 'warning', found: 'its quota is 101 GiB, and /a has 100 GiB free' });
    expect(full?.advice).toContain('at most 100 GiB');
    expect(levels(quotasFit([tier('a', 130, { usedBytes: 30 * GIB })]))).toEqual(['a: ok']);
    expect(levels(quotasFit([tier('a', 131, { usedBytes: 30 * GIB })]))).toEqual(['a: warning']);
  });

  it('is unknown while copies were not counted, if it is not enough without them', () => {
    expect(levels(quotasFit([tier('a', 100, { usedBytes: undefined })]))).toEqual(['a: ok']);
    expect(levels(quotasFit([tier('a', 200, { usedBytes: undefined })]))).toEqual(['a: note']);
  });

  it('is shared by tiers on one file system', () => {
    expect(levels(quotasFit([tier('a', 60), tier('b', 60, { device: 2 })]))).toEqual(['a: ok', 'b: ok']);
    const shared = quotasFit([tier('a', 60), tier('b', 60)]);
    expect(levels(shared)).toEqual(['a: ok', 'b: ok', 'tiers: warning']);
    expect(shared.at(-1)?.found).toBe(
      'the quotas of a and b, which share a file system, come to 120 GiB, and it has 100 GiB free',
    );
    expect(levels(quotasFit([tier('a', 160), tier('b', 60)]))).toEqual(['a: warning', 'b: ok']);
  });
});

describe('a directory', () => {
  it('is refused where it cannot be written to', () => {
    for (const state of ['missing', 'own', 'empty'] as const) {
      expect(directoryCanBeTier(tier('a', 1, { state })).level).toBe('ok');
      expect(directoryCanBeTier(tier('a', 1, { state, refusal: 'EROFS' }))).toMatchObject({
        level: 'problem',
        found: expect.stringContaining('(EROFS)'),
        advice: expect.stringContaining('read-only'),
      });
    }
    expect(directoryCanBeTier(tier('a', 1, { state: 'unreadable' })).level).toBe('problem');
    const denied = (state: 'missing' | 'own') =>
      directoryCanBeTier(tier('a', 1, { state, refusal: 'EACCES' })).advice;
    expect(denied('missing')).toMatch(/^Make it, and give it to the user/);
    expect(denied('own')).toMatch(/^Give it to the user/);
  });

  it('is told by the kind of its file system', () => {
    const on = (type: number) => fileSystemSuits(tier('a', 1, { fileSystem: fileSystemOf(type, 'linux') }));
    for (const [type, level] of [
      [0xef53, []],
      [0x6969, ['warning']],
      // As Node gives it where the number has its highest bit.
      [0xff534d42 | 0, ['warning']],
      [0x65735546, ['warning']],
      [0x794c7630, ['warning']],
      [0x01021994, ['note']],
      [0x1234, []],
    ] as const)
      expect(on(type).map((one) => one.level)).toEqual(level);
    expect(fileSystemOf(0x6969, 'darwin').kind).toBe('unknown');
  });
});

describe('the machine', () => {
  it('has memory for what is held, and some for the training', () => {
    const needs = (gib: number) =>
      memorySuffices(new Map([['tier 0', gib * GIB]]), { memoryBytes: 16 * GIB }).level;
    expect([needs(12), needs(13), needs(16), needs(17)]).toEqual(['ok', 'warning', 'warning', 'problem']);
  });

  it('allows the descriptors that levels keep open', () => {
    const uses = new Map([
      ['source', 256],
      ['tier 0', 256],
    ]);
    expect(descriptorsSuffice(uses, { openFiles: 1024 })[0]?.level).toBe('ok');
    expect(descriptorsSuffice(uses, { openFiles: Infinity })[0]?.level).toBe('ok');
    expect(descriptorsSuffice(uses, { openFiles: undefined })).toEqual([]);
    const [few] = descriptorsSuffice(uses, { openFiles: 256 });
    expect(few).toMatchObject({ level: 'problem', found: expect.stringContaining('up to 640') });
    expect(few?.advice).toContain('ulimit -n 4096');
  });

  it('runs a Node that works', () => {
    const level = (node: string) => nodeWorks({ node }).level;
    expect(['18.20.0', '20.18.3', '20.19.0', '22.0.0', '23.1.0', '24.1.0'].map(level)).toEqual([
      'problem',
      'problem',
      'ok',
      'ok',
      'note',
      'ok',
    ]);
    expect(coresSuffice({ cores: 1 }).level).toBe('note');
  });

  it('reads files by threads of its own, or by enough of those of Node', () => {
    const advice = 'Unset TIERED_NATIVE.';
    const native = { available: false, reason: 'it is turned off.', advice, tried: [] } as const;
    const found = (poolThreads: number, reason = native.reason as string, tried: string[] = []) =>
      threadsSuffice({ native: { ...native, reason, tried }, poolThreads }, true)[0];
    expect(threadsSuffice({ native: { available: true, from: 'x' }, poolThreads: 4 }, true)[0]?.level).toBe(
      'ok',
    );
    expect(found(4)).toMatchObject({
      level: 'note',
      advice: expect.stringMatching(/Unset TIERED_NATIVE\. Or set UV_THREADPOOL_SIZE/),
    });
    expect(found(32)?.advice).toBeUndefined();
    expect(found(4, 'it cannot be loaded: /x: bad', ['/x'])?.level).toBe('warning');
    expect(threadsSuffice({ native, poolThreads: 4 }, false)).toEqual([]);
  });
});

describe('the clock', () => {
  it('may be some minutes off', () => {
    const minutes = (number: number) => clocksAgree('source', { skewMs: number * 60_000 });
    expect([0, 4, -4, 6, 14, 16, -16].map((number) => minutes(number).level)).toEqual([
      ...['ok', 'ok', 'ok', 'warning', 'warning', 'problem', 'problem'],
    ]);
    expect(minutes(-300).found).toBe("the clock of this machine is 5 hours ahead of the server's");
    expect(clocksAgree('source', { unknown: 'no date' }).level).toBe('note');
  });

  it('is compared with that of the server that requests are signed for', () => {
    const of = (location: string | undefined, fields: object, env = {}) =>
      serverOf(
        { driver: { location } as Parameters<typeof serverOf>[0]['driver'], fields: { ...fields } },
        env,
      );
    expect(of('http://minio:9000/data/train/', { driver: 's3' })).toBe('http://minio:9000');
    expect(of('s3://data/', { driver: 's3' })).toBe('https://s3.us-east-1.amazonaws.com');
    expect(of('s3://data/', { driver: 's3' }, { AWS_REGION: 'eu-west-1' })).toContain('eu-west-1');
    expect(of('s3://data/', { driver: 's3', region: 'cn-north-1' })).toBe(
      'https://s3.cn-north-1.amazonaws.com.cn',
    );
    const options = { endpoint: 'https://user:hunter2@swift.example/v1' };
    expect(of('swift://swift.example/', { driver: 'opendal', options })).toBe('https://swift.example');
    expect(of('file:///data/', { driver: 'fs' })).toBeUndefined();
    expect(of(undefined, { driver: 'memory' })).toBeUndefined();
  });
});

it('each mistake of a configuration is a finding', () => {
  const found = configurationThatIsWrong(
    'a.yaml has 2 problems:\n  1:1: source: missing\n  2:1: tiers: wrong',
  );
  expect(found.map((one) => one.found)).toEqual(['1:1: source: missing', '2:1: tiers: wrong']);
});
