import { serveBatches } from '@tiered/loader/thread';
import { parentPort, workerData } from 'node:worker_threads';

await serveBatches(parentPort, workerData);
