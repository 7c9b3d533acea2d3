// Listens on a socket, as another user's server would. Says so, and when a client comes; until it is killed.
import net from 'node:net';

const [path] = process.argv.slice(2);
const server = net.createServer(() => process.send({ connected: true }));
server.listen(path, () => process.send({ listening: true }));
