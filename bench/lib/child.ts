import { fork } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs a module in a process of its own, gives it a task, and resolves to the message that it answers with.
 * @param environment Beside this process's own; `undefined` takes a variable away.
 * @throws Error if it ends without an answer.
 */
export async function runInChild<Answer>(
  module: URL,
  task: object,
  environment: NodeJS.ProcessEnv = {},
): Promise<Answer> {
  const child = fork(module, { env: { ...process.env, ...environment } });
  const ended = once(child, 'exit');
  const answered = once(child, 'message') as Promise<[Answer]>;
  child.send(task);
  const answer = await Promise.race([answered, ended.then(() => undefined)]);
  child.kill('SIGKILL');
  const how = (await ended) as [number | null, string | null];
  if (answer === undefined)
    throw new Error(`${module.pathname} ended with ${how[0] ?? how[1]} and no answer`);
  return answer[0];
}

/** What a module that `runInChild` runs has to do: takes the task, and gives the answer. Ends if its parent does. */
export async function answerParent(work: (task: never) => Promise<object>): Promise<void> {
  process.once('disconnect', () => process.exit());
  const [task] = (await once(process, 'message')) as [never];
  process.send?.(await work(task));
}
