import { fileURLToPath } from 'node:url';
import ts from 'typescript';
import { expect, it } from 'vitest';

/** The type parameters of channels, as Node 20 to 25 and Node 26 have them: in another order. */
const ORDERS = [
  'Store = unknown, Context extends object = object',
  'Context extends object = object, Store = Context',
];

it.each(ORDERS)('channels compile with types of Node whose parameters are <%s>', (parameters) => {
  const node = `
    declare module 'node:async_hooks' { export class AsyncLocalStorage<T> { getStore(): T | undefined } }
    declare module 'node:diagnostics_channel' {
      import { AsyncLocalStorage } from 'node:async_hooks';
      class Channel<${parameters}> {
        bindStore(store: AsyncLocalStorage<Store>, transform?: (context: Context) => Store): void;
      }
      interface TracingChannelSubscribers<Context extends object> { start(context: Context): void }
      interface TracingChannel<${parameters}> {
        start: Channel<${namesOf(parameters)}>;
        end: unknown; asyncStart: unknown; asyncEnd: unknown; error: unknown;
        hasSubscribers: boolean; tracePromise: unknown;
        subscribe(subscribers: unknown): void; unsubscribe(subscribers: unknown): void;
      }
      function tracingChannel<${parameters}>(name: string): TracingChannel<${namesOf(parameters)}>;
    }`;
  expect(problemsOf(node)).toEqual([]);
});

function namesOf(parameters: string): string {
  return parameters.startsWith('Store') ? 'Store, Context' : 'Context, Store';
}

/** What the compiler says of the channels, with these types in place of Node's. */
function problemsOf(node: string): string[] {
  const options: ts.CompilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: true, types: [], lib: ['lib.es2022.d.ts'] },
    ...{ target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext },
  };
  const host = ts.createCompilerHost(options);
  const read = host.getSourceFile.bind(host);
  host.getSourceFile = (name, version) =>
    name === 'node.d.ts' ? ts.createSourceFile(name, node, ts.ScriptTarget.ES2022) : read(name, version);
  const channels = fileURLToPath(new URL('../src/tracing/channels.ts', import.meta.url));
  const program = ts.createProgram(['node.d.ts', channels], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));
}
