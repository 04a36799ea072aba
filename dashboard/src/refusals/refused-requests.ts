import {
  LIMITS,
  REJECTIONS,
  type RefusalCount,
  type Rejection,
  type ResourceObject,
  type Sender,
  type SignatureScheme,
} from '@standin/contract';
import type { Backend, ReadRefusals } from '../backend.ts';
import { listEndpoints } from '../endpoints/endpoints.ts';
import { getProject } from '../projects/projects.ts';
import type { ProjectName } from '../resources/names.ts';
import { endpointSpec } from '../resources/specs.ts';

/** Equal requests that were refused, with the words of the problem document that their senders got. */
export interface RefusedRequest extends Omit<RefusalCount, 'lastAt'> {
  /** The status of the responses. Undefined for a code that only a newer gateway knows. */
  readonly status?: number;
  readonly title: string;
  /** What the sender should do. */
  readonly detail: string;
  readonly lastAt: string;
}

/** The scheme with which each kind of sender signs its requests. */
const SIGNED_BY: Readonly<Partial<Record<Sender, SignatureScheme>>> = {
  GitHub: 'GitHub',
  GitLab: 'Token',
  Shopify: 'Shopify',
  Slack: 'Slack',
  'Standard Webhooks': 'StandardWebhooks',
  Stripe: 'Stripe',
};

/** Returns the scheme with which the endpoint would accept the refused requests. Undefined if they had a key, or if their sender does not sign. */
const missingScheme = ({ code, sender }: Pick<RefusalCount, 'code' | 'sender'>): SignatureScheme | undefined =>
  code === 'api_key_missing' ? Object.entries(SIGNED_BY).find(([signing]) => signing === sender)?.[1] : undefined;

export interface RefusedRequests extends Omit<ReadRefusals, 'counts'> {
  readonly items: readonly RefusedRequest[];
}

/** Returns what people can do for a sender that cannot send the key. */
const adviceFor = ({ sender, slug }: RefusalCount): string =>
  [
    `${sender} cannot send this header.`,
    ...(slug === undefined ? ['The path matches no endpoint in this project.'] : []),
    `Set spec.credential of the endpoint to accept the signature or the token that ${sender} sends instead.`,
  ].join(' ');

const describeRejection = (
  refused: RefusalCount,
): Pick<Rejection, 'title' | 'detail'> & { readonly status?: number } => {
  const { code } = refused;
  const known = Object.entries<Rejection>(REJECTIONS).find(([name]) => name === code)?.[1];
  if (known === undefined)
    return { title: code, detail: 'Update the dashboard to a newer version to see the details.' };
  const { status, title, detail } = known;
  return { status, title, detail: missingScheme(refused) === undefined ? detail : adviceFor(refused) };
};

/**
 * Returns the requests to a project that gateways refused within the last hour. Rejects with `SourceError`, as opening the log does,
 * and with `Unavailable` if the operator cannot be asked.
 */
export const refusedRequests = async (
  { resources, logs }: Pick<Backend, 'resources' | 'logs'>,
  project: ProjectName,
): Promise<RefusedRequests> => {
  const identity = await resources.findIdentity(await getProject({ resources }, project));
  const { counts, ...rest } = await logs.refusals(identity);
  const items = counts.map((refused) => ({
    ...refused,
    ...describeRejection(refused),
    lastAt: new Date(refused.lastAt).toISOString(),
  }));
  return { ...rest, items };
};

/** The form in which a refused request's endpoint can be changed, or created, so that it accepts its sender's signature. */
export interface Acceptance {
  readonly scheme: SignatureScheme;
  /** The name of the endpoint that the path matched. Undefined if there is none. */
  readonly endpoint?: string;
}

/** Returns the endpoint for each refused request whose sender signs, in the order of `items`. */
export const findAcceptances = async (
  backend: Backend,
  project: ProjectName,
  items: readonly RefusedRequest[],
): Promise<readonly (Acceptance | undefined)[]> => {
  const schemes = items.map(missingScheme);
  if (schemes.every((scheme) => scheme === undefined)) return schemes;
  const endpoints = await listEndpoints(backend, project);
  return schemes.map((scheme, index) => scheme && { scheme, ...endpointAt(endpoints, items[index]?.slug) });
};

/** Returns the endpoint with a slug, which may be cut off, preferably for POST, the method of almost all senders. */
const endpointAt = (endpoints: readonly ResourceObject[], slug: string | undefined): { endpoint?: string } => {
  const found = endpoints.filter((object) => endpointSpec(object).slug?.slice(0, LIMITS.refusalPathLengthMax) === slug);
  const [first] = found;
  const best = found.find((object) => endpointSpec(object).method === 'POST') ?? first;
  return slug === undefined || best === undefined ? {} : { endpoint: best.metadata.name };
};

/** The number of refused requests to the project. */
export const refusedCount = ({ items, omitted }: RefusedRequests): number =>
  items.reduce((total, { count }) => total + count, omitted);
