export { runGateway, type Gateway, type GatewayOptions } from './gateway.ts';
export { reportDrained, type OperatorAccess } from './config/report-drained.ts';
export { gatewaySettings, type GatewaySettings } from './settings.ts';
export type { RejectedRequest } from './request/refusal.ts';
export { ALL_PROJECTS } from './deliver/settlement.ts';
export type { LogSink } from './deliver/log-sink.ts';
export { drainSpool, type Drained, type DrainOptions } from './deliver/drain-spool.ts';
export { readQuarantine, type Quarantined } from './deliver/quarantine.ts';
