import { execFile } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type HierarchyEvents } from '@tiered/core';
import { SafeEmitter } from '@tiered/core/internal';

interface Child {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a module of its own in a process of its own: an uncaught exception there is not one here. */
function inChildProcess(script: string): Promise<Child> {
  const args = ['--conditions=tiered-source', '--import', 'tsx', '--input-type=module', '--eval', script];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd: import.meta.dirname }, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}

describe('SafeEmitter', () => {
  it('tells its listeners what happened, and whether there was one', () => {
    const emitter = new SafeEmitter<HierarchyEvents>();
    const seen: unknown[] = [];
    emitter.on('scan', (progress) => seen.push(progress));
    expect(emitter.emit('scan', { objects: 3, bytes: 30 })).toBe(true);
    expect(emitter.emit('closed')).toBe(false);
    expect(seen).toEqual([{ objects: 3, bytes: 30 }]);
  });

  it('a listener that throws does not break the work that emits, and surfaces as an uncaught exception', async () => {
    const { code, stdout } = await inChildProcess(`
      import { SafeEmitter } from '@tiered/core/internal';
      process.on('uncaughtException', (error) => console.log('uncaught:', error.message));
      const emitter = new SafeEmitter();
      emitter.on('closed', () => { throw new Error('a bug of the listener'); });
      console.log('emitted:', emitter.emit('closed'));
      console.log('the work went on');
      emitter.emit('closed');
      setImmediate(() => console.log('and on'));
    `);
    expect(stdout.trim().split('\n')).toEqual([
      'emitted: true',
      'the work went on',
      'uncaught: a bug of the listener',
      'uncaught: a bug of the listener',
      'and on',
    ]);
    expect(code).toBe(0);
  });

  it('a listener that throws ends a process that does not handle uncaught exceptions, as any other bug does', async () => {
    const { code, stdout, stderr } = await inChildProcess(`
      import { SafeEmitter } from '@tiered/core/internal';
      const emitter = new SafeEmitter();
      emitter.on('closed', () => { throw new Error('a bug of the listener'); });
      emitter.emit('closed');
      console.log('the work went on');
      setImmediate(() => console.log('never printed'));
    `);
    expect(stdout.trim()).toBe('the work went on');
    expect(stderr).toContain('a bug of the listener');
    expect(code).not.toBe(0);
  });
});
