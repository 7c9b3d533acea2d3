import fs from 'node:fs';
import { hierarchyOf, type Place } from '../place.js';

/**
 * Reads objects in an order that is given, and notes in a file what was said to be placed and to be dropped:
 * by calls, which stand in their place in a record of all calls.
 */
const [where = '', notes = '', order = ''] = process.argv.slice(2);
const { hierarchy } = hierarchyOf(JSON.parse(where) as Place);
const log = fs.openSync(notes, 'w');
hierarchy.on('placed', ({ key }) => fs.writeSync(log, `placed ${key}`));
hierarchy.on('dropped', ({ key }) => fs.writeSync(log, `dropped ${key}`));
hierarchy.on('tierFault', ({ error }) => {
  throw error;
});
await hierarchy.open();
for (const key of JSON.parse(order) as string[]) {
  await hierarchy.read(key);
  // Not all, so that things are under way at the same time.
  if (key.length % 2 === 0) await hierarchy.idle();
}
await hierarchy.close();
