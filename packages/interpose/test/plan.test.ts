import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Plan } from '../src/replay/plan.js';

/** A plan of objects that are called by their ids. */
function planOf(order: readonly number[]): Promise<Plan> {
  async function* keys(): AsyncGenerator<string, void, undefined> {
    for (const id of order) yield String(id);
  }
  return Plan.from(keys(), { find: Number, count: Math.max(...order) + 1 });
}

const OBJECTS = 40;
/** What may be out of place of so many objects. */
const DISORDER = 10;

/** An epoch in which no object is further from its place than the disorder allows. */
const epoch = fc
  .tuple(
    ...Array.from({ length: OBJECTS / DISORDER }, (_, block) =>
      fc.shuffledSubarray(
        Array.from({ length: DISORDER }, (_unused, i) => block * DISORDER + i),
        { minLength: DISORDER },
      ),
    ),
  )
  .map((blocks) => blocks.flat());
const epochs = fc.array(epoch, { minLength: 4, maxLength: 4 }).map((all) => all.flat());

describe('a plan', () => {
  it('follows programs that leave opens out, and knows of each later open which one it is', async () => {
    const skipped = fc.uniqueArray(fc.nat(OBJECTS - 1), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(epochs, skipped, async (order, left) => {
        const plan = await planOf(order);
        expect(plan).toMatchObject({ disorder: DISORDER, span: OBJECTS });
        for (const [position, id] of order.entries()) {
          if (left.includes(position)) continue;
          expect(plan.opened(id)).toBe(true);
          // Nobody is taken to be further than he is, and nobody stays behind for long.
          expect(plan.position).toBeLessThanOrEqual(position + 1);
          expect(plan.reached).toBeGreaterThanOrEqual(position + 1 - DISORDER);
          expect(plan.dueOf(id)).toBe(plan.next[position]);
          const dues = Array.from({ length: OBJECTS }, (_, other) => plan.dueOf(other));
          expect(Math.min(...dues)).toBeGreaterThanOrEqual(plan.position);
        }
        expect(plan.position).toBe(order.length);
      }),
    );
  });

  it('is done up to the first open that was not seen, whatever the order of the others', async () => {
    await fc.assert(
      fc.asyncProperty(epochs, epochs, async (planned, opened) => {
        const plan = await planOf(planned);
        const seen = new Set<number>();
        for (const [i, id] of opened.entries()) {
          const position = plan.dueOf(id);
          plan.opened(id);
          seen.add(position);
          let first = 0;
          while (seen.has(first)) first += 1;
          expect(plan.position).toBe(first);
          expect(plan.reached).toBe(i + 1);
        }
      }),
    );
  });

  it('takes an open that comes after it was left out for what it is', async () => {
    const order = Array.from({ length: 2 * OBJECTS }, (_, i) => i % OBJECTS);
    const plan = await planOf(order);
    for (let id = 1; id <= DISORDER + 1; id++) plan.opened(id);
    expect(plan).toMatchObject({ position: DISORDER + 2 });
    expect(plan.dueOf(0)).toBe(OBJECTS);
    expect(plan.opened(0)).toBe(true);
    expect(plan.dueOf(0)).toBe(OBJECTS);
    expect(plan.opened(0)).toBe(false);
    expect(plan.reached).toBe(DISORDER + 2);
  });

  it('does not follow opens that are planned for much later, however many there are', async () => {
    const order = Array.from({ length: 4 * OBJECTS }, (_, i) => i % OBJECTS);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3), { maxLength: 100 }), async (strays) => {
        const plan = await planOf(order);
        for (const [position, id] of order.entries()) {
          expect(plan.opened(id)).toBe(true);
          expect(plan.reached).toBe(position + 1);
          // Each of them was opened just before, or a while ago.
          for (const stray of position % OBJECTS === 8 ? strays : []) expect(plan.opened(stray)).toBe(false);
        }
      }),
    );
  });

  it('finds programs again that are in another part of it', async () => {
    const objects = 400;
    const shuffled = fc.shuffledSubarray(
      Array.from({ length: objects }, (_, i) => i),
      { minLength: objects },
    );
    const all = fc.array(shuffled, { minLength: 6, maxLength: 6 }).map((epoch_) => epoch_.flat());
    await fc.assert(
      fc.asyncProperty(all, fc.integer({ min: 1, max: 4 * objects }), async (order, jump) => {
        const plan = await planOf(order);
        for (const id of order.slice(0, 50)) plan.opened(id);
        const [from, until] = [50 + jump, 50 + jump + objects - 50];
        for (const id of order.slice(from, until)) plan.opened(id);
        expect(Math.abs(plan.reached - until)).toBeLessThanOrEqual(2 * plan.disorder);
      }),
      { numRuns: 30 },
    );
  });
});
