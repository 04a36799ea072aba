import {
  DashboardBuildError,
  dashboardSettings,
  ensureDashboardBuild,
  localAccess,
  runDashboard,
} from '@standin/dashboard';
import type { Backend, Dashboard, PublicSharesSource } from '@standin/dashboard';
import type { Logger } from 'pino';
import { isPortTaken, PlainError } from '../plain-error.ts';
import { choosePort } from './choose-port.ts';
import type { DevOutput } from './dev-output.ts';

/** The default port, if it is free. Many other programs also use this port. */
const PORT_DEFAULT = 3_000;
const FLAG = '--dashboard-port';

/**
 * Resolves with the dashboard's port. If `wanted` is undefined, this is the default port if that port is free, and 0 otherwise. For
 * 0, a free port is chosen when the dashboard listens, so that no other process can take it first. Rejects with a `PlainError` if
 * the requested port is unavailable.
 */
export const chooseDashboardPort = async (wanted: number | undefined): Promise<number> => {
  if (wanted === 0) return 0;
  if (wanted !== undefined) return choosePort(wanted, FLAG);
  try {
    return await choosePort(PORT_DEFAULT, FLAG);
  } catch (error) {
    if (!(error instanceof PlainError)) throw error;
    return 0;
  }
};

export interface DashboardParts {
  /** Undefined if only the API is served, on a free port. */
  readonly port: number | undefined;
  /** Whether the user requested this port. */
  readonly isPortWanted: boolean;
  readonly backend: Backend;
  /** The token that the dashboard requires. Undefined if it requires none. */
  readonly token: string | undefined;
  readonly shares: PublicSharesSource;
  readonly logger: Logger;
  readonly output: DevOutput;
}

/** Builds the dashboard if necessary, and serves it. If the build fails, everything else works without the pages. */
export const startDashboard = async (parts: DashboardParts): Promise<Dashboard & { readonly hasPages: boolean }> => {
  const { port, isPortWanted, backend, token, shares, logger, output } = parts;
  const buildDir = port === undefined ? undefined : await buildPages(output);
  const serve = (chosen: number): Promise<Dashboard> =>
    runDashboard({
      settings: dashboardSettings.parse({ port: chosen }),
      access: localAccess(backend, token),
      shares,
      buildDir,
      logger: logger.child({ process: 'dashboard' }),
    });
  // Another process may have taken the port in the meantime.
  const dashboard = await serve(port ?? 0).catch((error: unknown) => {
    if (isPortWanted || !isPortTaken(error)) throw error;
    return serve(0);
  });
  return { ...dashboard, hasPages: buildDir !== undefined };
};

const buildPages = async (output: DevOutput): Promise<string | undefined> => {
  try {
    return await ensureDashboardBuild(() => output.building('the dashboard'));
  } catch (error) {
    if (!(error instanceof DashboardBuildError)) throw error;
    output.warning(error.message);
    return undefined;
  }
};
