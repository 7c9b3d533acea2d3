import { lru } from '@tiered/tiering';
import fs from 'node:fs';
import path from 'node:path';
import { expect, inject, it } from 'vitest';
import { describeShim, program, run, serve, temporaryDirectory } from './helpers.js';

const FILES = 64;
const SECONDS = inject('nightly') ? 60 : 5;
const CHUNK = 2 ** 16;
/** Copies that have to go in that time, at least: on a busy machine it takes several turns. */
const EVICTED = 20 * SECONDS;
const TIMEOUT_MS = 60_000 + 4000 * SECONDS;

describeShim('threads that read while copies come and go', () => {
  it('[I1] get no wrong byte, and no error', { timeout: TIMEOUT_MS }, async () => {
    const above = temporaryDirectory();
    const source = path.join(above, 'source');
    fs.mkdirSync(source);
    const files = Array.from({ length: FILES }, (_, i) => path.join(source, `file ${i}`));
    for (const [i, file] of files.entries())
      fs.writeFileSync(file, `${path.basename(file)}\n`.repeat(1000 + 50 * i));
    // With room for a third of them, so that each copy that comes drives others out.
    const interposer = await serve(
      { source, tiers: [path.join(above, 'tier')] },
      { quota: 8 * CHUNK, placement: { policy: lru, chunk: CHUNK } },
    );
    const churn = await program('churn');
    let read = 0;
    do {
      read += Number(await run(interposer, churn, [String(SECONDS), ...files]));
      await interposer.idle();
    } while (interposer.stats().hierarchy.placement.evicted < EVICTED);
    const { opens, redirected, uncounted, hierarchy } = interposer.stats();
    expect(opens + uncounted).toBeGreaterThanOrEqual(read);
    expect(Math.min(redirected, opens - redirected)).toBeGreaterThan(100);
    expect(hierarchy.placement.failed).toBe(0);
  });
});
