import type { ControlEvents } from '@tiered/control';
import { TieredError } from '@tiered/core';
import { SafeEmitter } from '@tiered/core/internal';
import { ManualClock } from '@tiered/core/testing';
import { expect, it } from 'vitest';
import { logControl } from '../src/control/control-log.js';

it('tells that the registry is lost and found, once in ten minutes, without secrets', async () => {
  const clock = new ManualClock();
  const control = new SafeEmitter<ControlEvents>();
  const lines: string[] = [];
  logControl(control, 'resnet', clock, {
    warn: (line) => void lines.push(`! ${line}`),
    note: (line) => void lines.push(line),
  });
  const error = new TieredError('TIERED_UNAVAILABLE', 'nats://user:hunter2@host failed');
  const blink = () => {
    control.emit('registryLost', { error });
    control.emit('registryFound');
  };
  blink();
  blink();
  expect(lines).toEqual([
    expect.stringMatching(
      /^! job resnet: the registry cannot be reached \(TIERED_UNAVAILABLE: .*\); its share stays/,
    ),
    'job resnet: the registry can be reached again.',
  ]);
  expect(lines.join()).not.toContain('hunter2');
  await clock.advance(600_000);
  blink();
  expect(lines).toHaveLength(4);
});

it('tells a process whose notes nobody reads only what is wrong', () => {
  const control = new SafeEmitter<ControlEvents>();
  const lines: string[] = [];
  logControl(control, 'resnet', new ManualClock(), { warn: (line) => void lines.push(line) });
  control.emit('registryLost', { error: new Error('gone') });
  control.emit('registryFound');
  expect(lines).toHaveLength(1);
});
