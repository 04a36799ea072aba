/** The differences between two responses. Uses Node's crypto and zlib, so it does not work in a browser. */
export { diffLines } from './diff-lines.ts';
export { COMPARED_BYTES_MAX, diffResponses } from './diff-responses.ts';
