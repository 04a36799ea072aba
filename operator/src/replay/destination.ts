import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  API_KEY_DATA_KEY,
  configKey,
  keyFingerprint,
  LIMITS,
  type AuthorityConfig,
  type HeaderPair,
  type ResourceObject,
  type Secrets,
} from '@standin/contract';
import {
  Authority,
  secretWithdrawn,
  type EgressError,
  type ReplayDestination,
  type UpstreamTls,
} from '@standin/egress';
import type { LogEntry } from '@standin/exchange';
import { expandUrlFor } from '@standin/responses';
import type { CachedObjects } from '../object-cache.ts';
import { forwardConfig, type Translator } from '../translate/index.ts';
import { validSpec, type ReplayPlan } from './replay-plan.ts';

type ReplayedEntry = Pick<LogEntry, 'endpoint' | 'endpointUid' | 'path'>;

export interface Destination extends ReplayDestination {
  readonly timeoutMs: number;
  /** Whether the upstream comes from a `serviceRef` without a fault, so that the address policy allows cluster addresses. */
  readonly viaService: boolean;
  readonly tls?: UpstreamTls | undefined;
  /** The text that is stored in place of the key. */
  readonly keyShown: string;
  /** See `UpstreamRequest.obstacle`. Set if the request has headers from Secrets. */
  readonly obstacle?: (() => EgressError | undefined) | undefined;
}

export interface DestinationParts {
  readonly secrets: Pick<Secrets, 'read'>;
  readonly cache: CachedObjects;
  readonly translator: Pick<Translator, 'verdict' | 'serviceFault' | 'parentUid' | 'published'>;
  /** Returns the value of a Secret that an Endpoint refers to. */
  readonly secretValue: (id: string) => Uint8Array | undefined;
  /** Base URL at which replays reach the gateways. */
  readonly gatewayUrl: string;
  readonly clusterDomain: string;
}

/** This timeout is longer than the gateway waits for an upstream, so that the response is the gateway's 504. */
const GATEWAY_TIMEOUT_MS = LIMITS.forwardTimeoutMsMax + LIMITS.requestHeadTimeoutMs;

/** The key is cached for this long, so a regenerated key takes effect within this time. */
const KEY_KEPT_MS = 2_000;

/** Finds the destinations of one Replay's requests. */
export class Destinations {
  readonly #parts: DestinationParts;
  readonly #plan: ReplayPlan;
  readonly #authorities = new WeakMap<AuthorityConfig, Authority>();
  #key: { readonly value: Promise<string | undefined>; readonly readAt: number } | undefined;

  constructor(parts: DestinationParts, plan: ReplayPlan) {
    this.#parts = parts;
    this.#plan = plan;
  }

  /**
   * Resolves with the destination of a captured request, or with the reason why the request has none. Rejects with `SourceError`.
   */
  of(entry: ReplayedEntry): Promise<Destination | string> {
    const { target } = this.#plan.spec;
    switch (target.kind) {
      case 'Endpoint':
        return this.#gateway();
      case 'Upstream':
        return Promise.resolve(this.#upstream(entry));
      case 'URL': {
        const timeoutMs = LIMITS.forwardTimeoutMsDefault;
        return Promise.resolve({ target: 'URL', url: target.url ?? '', timeoutMs, viaService: false, ...WITHOUT_KEY });
      }
    }
  }

  async #gateway(): Promise<Destination | string> {
    const apiKey = await this.#readKey();
    if (apiKey === undefined) return 'The Project’s Account has no API key: see the Account’s conditions.';
    const keyShown = `sha256:${keyFingerprint(createHash('sha256').update(apiKey, 'latin1').digest('hex'))}`;
    const url = this.#parts.gatewayUrl;
    return { target: 'Endpoint', url, apiKey, keyShown, timeoutMs: GATEWAY_TIMEOUT_MS, viaService: false };
  }

