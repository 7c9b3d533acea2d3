import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens, and resolves to the URL. Rejects with Node's own error, such as that of a port that is taken. */
export async function listening(server: Server, host: string, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${taken}`;
}
