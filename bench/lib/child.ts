import { fork } from 'node:child_process';
import { once } from 'node:events';

/** What a child says: how far it is, or at last its answer. */
type Said<Answer> = { readonly progress: string } | { readonly answer: Answer };

/** How to run a child. */
export interface ChildOptions {
  /** Beside this process's own; `undefined` takes a variable away. */
  readonly environment?: NodeJS.ProcessEnv;
  readonly progress?: (text: string) => void;
}

/**
 * Runs a module in a process of its own, gives it a task, and resolves to its answer. The process is killed
 * with SIGKILL as soon as it has answered.
 * @throws Error if it ends without an answer.
 */
export async function runInChild<Answer>(
  module: URL,
  task: object,
  { environment, progress }: ChildOptions = {},
): Promise<Answer> {
  const child = fork(module, { env: { ...process.env, ...environment } });
  const ended = once(child, 'exit') as Promise<[number | null, string | null]>;
  // Before a scratch directory is removed: nobody may write there any more.
  const kill = () => child.kill('SIGKILL');
  process.prependOnceListener('exit', kill);
  const answered = new Promise<{ answer: Answer }>((resolve) => {
    child.on('message', (said: Said<Answer>) => {
      if ('answer' in said) resolve(said);
      else progress?.(said.progress);
    });
  });
  child.send(task);
  const last = await Promise.race([answered, ended]);
  kill();
  const [code, signal] = await ended;
  process.off('exit', kill);
  if (!Array.isArray(last)) return last.answer;
  throw new Error(`${module.pathname} ended with ${code ?? signal} and no answer`);
}

/**
 * What a module that `runInChild` runs has to do: takes the task, and gives the answer. It ends if its parent
 * does.
 */
export async function answerParent(
  work: (task: never, progress: (text: string) => void) => Promise<object>,
): Promise<void> {
  process.once('disconnect', () => process.exit());
  const [task] = (await once(process, 'message')) as [never];
  process.send?.({ answer: await work(task, (progress) => process.send?.({ progress })) });
}
