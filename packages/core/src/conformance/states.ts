import assert from 'node:assert/strict';
import type { ErrorCode } from '../support/errors.js';
import { Hierarchy } from '../hierarchy/hierarchy.js';
import { assertBytes, assertCode, putter, type ConformanceTest } from './subject.js';
import { someBytes } from '../testing/some-bytes.js';

/** Tests of the driver as the source of a hierarchy, whose guards loaders meet. */
export const states: readonly ConformanceTest[] = [
  {
    name: 'under a hierarchy: refused before and during start, served when open, refused after close',
    run: async (subject) => {
      const bytes = someBytes(5000, 1);
      await subject.driver.open({});
      await putter(subject)('object', bytes);
      await subject.driver.close();
      if (!subject.driver.capabilities.persistent) return;

      const hierarchy = new Hierarchy({ source: subject.driver });
      const calls = [
        () => hierarchy.read('object'),
        () => hierarchy.readInto('object', new Uint8Array(1)),
        () => hierarchy.readMany([{ key: 'object', target: new Uint8Array(1) }]),
        () => hierarchy.handle('object'),
        () => hierarchy.stat('object'),
        () => hierarchy.list().next(),
      ];
      // All at once, because a start on memory takes only a few turns of the event loop.
      const refuseAll = (code: ErrorCode) => Promise.all(calls.map((call) => assertCode(call(), code)));
      await refuseAll('TIERED_NOT_OPEN');
      const starting = hierarchy.open();
      await refuseAll('TIERED_NOT_OPEN');
      await starting;
      assertBytes(
        await hierarchy.read('object', { offset: 10, length: 100 }),
        bytes.subarray(10, 110),
        'a range',
      );
      assert.equal((await hierarchy.stat('object')).size, 5000);
      await assertCode(hierarchy.read('missing'), 'TIERED_NOT_FOUND');
      const closing = hierarchy.close();
      await refuseAll('TIERED_CLOSED');
      await closing;
      await refuseAll('TIERED_CLOSED');
      await assertCode(hierarchy.open(), 'TIERED_CLOSED');
      assert.equal(
        subject.openResources?.() ?? 0,
        0,
        'the driver holds resources after the hierarchy was closed',
      );
    },
  },
  {
    name: 'under a hierarchy: an aborted start rejects with the reason and leaves nothing open',
    run: async (subject) => {
      const reason = new Error('no longer wanted');
      const hierarchy = new Hierarchy({ source: subject.driver });
      const controller = new AbortController();
      const starting = hierarchy.open({ signal: controller.signal });
      controller.abort(reason);
      await assert.rejects(starting, reason);
      await assertCode(hierarchy.read('object'), 'TIERED_CLOSED');
      assert.equal(subject.openResources?.() ?? 0, 0, 'the driver holds resources after an aborted start');
    },
  },
];
