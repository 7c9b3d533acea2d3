import type { OperationOptions } from '../driver/driver.js';
import type { ServedBy } from './channels.js';

/** Is told of each read that was served: how, and by which tier if a copy served it. */
export type OnServed = (by: ServedBy, level?: number) => void;

/** Options of a read, with who traces it. */
export interface TracedOptions extends OperationOptions {
  /** Called once for each read that was served. Undefined where nobody traces it. */
  readonly onServed?: OnServed | undefined;
}
