import type { LoadedConfig } from '@tiered/config';
import type { Interposer } from '@tiered/interpose';
import type { ProgramsLook } from '../../monitor/look.js';
import { serveMonitor } from '../../monitor/serve-monitor.js';
import { ownSockets } from '../../monitor/sockets.js';
import { messageOf } from '../../words.js';
import type { CommandHost } from '../host.js';
import { programsText } from '../summary.js';

/** Seconds between two lines of status on a terminal. */
const STATUS_SECONDS = 30;

/** Lets `tiered top` watch what programs do, until the hierarchy closes. Where it cannot, says why. */
export async function offerMonitor(
  { terminal, clock }: Pick<CommandHost, 'terminal' | 'clock'>,
  interposer: Interposer,
  { monitor }: Pick<LoadedConfig, 'monitor'>,
): Promise<void> {
  const directory = monitor ?? ownSockets();
  const programs = () => lookAt(interposer);
  try {
    await serveMonitor(interposer.hierarchy, { directory, programs, clock });
  } catch (error) {
    terminal.write(`warning: "tiered top" cannot watch this: ${messageOf(error)}\n`);
  }
}

/**
 * Writes a line of status to a terminal every 30 seconds in which files were opened, until the signal.
 * Elsewhere, nobody reads it: `tiered top` shows the same.
 */
export async function showStatus(
  { terminal, clock }: Pick<CommandHost, 'terminal' | 'clock'>,
  interposer: Interposer,
  signal: AbortSignal,
): Promise<void> {
  if (terminal.isTTY !== true) return;
  let before = lookAt(interposer);
  for (;;) {
    const isOver = await clock.sleep(STATUS_SECONDS * 1000, signal, { background: true }).then(
      () => false,
      () => true,
    );
    if (isOver) return;
    const now = lookAt(interposer);
    if (now.opens !== before.opens) terminal.write(`tiered: ${programsText(now, before)}\n`);
    before = now;
  }
}

function lookAt(interposer: Interposer): ProgramsLook {
  const { opens, redirected, sourceBytes, copyBytes, epochs } = interposer.stats();
  const { root } = interposer.about;
  return { root, opens, redirected, sourceBytes, copyBytes, epoch: epochs.length };
}
