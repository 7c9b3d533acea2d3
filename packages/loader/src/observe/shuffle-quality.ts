/** Neighbours that are looked at: enough for two digits. */
const LOOKED_AT = 100_000;

/**
 * How well an order is mixed: how far apart the numbers of samples are that follow one another, against a
 * full shuffle. There it is a third of all samples on average, and the quality is 1 to within a few percent.
 * An order that is not shuffled has a quality of nearly 0.
 */
export function shuffleQuality(order: Uint32Array): number {
  const pairs = order.length - 1;
  if (pairs < 1) return 1;
  const step = Math.max(1, Math.floor(pairs / LOOKED_AT));
  let [sum, count] = [0, 0];
  for (let i = 0; i < pairs; i += step) {
    sum += Math.abs((order[i + 1] ?? 0) - (order[i] ?? 0));
    count += 1;
  }
  // (n + 1) / 3 is what two different numbers of n differ by on average.
  return sum / count / ((order.length + 1) / 3);
}
