import fc from 'fast-check';
import fs from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MetadataContainer } from '@tiered/core';
import { ABSENT, loadManifest, saveManifest } from '@tiered/core/internal';
import { withCode } from '../helpers.js';
import { containerOf, entriesOf, IDENTITY, load, place, save } from './manifests.js';
import { objects, SOURCE, stat } from './namespaces.js';

const some = [stat('a', 1, 'v1'), stat('\u8a13\u7df4', 2 ** 40, 'v2'), stat('c', 0, '')];

/** More entries than a page of a column has, and more records than a page of records. */
const many = (version: string) => Array.from({ length: 70_000 }, (_, i) => stat(`shard/${i}`, i, version));

describe('a namespace that was saved and loaded', () => {
  it('has the entries it had, under the same ids, all of them at the level of the source', async () => {
    const file = await place();
    await fc.assert(
      fc.asyncProperty(fc.array(objects, { maxLength: 30 }), async (list) => {
        const container = containerOf(list);
        for (let id = 0; id < container.count; id += 2) container.setLevel(id, 0, id % 4 === 0);
        await save(container, file);
        const loaded = await load(file);
        expect(entriesOf(loaded)).toEqual(entriesOf(container).map((entry) => ({ ...entry, level: SOURCE })));
        expect([loaded.count, loaded.bytes]).toEqual([container.count, container.bytes]);
        for (const [id, { key }] of entriesOf(container).entries()) expect(loaded.find(key)).toBe(id);
        for (let id = 0; id < loaded.count; id++) expect(loaded.directLevelOf(id)).toBe(SOURCE);
      }),
      { numRuns: 50 },
    );
  });

  it('[M2] can be read by its owner alone; the directory is left as it was', async () => {
    const file = await place();
    const directory = path.dirname(file);
    await fs.chmod(directory, 0o755);
    await save(containerOf(some), file);
    const modeOf = async (of: string) => (await fs.stat(of)).mode & 0o777;
    expect([await modeOf(file), await modeOf(directory)]).toEqual([0o600, 0o755]);
  });

  it('has them also where they fill several pages', async () => {
    const file = await place();
    const container = containerOf(many('k3jd82h1-1tz4-9xk2'));
    await save(container, file);
    expect((await fs.stat(file)).size).toBeGreaterThan(3 * 2 ** 20);
    const loaded = await load(file);
    expect(entriesOf(loaded)).toEqual(entriesOf(container));
    expect([loaded.find('shard/69999'), loaded.find('shard/70000')]).toEqual([69_999, ABSENT]);
  });

  it('goes on as it would have without: takes in new objects, renews old ones, is saved again', async () => {
    const file = await place();
    await save(containerOf(many('v')), file);
    const [container, model] = [await load(file), containerOf(many('v'))];
    for (let i = 60_000; i < 80_000; i++)
      for (const each of [container, model]) each.put(stat(`shard/${i}`, 2 * i, `v${'+'.repeat(i % 9)}`));
    container.setLevel(0, 1);
    expect(container.levelOf(0)).toBe(1);
    await save(container, file);
    expect(entriesOf(await load(file))).toEqual(entriesOf(model));
  });

  it('is the namespace of the moment when save was called, whatever is put in the meantime', async () => {
    const file = await place();
    const container = containerOf(many('old'));
    const then = entriesOf(container);
    const saving = save(container, file);
    for (const object of many('new')) container.put({ ...object, size: object.size + 1 });
    for (const object of many('longer than before')) container.put(object);
    for (let i = 0; i < 100_000; i++) container.put(stat(`more/${i}`, i));
    await saving;
    expect(entriesOf(await load(file))).toEqual(then);
    expect(container.versionOf(69_999)).toBe('longer than before');
  });
});

