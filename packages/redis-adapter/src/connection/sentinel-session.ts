import { ErrorReply } from 'redis';
import type { Address, SentinelOptions, ServerOptions } from '../options.js';
import { parsedAddress } from '../options.js';
import { WrongServerError } from './failures.js';
import { clientOf, SingleSession, type Client, type Reply, type Session } from './session.js';

/**
 * Connects to the master that the Sentinels name. All Sentinels are asked at once, and the first server that
 * confirms it is the master is used. So a Sentinel that hangs, or does not know of a failover yet, does no
 * harm. When the master is lost, the next session asks again.
 */
export function sentinelSession(sentinel: SentinelOptions, options: ServerOptions): Session {
  return new SingleSession(async (attempt) => {
    const masters = sentinel.nodes.map(async (address) => {
      const asked = await attempt(clientOf(address, options, sentinel));
      const master = await masterOf(asked, sentinel.name);
      asked.destroy();
      const client = await attempt(clientOf(master, options));
      await assertMaster(client);
      return client;
    });
    return Promise.any(masters).catch((error: unknown) => {
      const { errors } = error as { readonly errors: readonly unknown[] };
      // Of several errors, a server's reply says more than a failure to reach another server.
      throw errors.find((each) => each instanceof ErrorReply) ?? errors[0];
    });
  });
}

async function masterOf(sentinel: Client, name: string): Promise<Address> {
  const reply = await sentinel.sendCommand<Reply>(['SENTINEL', 'GET-MASTER-ADDR-BY-NAME', name]);
  if (!Array.isArray(reply)) throw new WrongServerError(`the Sentinel knows no master of this name`);
  const [host, port] = (reply as readonly Reply[]).map(String);
  return parsedAddress(host?.includes(':') === true ? `[${host}]:${port}` : `${host}:${port}`);
}

async function assertMaster(client: Client): Promise<void> {
  const reply = await client.sendCommand<Reply>(['ROLE']);
  const [role] = reply as readonly Reply[];
  if (String(role) !== 'master') throw new WrongServerError('the Sentinel names a server that is no master');
}