  #upstream({ endpoint, endpointUid, path }: ReplayedEntry): Destination | string {
    const object = this.#endpoint(endpoint, endpointUid);
    const spec = validSpec(object, 'Endpoint');
    const { forward } = spec ?? {};
    if (object === undefined || spec === undefined || forward === undefined)
      return `Endpoint ${endpoint} has no upstream: it was deleted, or its spec.forward is missing.`;
    const { namespace } = this.#plan.project;
    const { clusterDomain, translator } = this.#parts;
    const { serviceRef } = forward;
    const isTrusted = serviceRef !== undefined && translator.serviceFault(namespace, serviceRef) === undefined;
    const place = { namespace, clusterDomain, isTrusted };
    const { url: template, timeoutMs, viaService, tls, requestHeaders } = forwardConfig(forward, place);
    const sentPath = pathInProject(this.#plan.spec.edit?.target) ?? path;
    const url = serviceRef === undefined ? expandUrlFor(spec.slug, template, sentPath) : template;
    if (url === undefined)
      return `The path of the request does not match the slug ${spec.slug} of Endpoint ${endpoint}, so the URL of its upstream is unknown.`;
    const authority = tls?.authorityUid === undefined ? undefined : this.#authority(tls.authorityUid);
    if (tls?.authorityUid !== undefined && authority === undefined)
      return `Endpoint ${endpoint} has no usable certificates in spec.forward.tls.caRef: see its conditions.`;
    const verified = tls && { authority, serverName: tls.serverName };
    const upstream = { target: 'Upstream', url, timeoutMs, viaService, tls: verified, requestHeaders } as const;
    const destination = { ...upstream, ...WITHOUT_KEY };
    if (forward.requestHeaders?.set?.some(({ valueFrom }) => valueFrom !== undefined) !== true) return destination;
    const secretHeaders = this.#secretHeaders(object);
    if (secretHeaders === undefined)
      return `Endpoint ${endpoint} has a header for its upstream from a Secret that cannot be used now: its action must be Forward, and its conditions Accepted and ResolvedRefs must be True.`;
    const obstacle = () =>
      isDeepStrictEqual(this.#secretHeaders(object), secretHeaders) ? undefined : secretWithdrawn();
    return { ...destination, secretHeaders, obstacle };
  }

  /** Returns the authority with this uid. The same for all requests of a Replay, as long as its certificates are the same. */
  #authority(uid: string): Authority | undefined {
    const config = this.#parts.translator.published(configKey({ kind: 'Authority', uid }));
    if (config?.kind !== 'Authority') return undefined;
    const known = this.#authorities.get(config);
    if (known !== undefined) return known;
    const authority = new Authority(config.certificates);
    this.#authorities.set(config, authority);
    return authority;
  }

  /**
   * Returns the headers from Secrets for the upstream of an Endpoint, or undefined if one of them cannot be used. The configuration of
   * the gateways decides, so that the upstream is the one for which the Secrets were checked.
   */
  #secretHeaders({ metadata: { uid, generation } }: ResourceObject): readonly HeaderPair[] | undefined {
    const { translator, secretValue } = this.#parts;
    const config = translator.published(configKey({ kind: 'Endpoint', uid }));
    if (config?.kind !== 'Endpoint' || config.generation !== generation || config.action.kind !== 'Forward')
      return undefined;
    const headers = (config.action.secretHeaders ?? []).map(({ name, secretId = '' }) => {
      const value = secretValue(secretId);
      return value && ([name, Buffer.from(value).toString('latin1')] as const);
    });
    return headers.every((header) => header !== undefined) ? headers : undefined;
  }

  /** Returns the Endpoint with this uid. If the Endpoint was created again, returns the new Endpoint with the same name. */
  #endpoint(name: string, uid: string): ResourceObject | undefined {
    const { cache, translator } = this.#parts;
    const known = cache.get(uid);
    if (known !== undefined) return known;
    const { project } = this.#plan;
    const later = cache.find({ kind: 'Endpoint', namespace: project.namespace, name });
    return later !== undefined && translator.parentUid(later.metadata.uid) === project.uid ? later : undefined;
  }

  #readKey(): Promise<string | undefined> {
    const now = performance.now();
    if (this.#key === undefined || now - this.#key.readAt > KEY_KEPT_MS) {
      const value = readKey(this.#parts, this.#plan);
      this.#key = { value, readAt: now };
      // A failed read is repeated with the next request.
      value.catch(() => (this.#key = undefined));
    }
    return this.#key.value;
  }
}

/** Returns the path below the project's URI of a target such as `/PROJECT-URI/v1/orders?a=1`. */
const pathInProject = (target: string | undefined): string | undefined =>
  target?.replace(/\?.*$/s, '').replace(/^\/[^/]*/, '');

const WITHOUT_KEY = { apiKey: '', keyShown: '' };

/** Resolves with the account's current key, or with undefined if there is no key. Rejects with `SourceError`. */
const readKey = async ({ secrets, translator }: DestinationParts, plan: ReplayPlan): Promise<string | undefined> => {
  const secretName = translator.verdict(plan.accountUid)?.keySecret?.secretName;
  if (secretName === undefined) return undefined;
  const key = await secrets.read(plan.project.namespace, secretName, API_KEY_DATA_KEY);
  return key && Buffer.from(key).toString('latin1');
};
