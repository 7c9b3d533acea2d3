import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isPresent, Presence, presences, removePresence } from '../src/index-home/presence.js';

let directory: string;
let shown: Presence[];

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'tiered-presence-'));
  shown = [];
});

afterEach(() => {
  for (const presence of shown) void presence.end();
  fs.rmSync(directory, { recursive: true, force: true });
});

async function begin(where = directory): Promise<Presence> {
  const presence = await Presence.begin(where);
  shown.push(presence);
  return presence;
}

describe('a presence', () => {
  it('[T3] is seen until it ends, and leaves nothing', async () => {
    const presence = await begin();
    expect(await isPresent(directory, presence.id)).toBe(true);
    expect(await presences(directory)).toEqual([presence.id]);
    await presence.end();
    await presence.end();
    expect(await isPresent(directory, presence.id)).toBe(false);
    expect(await presences(directory)).toEqual([]);
  });

  it('[T3] is seen below a path that is longer than the kernel takes for a socket', async () => {
    const long = path.join(directory, 'x'.repeat(120), 'y'.repeat(120));
    fs.mkdirSync(long, { recursive: true });
    const presence = await begin(long);
    expect(await isPresent(long, presence.id)).toBe(true);
    await presence.end();
    expect(await isPresent(long, presence.id)).toBe(false);
    expect(fs.readdirSync(long)).toEqual([]);
  });

  it('is not shown any more when its socket was deleted', async () => {
    const presence = await begin();
    await removePresence(directory, presence.id);
    expect(await presence.isShown()).toBe(false);
    expect(await isPresent(directory, presence.id)).toBe(false);
  });

  it('that never came to be shown is among those that can be cleared up', async () => {
    fs.mkdirSync(path.join(directory, 'some-id.new'));
    fs.writeFileSync(path.join(directory, 'some-id.new', 's'), '');
    expect(await presences(directory)).toEqual(['some-id.new']);
    expect(await isPresent(directory, 'some-id.new')).toBe(false);
    await removePresence(directory, 'some-id.new');
    expect(await presences(directory)).toEqual([]);
  });
});