describe('saveManifest', () => {
  it('replaces the manifest that was there, and leaves nothing beside it', async () => {
    const file = await place();
    await fs.writeFile(`${file}.new`, 'what a killed process left');
    await save(containerOf(some), file);
    await save(containerOf(some.slice(1)), file);
    expect(entriesOf(await load(file)).map(({ key }) => key)).toEqual(['\u8a13\u7df4', 'c']);
    expect(await fs.readdir(path.dirname(file))).toEqual(['manifest']);
  });

  it('that is aborted leaves the manifest that was there, and nothing beside it', async () => {
    const file = await place();
    await save(containerOf(some), file);
    const before = await fs.readFile(file);
    const reason = new Error('enough');
    await expect(save(containerOf(many('v')), file, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const saving = save(containerOf(many('v')), file, controller.signal);
    controller.abort(reason);
    await expect(saving).rejects.toBe(reason);
    expect(await fs.readFile(file)).toEqual(before);
    expect(await fs.readdir(path.dirname(file))).toEqual(['manifest']);
  });

  it('of two at the same time lets one win, whole, and leaves nothing beside it', async () => {
    const file = await place();
    const versions = ['one', 'two', 'three'];
    const outcomes = await Promise.allSettled(
      versions.map((version) => save(containerOf(many(version)), file)),
    );
    const lost = outcomes.filter((outcome) => outcome.status === 'rejected');
    for (const { reason } of lost) expect(reason).toEqual(withCode('TIERED_UNAVAILABLE'));
    expect(lost.length).toBeLessThan(versions.length);
    const found = new Set(entriesOf(await load(file)).map(({ version }) => version));
    expect(found.size).toBe(1);
    expect(await fs.readdir(path.dirname(file))).toEqual(['manifest']);
  });

  it('fails with what stands in the way, and touches nothing', async () => {
    const file = await place();
    await expect(save(containerOf(some), path.join(file, 'no such directory'))).rejects.toEqual(
      withCode('TIERED_NOT_FOUND'),
    );
    await fs.mkdir(file);
    await fs.writeFile(path.join(file, 'mine'), '');
    await expect(save(containerOf(some), file)).rejects.toEqual(withCode('TIERED_IO'));
    expect(await fs.readdir(path.dirname(file))).toEqual(['manifest']);
    expect(await fs.readdir(file)).toEqual(['mine']);
  });

  it.each([['', 'x'.repeat(4097), '\ud83d']].flat())('refuses the identity %j', async (identity) => {
    const file = await place();
    const refused = withCode('TIERED_CONFIG_INVALID');
    await expect(saveManifest(new MetadataContainer(0), file, { identity })).rejects.toEqual(refused);
    await expect(loadManifest(file, 0, { identity })).rejects.toEqual(refused);
    expect(await fs.readdir(path.dirname(file))).toEqual([]);
  });
});

describe('loadManifest', () => {
  it('says so if there is no manifest', async () => {
    await expect(load(await place())).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
  });

  it('refuses the manifest of another source', async () => {
    const file = await place();
    const container = containerOf(some);
    await saveManifest(container, file, { identity: `${IDENTITY}2` });
    await expect(load(file)).rejects.toEqual(withCode('TIERED_CONFIG_INVALID'));
    const loaded = await loadManifest(file, SOURCE, { identity: `${IDENTITY}2` });
    expect(entriesOf(loaded)).toEqual(entriesOf(container));
  });

  it('is aborted before it begins, while it reads, and while it makes the index', async () => {
    const file = await place();
    const container = containerOf(many('v'));
    await save(container, file);
    const reason = new Error('enough');
    await expect(load(file, AbortSignal.abort(reason))).rejects.toBe(reason);
    const reading = new AbortController();
    const loading = load(file, reading.signal);
    reading.abort(reason);
    await expect(loading).rejects.toBe(reason);
    const indexing = new AbortController();
    const restoring = MetadataContainer.restore(container.image(), SOURCE, indexing.signal);
    indexing.abort(reason);
    await expect(restoring).rejects.toBe(reason);
  });
});
