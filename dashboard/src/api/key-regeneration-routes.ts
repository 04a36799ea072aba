import { SourceError, type ResourceObject } from '@standin/contract';
import { DEFINITIONS, readStatus } from '@standin/crds';
import { z } from 'zod';
import { getAccount } from '../accounts/accounts.ts';
import { getRegeneration, listRegenerations, regenerateKey } from '../accounts/key-regenerations.ts';
import type { Backend } from '../backend.ts';
import type { AccountName } from '../resources/names.ts';
import { appliedObject } from './applied-object.ts';
import { accountParams } from './parameters.ts';
import { defineRoute } from './route.ts';
import { keyRegenerationListSchema, keyRegenerationSchema, type ApiKeyRegeneration } from './schemas.ts';

const REGENERATIONS = '/namespaces/{namespace}/accounts/{account}/regenerations';

const toApiRegeneration = ({ metadata, spec, status }: ResourceObject): ApiKeyRegeneration => {
  const { namespace, name, uid, creationTimestamp: createdAt } = metadata;
  return {
    namespace,
    name,
    uid,
    createdAt,
    spec: DEFINITIONS.KeyRegeneration.spec.parse(spec),
    status: readStatus('KeyRegeneration', status),
  };
};

/**
 * Checks that the account exists, if the user may read it. Permission to create a KeyRegeneration is enough to regenerate a key.
 */
const checkAccount = async (backend: Backend, params: AccountName): Promise<void> => {
  try {
    await getAccount(backend, params);
  } catch (error) {
    if (!(error instanceof SourceError && error.kind === 'Forbidden')) throw error;
  }
};

export const keyRegenerationRoutes = [
  defineRoute({
    method: 'GET',
    path: REGENERATIONS,
    operationId: 'listKeyRegenerations',
    tag: 'Accounts',
    summary: 'List account key regenerations',
    params: accountParams,
    answers: { 200: { description: 'Newest first.', content: { 'application/json': keyRegenerationListSchema } } },
    problems: ['account_not_found'],
    handle: async ({ backend, params }) => {
      await checkAccount(backend, params);
      const items = (await listRegenerations(backend, params)).map(toApiRegeneration);
      return { kind: 'json', body: { items } };
    },
  }),
  defineRoute({
    method: 'POST',
    path: REGENERATIONS,
    operationId: 'createKeyRegeneration',
    tag: 'Accounts',
    summary: 'Regenerate an account API key',
    description:
      'Creates a KeyRegeneration, which the operator carries out. `status.phase` is `Completed` when no gateway accepts the old key. ' +
      'It is `Refused` if the key cannot be regenerated, for example because the limit of six regenerations per hour is reached (`status.windowResetsAt`), or because the account sets `spec.apiKey.secretName`. The key is then unchanged.',
    params: accountParams,
    body: z.strictObject({
      name: z.string().min(1).max(253).optional().describe('Default: a generated name.'),
    }),
    answers: { 201: { description: 'Created.', content: { 'application/json': keyRegenerationSchema } } },
    problems: ['account_not_found', 'object_invalid', 'conflict'],
    handle: async ({ backend, params, body }) => {
      await checkAccount(backend, params);
      const created = appliedObject(await regenerateKey(backend, params, body.name));
      return { kind: 'json', status: 201, body: toApiRegeneration(created) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: `${REGENERATIONS}/{regeneration}`,
    operationId: 'getKeyRegeneration',
    tag: 'Accounts',
    summary: 'Get a regeneration and its progress',
    params: accountParams.extend({
      regeneration: z.string().min(1).max(253).describe('KeyRegeneration name.'),
    }),
    answers: { 200: { description: 'The KeyRegeneration.', content: { 'application/json': keyRegenerationSchema } } },
    problems: ['regeneration_not_found'],
    handle: async ({ backend, params }) => ({
      kind: 'json',
      body: toApiRegeneration(await getRegeneration(backend, params)),
    }),
  }),
];
