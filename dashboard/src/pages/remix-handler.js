// JavaScript with its own type declarations: Remix's types declare that NODE_ENV is set in every process, which would then apply to all code
// that imports this package.
import { createRequestHandler } from '@remix-run/node';

export const remixHandler = (build) => createRequestHandler(build, 'production');
