/**
 * Runs the programs that its parent asks for, and outlives it by a moment: when the parent's channel closes,
 * because the parent closed it or ended in whatever way, it kills them and removes the directory.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, rmSync } from 'node:fs';

const directory = process.argv[2];
/** Each leads a process group. */
const running = new Map();
let ending = false;

process.on('message', ({ id, command, args, log }) => {
  if (ending) return;
  const output = openSync(log, 'a');
  const child = spawn(command, args, {
    cwd: directory,
    detached: true,
    stdio: ['ignore', output, output],
  });
  closeSync(output);
  const ended = (how) => {
    running.delete(id);
    // Between its end and the news of it, the parent takes no messages.
    if (process.connected) process.send({ id, how }, () => {});
  };
  child.once('error', (error) => ended(error.message));
  child.once('exit', (code, signal) => ended(code ?? signal));
  if (child.pid !== undefined) running.set(id, child);
});

async function end() {
  if (ending) return;
  ending = true;
  const exits = [...running.values()].map((child) => once(child, 'exit'));
  // Nothing is worth an orderly end.
  for (const child of running.values()) process.kill(-child.pid, 'SIGKILL');
  await Promise.all(exits);
  rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  process.exit();
}

process.once('disconnect', end);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, end);
// The parent may have ended while this file was loaded.
if (!process.connected) await end();
