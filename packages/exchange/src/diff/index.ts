/** The differences between two responses. Uses Node's crypto and zlib, so it does not work in a browser. */
export type { ScalarChange } from './diff-json.ts';
export { diffLines } from './diff-lines.ts';
export { COMPARED_BYTES_MAX, diffResponses } from './diff-responses.ts';
