export { localAccess, type Access } from './access.ts';
export type {
  ApplyResult,
  Backend,
  DashboardMode,
  ExpectedVersion,
  Logs,
  ProjectIdentity,
  ProjectLog,
  Resources,
} from './backend.ts';
export { DashboardBuildError, ensureDashboardBuild } from './dashboard-build.ts';
export { checkSettled } from './check-settled.ts';
export { checkExpected } from './expected-version.ts';
export { projectLog } from './project-log.ts';
export { runDashboard, type Dashboard, type DashboardOptions } from './run-dashboard.ts';
export type { PublicSharesSource } from './shares/public-shares.ts';
export { ShareIndex } from './shares/share-index.ts';
export { clusterDashboardSettings, dashboardSettings, type DashboardSettings } from './settings.ts';
