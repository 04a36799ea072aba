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

/** Taken where it is free; many a program of one's own wants it, too. */
const PORT_DEFAULT = 3_000;
const FLAG = '--dashboard-port';

/**
 * `undefined`: the usual one, or a free one, which is 0 here: it is chosen when the dashboard listens, or somebody takes it meanwhile. Rejects
 * with a `PlainError` when the wanted one cannot be had.
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
  readonly port: number;
  /** Somebody asked for that one. */
  readonly isPortWanted: boolean;
  readonly backend: Backend;
  /** What it asks for; undefined: nothing. */
  readonly token: string | undefined;
  readonly shares: PublicSharesSource;
  readonly logger: Logger;
  readonly output: DevOutput;
}

/** Builds the dashboard where that is still to do, and serves it. Where it cannot be built, all else works without it. */
export const startDashboard = async (parts: DashboardParts): Promise<Dashboard | undefined> => {
  const { port, isPortWanted, backend, token, shares, logger, output } = parts;
  try {
    const buildDir = await ensureDashboardBuild(() => output.building('the dashboard'));
    const serve = (chosen: number): Promise<Dashboard> =>
      runDashboard({
        settings: dashboardSettings.parse({ port: chosen }),
        access: localAccess(backend, token),
        shares,
        buildDir,
        logger: logger.child({ process: 'dashboard' }),
      });
    // Somebody may have taken it since it was chosen.
    return await serve(port).catch((error: unknown) => {
      if (isPortWanted || !isPortTaken(error)) throw error;
      return serve(0);
    });
  } catch (error) {
    if (!(error instanceof DashboardBuildError)) throw error;
    output.warning(error.message);
    return undefined;
  }
};
