import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { makeDataset, temporaryDirectory } from '../../packages/interpose/test/helpers.js';
import { tiered } from '../../packages/tiered/test/cli/run-tiered.js';

/** A configuration whose jobs meet where nothing is. */
function configured(): string {
  const { source, tiers } = makeDataset(['a', 'b']);
  const config = {
    source: { driver: 'fs', root: source },
    tiers: [{ driver: 'fs', root: tiers[0] ?? '', quota: '8MB' }],
    control: { job: 'resnet', registry: { nats: { servers: ['nats://127.0.0.1:1'] } } },
  };
  const file = path.join(temporaryDirectory(), 'tiers.json');
  fs.writeFileSync(file, JSON.stringify(config));
  return file;
}

describe('commands of a job that finds no others', () => {
  it.each([
    ['warmup', []],
    ['serve', ['--port', '0']],
  ])('[U9] tiered %s does not begin', async (command, options) => {
    const { code, messages } = await tiered(command, configured(), ...options);
    expect(code).toBe(1);
    expect(messages).toContain('nats://127.0.0.1:1');
  });

  it.each(['stats', 'verify'])('[U9] tiered %s shares nothing, and needs none of them', async (command) => {
    const { code } = await tiered(command, configured());
    expect(code).toBe(0);
  });
});
