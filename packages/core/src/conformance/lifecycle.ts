import assert from 'node:assert/strict';
import { assertBytes, listKeys, openTest, putter, readAll, type ConformanceTest } from './subject.js';
import { someBytes } from '../testing/some-bytes.js';

/** Tests of opening and closing. */
export const lifecycle: readonly ConformanceTest[] = [
  {
    name: 'has a name, and capabilities that cannot be changed',
    run: async ({ driver }) => {
      assert.ok(driver.name.length > 0, 'the name is empty');
      assert.ok(Object.isFrozen(driver.capabilities), 'capabilities are not frozen');
    },
  },
  {
    name: 'says where its storage is, before open() and after, without secrets, or that it is nowhere else',
    run: async ({ driver }) => {
      const before = driver.location;
      await driver.open({});
      const open = driver.location;
      await driver.close();
      assert.equal(driver.location, before, 'the location after close() is another one');
      assert.equal(open === undefined, before === undefined, 'open() changed whether there is a location');
      if (before === undefined) return;
      // No credentials before the host, and a slash between location and key.
      for (const location of [before, open])
        assert.match(String(location), /^[a-z][a-z\d+.-]*:\/\/[^/@]*\/(.*\/)?$/);
    },
  },
  {
    name: 'close() is idempotent, also without open()',
    run: async ({ driver }) => {
      await driver.close();
      await driver.open({});
      await driver.close();
      await driver.close();
    },
  },
  {
    name: 'works again after close() and open(), with its objects if it is persistent',
    run: async (subject) => {
      const { driver } = subject;
      const bytes = someBytes(1000, 1);
      await driver.open({});
      await putter(subject)('kept', bytes);
      assertBytes(await readAll(driver, 'kept'), bytes, 'before close');
      await driver.close();
      await driver.open({});
      try {
        if (!driver.capabilities.persistent) await putter(subject)('kept', bytes);
        assertBytes(await readAll(driver, 'kept'), bytes, 'after reopening');
      } finally {
        await driver.close();
      }
      assert.equal(subject.openResources?.() ?? 0, 0, 'the driver holds resources after close()');
    },
  },
  {
    name: 'open() under an aborted signal rejects with its reason, and can be called again',
    run: async ({ driver }) => {
      const reason = new Error('no longer wanted');
      await assert.rejects(driver.open({ signal: AbortSignal.abort(reason) }), reason);
      await driver.open({});
      await driver.close();
    },
  },
  openTest('every operation under an aborted signal rejects with its reason', async ({ driver, put }) => {
    await put('object', someBytes(10, 1));
    const reason = new Error('no longer wanted');
    const signal = AbortSignal.abort(reason);
    const { capabilities } = driver;
    const target = new Uint8Array(10);
    const calls: [string, () => Promise<unknown>][] = [
      ['stat', () => driver.stat('object', { signal })],
      ['read', () => driver.read('object', { offset: 0, length: 10, signal })],
      ['readInto', () => driver.readInto('object', target, { offset: 0, signal })],
    ];
    if (capabilities.list) calls.push(['list', () => listKeys(driver, '', signal)]);
    if (capabilities.usage) calls.push(['usage', () => driver.usage({ signal })]);
    if (capabilities.write) calls.push(['write', () => driver.write('new', target, { size: 10, signal })]);
    if (capabilities.write) calls.push(['create', () => driver.create('new', { size: 10, signal })]);
    if (capabilities.index) calls.push(['openIndex', () => driver.openIndex({ signal })]);
    if (capabilities.delete) calls.push(['delete', () => driver.delete('object', { signal })]);
    for (const [name, call] of calls)
      await assert.rejects(call(), reason, `${name} did not reject with the reason`);
    assertBytes(await readAll(driver, 'object'), someBytes(10, 1), 'after aborted operations');
  }),
];
