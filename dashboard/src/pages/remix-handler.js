// This is JavaScript with separate type declarations, because Remix's own types declare NODE_ENV as always set, in all code that
// imports the package.
import { createRequestHandler } from '@remix-run/node';

export const remixHandler = (build) => createRequestHandler(build, 'production');
