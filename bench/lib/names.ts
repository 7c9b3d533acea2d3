import { readdirSync } from 'node:fs';

/** The names of all benches: of each file in bench/ but the one that runs them. */
export function benchNames(): string[] {
  return readdirSync(new URL('..', import.meta.url))
    .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
    .map((file) => file.slice(0, -'.ts'.length));
}
