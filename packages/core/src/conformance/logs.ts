import assert from 'node:assert/strict';
import type { SharedLog, StorageDriver } from '../driver.js';
import { assertCode, openTest, type ConformanceTest } from './subject.js';

/** A test of the log, which gets so many openings of it; on a driver that has none, that it says so. */
function logTest(
  name: string,
  body: (logs: readonly [SharedLog, SharedLog], driver: StorageDriver) => Promise<void> | void,
): ConformanceTest {
  return openTest(`${name}, or is refused`, async ({ driver }) => {
    if (!driver.capabilities.log) return assertCode(driver.openLog({}), 'TIERED_UNSUPPORTED');
    const logs = [await driver.openLog({}), await driver.openLog({})] as const;
    try {
      await body(logs, driver);
    } finally {
      for (const log of logs) log.close();
    }
  });
}

/** The log that all who use a storage share. */
export const logs: readonly ConformanceTest[] = [
  logTest(
    'the log has the same lines in the same order for all who opened it',
    async ([one, two], driver) => {
      const lines = Array.from({ length: 200 }, (_, i) => `line ${i}`);
      for (let i = 0; i < lines.length; i += 2) {
        one.append(lines.slice(i, i + 1));
        two.append(lines.slice(i + 1, i + 2));
      }
      assert.deepEqual([...one.readNew()], lines);
      assert.deepEqual([...two.readNew()], lines);
      const late = await driver.openLog({});
      assert.deepEqual([...late.readNew()], lines);
      late.close();
    },
  ),
  logTest('readNew() gives each line once, one’s own among them', ([one, two]) => {
    assert.deepEqual([...one.readNew()], []);
    one.append(['1', '2']);
    assert.deepEqual([...one.readNew()], ['1', '2']);
    assert.deepEqual([...one.readNew()], []);
    two.append(['3']);
    one.append([]);
    one.append(['4']);
    assert.deepEqual([...one.readNew()], ['3', '4']);
    assert.deepEqual([...two.readNew()], ['1', '2', '3', '4']);
  }),
  logTest('the log takes lines of any characters and any length, also many at once', ([one, two]) => {
    const lines = ['', '{"key":"übergröße/日本語.jpg"}', '\t "\\" \u2028 ', '', 'x'.repeat(3_000_000), 'end'];
    one.append(lines);
    assert.deepEqual([...two.readNew()], lines);
    const many = Array.from({ length: 200_000 }, (_, i) => `${i}`);
    two.append(many);
    assert.deepEqual([...one.readNew()].slice(lines.length), many);
  }),
  logTest(
    'replace() puts other lines in the place of the log, which others see',
    async ([one, two], driver) => {
      one.append(['old']);
      assert.deepEqual([one.current, two.current], [true, true]);
      one.replace(['new 1', 'new 2']);
      assert.deepEqual([one.current, two.current], [true, false]);
      assert.deepEqual([...one.readNew()], [], 'lines that were put there are not new to who did');
      const three = await driver.openLog({});
      three.append(['new 3']);
      assert.deepEqual([...three.readNew()], ['new 1', 'new 2', 'new 3']);
      assert.deepEqual([...one.readNew()], ['new 3']);
      three.replace([]);
      assert.equal(one.current, false);
      assert.equal(three.current, true);
      three.close();
    },
  ),
  logTest('members differ, and are alive until they close', async ([one, two], driver) => {
    const three = await driver.openLog({});
    const members = [one, two, three].map(({ member }) => member);
    assert.equal(new Set(members).size, 3);
    assert.deepEqual(
      members.map((member) => two.isAlive(member)),
      [true, true, true],
    );
    three.close();
    three.close();
    assert.equal(one.isAlive(three.member), false);
    assert.equal(one.isAlive(two.member), true);
  }),
  logTest('the log stays as it is while nobody has it open', async ([one, two], driver) => {
    one.append(['kept']);
    one.close();
    two.close();
    if (driver.capabilities.persistent) {
      await driver.close();
      await driver.open({});
    }
    const next = await driver.openLog({});
    assert.deepEqual([...next.readNew()], ['kept']);
    next.close();
  }),
];
