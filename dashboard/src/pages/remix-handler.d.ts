import type { NextFunction, Request, Response } from 'express';
import type { DashboardContext } from './dashboard-context.ts';

export interface RemixHandlerOptions {
  /** The module `server/index.js` of a build. */
  readonly build: unknown;
  /** Of one answer. */
  readonly getLoadContext: (request: Request, response: Response) => DashboardContext;
}

/** Serves the routes of a build. */
export declare const remixHandler: (
  options: RemixHandlerOptions,
) => (request: Request, response: Response, next: NextFunction) => Promise<void>;
