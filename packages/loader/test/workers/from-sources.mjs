// Lets a worker thread load sources, as the thread that starts it does.
import { register } from 'tsx/esm/api';

register();
