import {
  API_KEY_DATA_KEY,
  apiKeySecretName,
  SourceError,
  type DesiredObject,
  type Kind,
  type ObjectRef,
  type ResourceObject,
} from '@standin/contract';
import { parseObject, type Problem } from '@standin/crds';
import {
  ApiError,
  asSourceError,
  collectionPath,
  isConflict,
  isNotFound,
  objectPath,
  objectVersion,
  objectReplacement,
  resourcePath,
  toResourceObject,
  toSourceError,
  type CustomResource,
  type Query,
} from '@standin/kube';
import type { ApplyResult, ExpectedVersion, Resources } from '../backend.ts';
import { checkExpected, missingError } from '../expected-version.ts';
import { accountSpec } from '../resources/specs.ts';
import { objectProblems } from './api-problems.ts';
import type { ClusterUser } from './cluster-user.ts';
import type { Identities } from './identities.ts';
import { listVisible, type ListParts } from './list-visible.ts';
import type { LiveChanges } from './live-changes.ts';
import { getObject, listIn } from './read-objects.ts';
import type { ResourceIndex } from './resource-index.ts';

export interface ResourcesParts extends ListParts {
  readonly changes: LiveChanges;
  readonly identities: Identities;
}

/** Lets `kubectl get -o yaml --show-managed-fields` show which changes came from the dashboard. */
const FIELD_MANAGER = 'standin-dashboard';
const ATTEMPTS_MAX = 5;

/**
 * Reads and writes a cluster's custom resources. Each call uses the signed-in user's token. Namespaces that are not served appear
 * empty, and nothing can be written to them.
 */
export const clusterResources = (parts: ResourcesParts): Resources => {
  const { user, changes, identities, index } = parts;
  const listServed = async (kind: Kind, namespace: string) =>
    index.serves(namespace) ? listIn(user, kind, namespace) : [];
  const write = async (object: DesiredObject, options: WriteOptions): Promise<ApplyResult> => {
    const unaddressable = addressProblems(object, index);
    return unaddressable.length > 0 ? { ok: false, problems: unaddressable } : writeAs(user, object, options);
  };
  return {
    list: async (kind, namespace) => {
      const objects = await (namespace === undefined ? listVisible(parts, kind) : listServed(kind, namespace));
      return objects.toSorted((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
    },
    get: async (ref) => (index.serves(ref.namespace) ? getObject(user, ref) : undefined),
    findIdentity: (object) => identities.of(object),
    apply: (object, expected) => write(object, { expected, isDryRun: false }),
    check: async (object, expected) => {
      const result = await write(object, { expected, isDryRun: true });
      return result.ok ? [] : result.problems;
    },
    delete: async (ref, uid) => {
      if (!index.serves(ref.namespace)) throw new SourceError('NotFound', notServed(ref.namespace));
      await asSourceError(user.client.remove(objectPath(ref), { preconditions: { uid } }));
    },
    watch: (namespace, onChange, signal) => changes.watch(user, { namespace, onChange, signal }),
    readApiKey: (account) => readApiKey(user, account),
  };
};

const sortKey = ({ metadata: { namespace, name } }: ResourceObject): string => `${namespace}/${name}`;

interface WriteOptions {
  readonly expected: ExpectedVersion;
  readonly isDryRun: boolean;
}

/**
 * Writes an object. Retries after a conflict, because the operator may update the status between the read and the write. If the
 * version has changed, the spec has changed since the user read it, and the write is rejected.
 */
const writeAs = async (user: ClusterUser, object: DesiredObject, options: WriteOptions): Promise<ApplyResult> => {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const written = await writeOnce(user, object, options);
      return { ok: true, object: toResourceObject(object.kind, written) };
    } catch (error) {
      const lostRace = isConflict(error) && options.expected !== 'absent';
      if (lostRace && attempt < ATTEMPTS_MAX) continue;
      const problems = error instanceof ApiError ? objectProblems(error) : undefined;
      if (problems !== undefined) return { ok: false, problems };
      throw toSourceError(error);
    }
  }
};

const notServed = (namespace: string): string =>
  `namespace ${namespace} is not served: an administrator can add it to watch.namespaces, or give it the labels of watch.namespaceSelector`;

/**
 * Returns the problems of an object whose namespace is not served, or that has no namespace or no name. Such an object has no URL,
 * so it is not sent to the API server.
 */
const addressProblems = (object: DesiredObject, index: ResourceIndex): readonly Problem[] => {
  const { name, namespace } = object.metadata;
  if (namespace === '') return [{ path: 'metadata.namespace', message: 'Required value' }];
  if (!index.serves(namespace)) return [{ path: 'metadata.namespace', message: notServed(namespace) }];
  const parsed = name === '' ? parseObject(object) : undefined;
  return parsed?.ok === false ? parsed.problems : [];
};

const writeOnce = async (
  { client, signal }: ClusterUser,
  object: DesiredObject,
  { expected, isDryRun }: WriteOptions,
): Promise<CustomResource> => {
  const { kind, metadata } = object;
  const { name, namespace } = metadata;
  const ref: ObjectRef = { kind, namespace, name };
  const query: Query = {
    fieldManager: FIELD_MANAGER,
    fieldValidation: 'Strict',
    ...(isDryRun && { dryRun: 'All' }),
  };
  // A dry run writes nothing, so it ends if the user leaves.
  const options = { query, ...(isDryRun && { signal }) };
  if (expected === 'absent') {
    // If the object already exists, the API server returns a Conflict with its own message.
    return client.create<CustomResource>(collectionPath(kind, namespace), object, options);
  }
  const current = await client.get<CustomResource>(objectPath(ref), { signal }).catch((error: unknown) => {
    throw isNotFound(error) ? missingError(ref) : error;
  });
  checkExpected(toResourceObject(kind, current), expected, ref);
  const replaced = objectReplacement(current, object);
  if (replaced === undefined) return current;
  return client.replace<CustomResource>(objectPath(ref), replaced, objectVersion(current), options);
};

/** Returns an Account's key. Requires permission to read the Secret that contains the key. */
const readApiKey = async ({ client, signal }: ClusterUser, account: ResourceObject): Promise<string | undefined> => {
  const { namespace, name: accountName } = account.metadata;
  const name = accountSpec(account).apiKey?.secretName ?? apiKeySecretName(accountName);
  const path = resourcePath({ group: '', version: 'v1', plural: 'secrets', namespace, name });
  try {
    const { data = {} } = await client.get<{ data?: Record<string, string> }>(path, { signal });
    const value = new Map(Object.entries(data)).get(API_KEY_DATA_KEY);
    return value === undefined ? undefined : Buffer.from(value, 'base64').toString('utf8');
  } catch (error) {
    const refusal = toSourceError(error);
    if (refusal instanceof SourceError && refusal.kind === 'NotFound') return undefined;
    throw refusal;
  }
};
