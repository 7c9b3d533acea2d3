import assert from 'node:assert/strict';
import type { IndexHome } from '../driver/driver.js';
import { assertCode, openTest, type ConformanceTest, type OpenSubject } from './subject.js';
import { someBytes } from '../testing/some-bytes.js';

/** Tests the home that a storage provides for an index; on a driver without one, that it says so. */
function indexTest(
  name: string,
  body: (home: IndexHome, subject: OpenSubject) => Promise<void> | void,
): ConformanceTest {
  return openTest(`${name}, or is refused`, async (subject) => {
    const { driver } = subject;
    if (!driver.capabilities.index) return assertCode(driver.openIndex({}), 'TIERED_UNSUPPORTED');
    const home = await driver.openIndex({});
    try {
      await body(home, subject);
    } finally {
      await home.close();
    }
  });
}

/** Tests of the home of a tier's index. */
export const indexes: readonly ConformanceTest[] = [
  indexTest('openIndex() says who is running', async (home) => {
    assert.equal(await home.isRunning(home.member), true);
    assert.equal(await home.isRunning('nobody'), false);
    assert.deepEqual(await home.others(), []);
  }),
  indexTest('openIndex() measures in blocks', (home) => {
    assert.ok(Number.isSafeInteger(home.blockBytes) && home.blockBytes >= 1);
  }),
  indexTest('clearUp() of who left nothing, and forget() of what is not there, do nothing', async (home) => {
    await home.clearUp('nobody');
    await home.forget('nothing');
  }),
  indexTest('removeEmptyDirectories() leaves every object', async (home, { driver, put }) => {
    await put('some/where/object', someBytes(10, 1));
    await home.removeEmptyDirectories();
    assert.equal((await driver.stat('some/where/object', {})).size, 10);
  }),
];
