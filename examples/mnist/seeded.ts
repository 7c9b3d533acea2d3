import type { initializers } from '@tensorflow/tfjs-layers';

/** What a layer needs to begin with weights that the seed decides. */
export type SeededInitializer = () => ReturnType<typeof initializers.glorotUniform>;
