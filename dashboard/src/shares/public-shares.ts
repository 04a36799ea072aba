import type { Condition, ResourceObject } from '@standin/contract';
import { DEFINITIONS, parseObject, type ShareSpec } from '@standin/crds';
import type { LogStore } from '@standin/logstore';
import { defaultRedaction, type RedactionRules } from '@standin/logstore/redact';
import { isShareToken, shareTokenSha256 } from './share-token.ts';
import { sharedExchange, type SharedExchange } from './shared-exchange.ts';

/** What a link shows. */
export interface OpenedShare {
  readonly exchange: SharedExchange;
  /** RFC 3339. */
  readonly expiresAt: string;
}

/** Links, for whoever holds one: no session, nobody's rights. */
export interface PublicShares {
  /**
   * What the link shows; `undefined` for every reason why it shows nothing: unknown, expired, revoked, refused by the operator, or its log entry
   * gone. Rejects with `SourceError` (`Unavailable`) or `LogStoreError` when that cannot be told now.
   */
  open(token: string): Promise<OpenedShare | undefined>;
}

/** Where Shares come from. All that is said here is as fresh as the source of resources can say it. */
export interface ShareSource {
  /** The Share with this token, as it is now, and the uid of its Project; `undefined` if either is not there. */
  find(tokenSha256: string): Promise<FoundShare | undefined>;
}

interface FoundShare {
  readonly share: ResourceObject;
  readonly projectUid: string;
}

/** Rules of a Share; `undefined`: its spec has none, and the default for its entry is in force. */
const rulesOf = ({ redact }: Pick<ShareSpec, 'redact'>): RedactionRules | undefined =>
  redact && { headers: redact.headers ?? [], query: redact.query ?? [], jsonPaths: redact.jsonPaths ?? [] };

/** The operator has said yes to this very object. */
const isAccepted = ({ metadata, status }: ResourceObject): boolean => {
  const { conditions = [] } = DEFINITIONS.Share.status.safeParse(status).data ?? {};
  const accepted = conditions.find(({ type }) => type === ('Accepted' satisfies Condition['type']));
  return accepted?.status === 'True' && accepted.observedGeneration === metadata.generation;
};

export interface PublicSharesParts {
  readonly source: ShareSource;
  readonly store: Pick<LogStore, 'get'>;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
}

export const publicShares = ({ source, store, now = Date.now }: PublicSharesParts): PublicShares => ({
  open: async (token) => {
    if (!isShareToken(token)) return undefined;
    const found = await source.find(shareTokenSha256(token));
    if (found === undefined || !isAccepted(found.share)) return undefined;
    const parsed = parseObject(found.share);
    if (!parsed.ok || parsed.value.kind !== 'Share') return undefined;
    const { spec } = parsed.value;
    if (!(Date.parse(spec.expiresAt) > now())) return undefined;
    const entry = await store.get(spec.requestId);
    // A Share of one project must not show another's log, whatever id it names.
    if (entry?.projectUid !== found.projectUid) return undefined;
    const rules = rulesOf(spec) ?? defaultRedaction(entry);
    return { exchange: sharedExchange(entry, rules), expiresAt: spec.expiresAt };
  },
});
