import type { Condition, ResourceObject } from '@standin/contract';
import { parseObject, readStatus, shareRefusal, type ShareSpec, type ShareSurroundings } from '@standin/crds';
import type { RowVersion } from '@standin/exchange';
import type { LogStore } from '@standin/logstore';
import type { RedactionRules } from '@standin/exchange/redact';
import type { Pools } from '../pools.ts';
import { namespaceHolder } from '../holders.ts';
import { recordOpenedLink, type Audit } from '../audit-reads.ts';
import { capturedParts } from '../captured/captured-bytes.ts';
import type { WorkerPool } from '../workers/workers.ts';
import { ShareCache } from './share-cache.ts';
import { isShareToken, shareTokenSha256 } from './share-token.ts';
import type { SharedExchange } from '../captured/shared-exchange.ts';

/** The content of a link. */
export interface OpenedShare {
  readonly exchange: SharedExchange;
  /** In RFC 3339 format. */
  readonly expiresAt: string;
}

/** Shared links. Opening one requires no session and grants no permissions. */
export interface PublicShares {
  /**
   * Returns what the link shows, or undefined if the link is unknown, expired, revoked or rejected by the operator, or if its log
   * entry no longer exists. Rejects with `SourceError` (`Unavailable`), `LogStoreError` or `WorkRefused` if this cannot be
   * determined now.
   */
  open(token: string): Promise<OpenedShare | undefined>;
}

/** Reads captured requests of links. Queries count for the namespace of the link. */
export interface LinkedRequests {
  row(requestId: string, namespace: string): ReturnType<LogStore['row']>;
  version(requestId: string, namespace: string): ReturnType<LogStore['version']>;
}

/** Finds Shares by the hashes of their tokens. */
export interface ShareSource {
  /** Returns the current Share with this token, and the uid of its Project. Returns undefined if one of them does not exist. */
  find(tokenSha256: string): Promise<FoundShare | undefined>;
}

interface FoundShare {
  readonly share: ResourceObject;
  readonly projectUid: string;
  readonly surroundings: ShareSurroundings;
}

/** Returns the rules of a Share, or undefined if its spec has none, in which case the default rules for its entry apply. */
const redactionRules = ({ redact }: Pick<ShareSpec, 'redact'>): RedactionRules | undefined =>
  redact && { headers: redact.headers ?? [], query: redact.query ?? [], jsonPaths: redact.jsonPaths ?? [] };

/**
 * Returns whether the operator has accepted the current generation of the object. `Ready` does not decide, because this condition
 * lags behind the log. The operator looks for a missing request at intervals, but each opening of a link reads the request itself.
 * Users may be able to edit the status, so it can hide a link but `shareRefusal` decides whether the link may be shown.
 */
const isAccepted = ({ metadata, status }: ResourceObject): boolean => {
  const { conditions = [] } = readStatus('Share', status);
  const accepted = conditions.find(({ type }) => type === ('Accepted' satisfies Condition['type']));
  return accepted?.status === 'True' && accepted.observedGeneration === metadata.generation;
};

/** The sources that are needed to look up links and their content. */
export interface PublicSharesSource {
  readonly source: ShareSource;
  readonly store: LinkedRequests;
  /** Receives a line for each opened link. Undefined in local mode. */
  readonly audit?: Audit;
}

export interface PublicSharesParts extends PublicSharesSource {
  readonly workers: WorkerPool;
  readonly pools?: Pools;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

/** A link that currently works. */
interface WorkingLink {
  readonly spec: ShareSpec;
  readonly projectUid: string;
  readonly namespace: string;
  /** The name of the Share. */
  readonly name: string;
  /** Identifies the Share and its spec. */
  readonly identity: string;
}

/**
 * Returns whether the row belongs to the Share's project. A Share must never show another project's log, regardless of the request
 * id in its spec and the uid in its Project's status (ADR 024).
 */
const isOwnRow = ({ spec, projectUid, namespace }: WorkingLink, row: Omit<RowVersion, 'version'>): boolean =>
  row.projectUid === projectUid && row.namespace === namespace && row.project === spec.projectRef.name;

export const publicShares = ({
  source,
  store,
  audit,
  workers,
  pools,
  now = Date.now,
}: PublicSharesParts): PublicShares => {
  const cache = new ShareCache({ pools });

  const findWorking = async (tokenSha256: string): Promise<WorkingLink | undefined> => {
    const found = await source.find(tokenSha256);
    if (found === undefined || !isAccepted(found.share)) return undefined;
    const parsed = parseObject(found.share);
    if (!parsed.ok || parsed.value.kind !== 'Share') return undefined;
    const { spec } = parsed.value;
    if (shareRefusal(found.share, spec, found.surroundings, now()) !== undefined) return undefined;
    const { uid, generation, namespace, name } = found.share.metadata;
    return { spec, namespace, name, projectUid: found.projectUid, identity: `${uid}/${generation}` };
  };

  const redacted = async (link: WorkingLink): Promise<SharedExchange | undefined> => {
    const { spec, namespace } = link;
    const row = await store.row(spec.requestId, namespace);
    // A Share must not show a request from another project, even if the Share contains the id of such a request.
    if (row === undefined || !isOwnRow(link, row)) return undefined;
    const own = workers.for(() => namespaceHolder(namespace));
    return (await own.run('redactShare', { row, rules: redactionRules(spec) }, capturedParts(row))).exchange;
  };

  return {
    open: async (token) => {
      if (!isShareToken(token)) return undefined;
      const tokenSha256 = shareTokenSha256(token);
      const link = await findWorking(tokenSha256);
      const row = link && (await store.version(link.spec.requestId, link.namespace));
      if (link === undefined || row === undefined || !isOwnRow(link, row)) {
        cache.drop(tokenSha256);
        return undefined;
      }
      const cached = { tokenSha256, identity: `${link.identity}/${row.version}`, namespace: link.namespace };
      const isReady = cache.isReady(cached);
      const exchange = await cache.get(cached, () => redacted(link));
      // Redaction can take seconds, and the link may be revoked in the meantime.
      if (exchange === undefined || (!isReady && (await findWorking(tokenSha256))?.identity !== link.identity)) {
        cache.drop(tokenSha256);
        return undefined;
      }
      const { projectUid: uid, namespace, name: share, spec } = link;
      const project = { uid, namespace, name: spec.projectRef.name };
      if (audit !== undefined) recordOpenedLink(audit, project, { share, requestId: spec.requestId });
      return { exchange, expiresAt: spec.expiresAt };
    },
  };
};
