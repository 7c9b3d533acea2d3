import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { BOTH_WAYS, place, putFile, textOf, withCode } from './helpers.js';

describe.each(BOTH_WAYS)('a file that another program changes: $way', ({ blockingCalls }) => {
  it('is served as it is now after the next stat()', async () => {
    const { root, driver } = await place({ blockingCalls });
    await putFile(root, 'file', Buffer.from('old'));
    expect(await textOf(driver, 'file')).toBe('old');
    await putFile(root, 'file', Buffer.from('new'));
    expect(await textOf(driver, 'file'), 'the descriptor that is kept').toBe('old');
    await driver.stat('file', {});
    expect(await textOf(driver, 'file')).toBe('new');
    fs.appendFileSync(path.join(root, 'file'), ' and longer');
    expect((await driver.stat('file', {})).size).toBe(14);
    expect(await textOf(driver, 'file')).toBe('new and longer');
    fs.truncateSync(path.join(root, 'file'), 1);
    expect(await textOf(driver, 'file'), 'short at the end that is there').toBe('n');
    await driver.stat('file', {});
    expect(await textOf(driver, 'file')).toBe('n');
    expect(driver.openFiles).toBe(1);
  });

  it('is not served any more once stat() has found it missing', async () => {
    const { root, driver } = await place({ blockingCalls });
    await putFile(root, 'file', Buffer.from('old'));
    expect(await textOf(driver, 'file')).toBe('old');
    fs.rmSync(path.join(root, 'file'));
    await expect(driver.stat('file', {})).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
    await expect(textOf(driver, 'file')).rejects.toEqual(withCode('TIERED_NOT_FOUND'));
  });
});

it('a read under way while the file is replaced does not hide the new one from reads after stat()', async () => {
  const { root, driver } = await place({ blockingCalls: false });
  for (let round = 0; round < 100; round++) {
    const [key, aside] = [`${round}`, path.join(root, 'aside')];
    fs.writeFileSync(path.join(root, key), 'old');
    const looking = driver.stat(key, {});
    const reading = textOf(driver, key);
    // In the meantime the thread pool has found the old file and opened it.
    fs.writeFileSync(aside, 'newer');
    fs.renameSync(aside, path.join(root, key));
    const { size } = await looking;
    await reading;
    if (size === 5) expect(await textOf(driver, key), `round ${round}`).toBe('newer');
  }
});
