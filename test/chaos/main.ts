import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { addFigures, lineOf, noFigures } from './figures.js';
import { runCampaign } from './simulated/campaign.js';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '60' },
    seed: { type: 'string' },
    path: { type: 'string' },
  },
});

const seed = Number(values.seed ?? randomInt(2 ** 31));
const sum = noFigures();
const found = await runCampaign({
  seed,
  ms: 1000 * Number(values.seconds),
  path: values.path,
  onBatch: (figures) => {
    addFigures(sum, figures);
    if (process.stderr.isTTY) process.stderr.write(`\r${lineOf(sum)}`);
  },
});
if (found !== undefined) {
  console.log(`${found.error}\n`);
  for (const step of found.schedule.steps) console.log(`  ${JSON.stringify(step)}`);
  console.log(JSON.stringify({ ...found.schedule, steps: undefined }));
  console.log(`replay with: npm run chaos -- --seed ${found.seed} --path ${found.path}`);
  process.exitCode = 1;
}
console.log(`seed ${seed}`);
console.log(lineOf(sum));
