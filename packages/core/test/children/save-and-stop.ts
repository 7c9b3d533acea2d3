import fs from 'node:fs';
import { MetadataContainer } from '@tiered/core';
import { saveManifest } from '@tiered/core/internal';

// Saves a namespace, but stops for good when it looks at its signal for the n-th time, and says so on stdout.
const [file = '', identity = '', count = '', stopAt = ''] = process.argv.slice(2);
const container = new MetadataContainer(0);
for (let i = 0; i < Number(count); i++) container.put({ key: `shard/${i}`, size: i, version: 'after' });

const { signal } = new AbortController();
let looks = 0;
signal.throwIfAborted = () => {
  looks += 1;
  if (looks < Number(stopAt)) return;
  fs.writeSync(1, '.');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
};
await saveManifest(container, file, { identity, signal });
