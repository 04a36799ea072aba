import { z } from 'zod';

/** Every setting of the dashboard. */
export const dashboardSettings = z.object({
  host: z.string().default('127.0.0.1').describe('Address on which the dashboard answers; local mode: loopback only.'),
  port: z.coerce.number().int().min(0).max(65_535).default(3000).describe('Port of the dashboard; 0 takes a free one.'),
});

export type DashboardSettings = Readonly<z.infer<typeof dashboardSettings>>;

/** React decides by NODE_ENV, when it is loaded, whether to check itself at every step. */
export const preferProductionReact = (): void => {
  if (!Object.hasOwn(process.env, 'NODE_ENV')) process.env.NODE_ENV = 'production';
};
