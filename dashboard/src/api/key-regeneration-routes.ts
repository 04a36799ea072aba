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
    ...{ namespace, name, uid, createdAt, spec: DEFINITIONS.KeyRegeneration.spec.parse(spec) },
    status: readStatus('KeyRegeneration', status),
  };
};

/** The right to create a KeyRegeneration is the right to regenerate. It does not require the right to read Accounts. */
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
    summary: "Regenerations of an account's key",
    params: accountParams,
    answers: { 200: { description: 'The newest first.', content: { 'application/json': keyRegenerationListSchema } } },
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
    summary: "Replace an account's generated API key",
    description:
      'Creates a KeyRegeneration, which the operator carries out. `status.phase` is `Completed` when no gateway accepts the old key, ' +
      'and `Refused` where nothing was changed: there were six within the hour (`status.windowResetsAt`), or the account brings its own Secret.',
    params: accountParams,
    body: z.strictObject({
      name: z.string().min(1).max(253).optional().describe('Default: one that nothing else has.'),
    }),
    answers: { 201: { description: 'It is created.', content: { 'application/json': keyRegenerationSchema } } },
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
    summary: 'One regeneration, and how many gateways have the new key',
    params: accountParams.extend({
      regeneration: z.string().min(1).max(253).describe('Name of the KeyRegeneration.'),
    }),
    answers: { 200: { description: 'The KeyRegeneration.', content: { 'application/json': keyRegenerationSchema } } },
    problems: ['regeneration_not_found'],
    handle: async ({ backend, params }) => ({
      kind: 'json',
      body: toApiRegeneration(await getRegeneration(backend, params)),
    }),
  }),
];
