import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/**
 * Limits the connections of a server: further ones are closed at once. Node's own limit, `maxConnections`,
 * does not work in processes of `node:cluster`, which pass such a connection on to each other without end.
 * @param refused Called for each connection that was closed.
 * @returns The open connections, kept up to date.
 */
export function boundConnections(server: Server, most: number, refused?: () => void): ReadonlySet<Socket> {
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    if (open.size >= most) {
      socket.destroy();
      refused?.();
      return;
    }
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  });
  return open;
}
