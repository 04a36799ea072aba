import type { ResourceObject, ResourceSource, ServiceSource, SourceProblem } from '@standin/contract';
import type { RefusedTargets } from '@standin/egress';
import type { LogStore } from '@standin/logstore';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import type { RecordedClaims } from './claims/claim-controller.ts';
import type { DesiredState } from './desired-state.ts';
import type { SpoolVolumes } from './drain/volume-controller.ts';
import type { GatewayMemory } from './gateways/gateway-memory.ts';
import type { IsGatewayGone } from './gateways/gateway-pods.ts';
import type { OperatorMetrics } from './metrics.ts';
import type { CertificateSource } from './publish/certificate-renewal.ts';
import type { Leadership } from './publish/leadership.ts';
import type { StreamServer } from './publish/stream-server.ts';
import type { LedgerStore } from './quota/ledger-store.ts';
import type { QuotaAudit } from './quota/quota-audit.ts';
import type { OpenReplayParts } from './replay/open-replay-parts.ts';
import type { OperatorSettings } from './settings.ts';
import type { StatusWritten } from './status/served-status.ts';
import type { TranslateSettings, Translator } from './translate/index.ts';

/** The dependencies of an operator. */
export interface OperatorParts {
  readonly settings: OperatorSettings;
  readonly translateSettings: TranslateSettings;
  readonly source: ResourceSource;
  /** Undefined if there are no Services. In that case, `serviceRef` is not checked. */
  readonly services?: ServiceSource | undefined;
  /** Targets that replays must not reach. The operator adds its own addresses and the targets that its settings refuse. */
  readonly refused?: RefusedTargets;
  readonly certificates: CertificateSource;
  readonly leadership: Leadership;
  readonly gatewayMemory: GatewayMemory;
  /** Returns whether a disconnected gateway and all its data are gone. */
  readonly isGatewayGone: IsGatewayGone;
  /** The permits granted from each account's quota. */
  readonly ledgers: LedgerStore;
  /** Undefined if the oldest object gets each URI, key and prefix, because all objects belong to one user. */
  readonly claims?: RecordedClaims | undefined;
  /** The volumes of gateways that were scaled down. Undefined if they are not drained. */
  readonly spoolVolumes?: SpoolVolumes | undefined;
  readonly logger: Logger;
  readonly registry: Registry;
  /** Holds captured requests and replay results. Without a log store, Replays and Purges report `NoLogStore` and wait. */
  readonly logStore?: LogStore | undefined;
  /** Called with every status that is written. */
  readonly onStatus?: (written: StatusWritten) => void;
  /** Called with all problems of the source's input, each time they change. */
  readonly onProblems?: (problems: readonly SourceProblem[]) => void;
  /** Called with every removed object. */
  readonly onRemoved?: (object: ResourceObject) => void;
}

/** The dependencies of an operator, and the parts that outlive a leader's term. */
export interface ControllerParts extends OperatorParts {
  readonly desired: DesiredState;
  readonly translator: Translator;
  readonly server: StreamServer;
  readonly metrics: OperatorMetrics;
  /** Undefined if there is no log store. */
  readonly audit: QuotaAudit | undefined;
  readonly replays: OpenReplayParts;
}
