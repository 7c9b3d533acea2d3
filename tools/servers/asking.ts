import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';

/** Whether somebody listens on a port of 127.0.0.1. */
export async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}

/** Whether a server answers with 200. */
export async function answersOk(url: string): Promise<boolean> {
  const request = get(url, { agent: false });
  try {
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return response.statusCode === 200;
  } catch {
    return false;
  } finally {
    request.destroy();
  }
}
