// Has a worker thread load TypeScript: on Node 20 the hooks of tsx are those of the main thread alone.
import { register } from 'tsx/esm/api';

register();
