// JavaScript with types of its own beside it: Remix's declare NODE_ENV to be set in every process, which then counts for all code that
// imports this package.
import { createRequestHandler } from '@remix-run/node';

export const remixHandler = (build) => createRequestHandler(build, 'production');
