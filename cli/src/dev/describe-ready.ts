import { API_KEY_DATA_KEY, type EndpointConfig, type ResourceObject, type Secrets } from '@standin/contract';
import type { Operator } from '@standin/operator';
import type { Ready } from './dev-output.ts';

export interface DescribeReadyOptions {
  readonly operator: Operator;
  readonly secrets: Pick<Secrets, 'read'>;
  readonly gateway: string;
  /** The directory or kubeconfig that contains the resources. */
  readonly origin: string;
  readonly privateUpstreams: boolean;
}

/** Resolves with what a user needs to send the first request. */
export const describeReady = async (options: DescribeReadyOptions): Promise<Ready> => {
  const { operator, secrets, gateway, origin, privateUpstreams } = options;
  const { translator } = operator;
  const objects = [...operator.cache.values()].sort(byName);
  const accounts: { namespace: string; name: string; apiKey: string; uid: string }[] = [];
  for (const { kind, metadata } of objects) {
    if (kind !== 'Account') continue;
    const { namespace, name, uid } = metadata;
    const secretName = translator.verdict(uid)?.keySecret?.secretName;
    if (secretName === undefined) continue;
    const key = await secrets.read(namespace, secretName, API_KEY_DATA_KEY);
    if (key !== undefined) accounts.push({ namespace, name, uid, apiKey: Buffer.from(key).toString('utf8') });
  }

  const served = [...translator.objects()];
  const projects = served
    .filter(({ kind }) => kind === 'Project')
    .map(({ namespace, name, uid }) => ({ namespace, name, url: String(translator.verdict(uid)?.status.url) }))
    .sort((a, b) => a.namespace.localeCompare(b.namespace) || a.name.localeCompare(b.name));
  const endpoints = served
    .filter((object) => object.kind === 'Endpoint')
    .filter(({ action }) => action.kind === 'JSON' || action.kind === 'Forward');
  const example = endpoints
    .toSorted((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name))
    .map(({ uid, method, projectUid }) => {
      const project = served.find((object) => object.kind === 'Project' && object.uid === projectUid);
      const account = accounts.find((candidate) => project?.kind === 'Project' && candidate.uid === project.accountUid);
      const url = translator.verdict(uid)?.status.url;
      return account === undefined || typeof url !== 'string' ? undefined : { method, url, apiKey: account.apiKey };
    })
    .find((candidate) => candidate !== undefined);
  return {
    gateway,
    accounts: accounts.map(({ namespace, name, apiKey }) => ({ namespace, name, apiKey })),
    projects,
    example,
    endpoints: endpoints
      .map(({ name, method, slug, action, projectUid }) => {
        const projectUrl = String(translator.verdict(projectUid)?.status.url);
        return { name, method, slug, action: action.kind, projectUrl };
      })
      .sort((a, b) => a.slug.localeCompare(b.slug) || a.method.localeCompare(b.method)),
    origin,
    privateUpstreams,
  };
};

/**
 * Methods in the order of preference for the example. DELETE comes last, because its response shows nothing. All mocks come before
 * endpoints that forward, because their upstream may not be running.
 */
const TRY_FIRST = ['POST', 'GET', 'PUT', 'PATCH', 'DELETE'];
const rank = ({ method, action }: EndpointConfig): number =>
  TRY_FIRST.indexOf(method) + (action.kind === 'JSON' ? 0 : TRY_FIRST.length);

const byName = (a: ResourceObject, b: ResourceObject): number =>
  a.metadata.namespace.localeCompare(b.metadata.namespace) || a.metadata.name.localeCompare(b.metadata.name);
