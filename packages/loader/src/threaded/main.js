import { serveLoader } from '@tiered/loader/thread';
import { parentPort, workerData } from 'node:worker_threads';

await serveLoader(parentPort, workerData);
