import { systemClock } from '@tiered/core';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { EndedEarly, Processes } from './processes.js';

/** A server that speaks S3 and verifies signatures, as processes of its own on ports of 127.0.0.1. */
export interface RealServer {
  readonly name: string;
  readonly endpoint: string;
  readonly region: string;
  /** Of a user who may create buckets. The secret is another one at every start. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  /**
   * Kills its processes and removes what they stored. Both happens also when this process ends, however it
   * ends.
   */
  close(): Promise<void>;
}

/** Many times what a start takes, for machines that are busy. */
const START_TIMEOUT_MS = 120_000;

/** How to tell that a server is here, and to get it. */
export interface Installation {
  readonly name: string;
  readonly programs: readonly string[];
  /** The command that installs what is missing. */
  readonly install: string;
}

/** The command that installs a server; `undefined` if all its programs are on the PATH. */
export function missing({ programs, install }: Installation): string | undefined {
  return programs.every(isOnPath) ? undefined : install;
}

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(path.delimiter).some((directory) => {
    try {
      accessSync(path.join(directory, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

/** Draws ports, starts the processes, and resolves when the server answers. */
type Launch = (processes: Processes) => Promise<Omit<RealServer, 'name' | 'close'>>;

/**
 * Starts a server in a temporary directory, and leaves nothing behind if it fails. It is launched once more
 * if a program ends before it answers: another one may have taken a port that was free when it was drawn.
 * @param parent Where to make that directory.
 * @throws Error with the end of the logs, and the command that installs the server; also if it is not ready
 * in 120 s.
 */
export async function startServer(
  installation: Installation,
  parent: string,
  launch: Launch,
): Promise<RealServer> {
  try {
    return await startOnce(installation, parent, launch);
  } catch (error) {
    if (!(error instanceof Error && error.cause instanceof EndedEarly)) throw error;
    return startOnce(installation, parent, launch);
  }
}

async function startOnce(
  { name, install }: Installation,
  parent: string,
  launch: Launch,
): Promise<RealServer> {
  const processes = new Processes(parent, `tiered-${name.toLowerCase()}-`);
  const started = new AbortController();
  const timeout = async () => {
    await systemClock.sleep(START_TIMEOUT_MS, started.signal);
    throw new Error(`it was not ready after ${START_TIMEOUT_MS / 1000} s`);
  };
  try {
    const server = await Promise.race([launch(processes), timeout()]);
    return { ...server, name, close: () => processes.close() };
  } catch (cause) {
    const logs = processes.endOfLogs();
    await processes.close();
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${name} did not start: ${reason}\n${logs}\nTo install what it needs: ${install}`, {
      cause,
    });
  } finally {
    started.abort();
  }
}
