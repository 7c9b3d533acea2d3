import { expect, it, onTestFinished } from 'vitest';
import { registryOn, type Engine } from './engine.js';
import { PuttingProcess } from './putting-process.js';
import { entryOf, LONG_MS, SHORT_MS, until } from './suite.js';

/** How often processes want one slot at the same time. */
const RACES = 30;

/** Registers what several processes prove, on an engine with the clocks of the machine. */
export function processTests({ engine }: { readonly engine: (ttlMs: number) => Engine }): void {
  it('[Y1] gives a slot to one of the processes that want it at the same time', async () => {
    const where = engine(LONG_MS);
    const processes = await Promise.all([1, 2, 3].map(() => started(where)));
    for (let slot = 0; slot < RACES; slot++) {
      const puts = processes.map((one, i) => one.put(entryOf(`rank-${slot}`, `${i}`), LONG_MS));
      expect((await Promise.all(puts)).filter((isMine) => isMine)).toHaveLength(1);
    }
  });

  it('[Y1] keeps the slot of a process that was killed until its record has expired', async () => {
    const where = engine(SHORT_MS);
    const registry = registryOn(where);
    onTestFinished(() => registry.close());
    await registry.open({});
    const owner = await started(where);
    expect(await owner.put(entryOf('rank-0', 'killed'), SHORT_MS)).toBe(true);
    await owner.kill();
    await until(() => registry.put(entryOf('rank-0', 'next'), { ttlMs: SHORT_MS }));
  });
}

async function started(engine: Engine): Promise<PuttingProcess> {
  const child = await PuttingProcess.start(engine);
  onTestFinished(() => child.kill());
  return child;
}
