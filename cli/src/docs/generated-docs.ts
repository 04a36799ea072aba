import { configurationDoc } from './configuration-doc.ts';
import { errorsDoc } from './errors-doc.ts';

/** The documents that are generated from the code: path relative to the checkout's root, and text. */
export const generatedDocs = (): ReadonlyMap<string, string> =>
  new Map([
    ['docs/configuration.md', configurationDoc()],
    ['docs/errors.md', errorsDoc()],
  ]);
