import { compileC, hasCompiler } from './compile.js';
import { RoundProcess, writePaths } from './round-process.js';

/** What a C reader is to read, and how. */
export interface CReaderOptions {
  /** Where the program is built. */
  readonly directory: string;
  /** Files of the same size. */
  readonly paths: readonly string[];
  /** The size of a file. */
  readonly bytes: number;
  readonly threads: number;
  /** Files that the memory of a thread holds, which is used round and round. */
  readonly slots: number;
}

/** A program in C that reads files: what the hardware and the system give to anybody. */
export const CReader = {
  /** Whether there is a compiler. */
  get available(): boolean {
    return hasCompiler();
  },

  /** Compiles the program and starts it. */
  async start({ directory, paths, bytes, threads, slots }: CReaderOptions): Promise<RoundProcess> {
    const program = await compileC(new URL('c-reader.c', import.meta.url), directory, ['-pthread']);
    const list = await writePaths(directory, paths);
    return RoundProcess.start({
      command: program,
      arguments: [...[threads, bytes, slots].map(String), list],
      bytes: paths.length * bytes,
    });
  },
};
