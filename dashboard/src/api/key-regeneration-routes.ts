import { randomBytes } from 'node:crypto';
import { GROUP_VERSION, SourceError, type ResourceObject } from '@standin/contract';
import { DEFINITIONS, parseObject } from '@standin/crds';
import { z } from 'zod';
import { accountOf, type AccountCall } from './account-routes.ts';
import { applyObject } from './apply-object.ts';
import { accountParams } from './parameters.ts';
import { ApiProblem } from './problems.ts';
import { defineRoute } from './route.ts';
import { keyRegenerationListSchema, keyRegenerationSchema, type ApiKeyRegeneration } from './schemas.ts';

const REGENERATIONS = '/namespaces/{namespace}/accounts/{account}/regenerations';

/** Undefined: the object belongs to another account, or cannot be parsed. */
const toApiRegeneration = (object: ResourceObject, account: string): ApiKeyRegeneration | undefined => {
  const parsed = parseObject(object);
  if (!parsed.ok || parsed.value.kind !== 'KeyRegeneration') return undefined;
  const { spec } = parsed.value;
  if (spec.accountRef.name !== account) return undefined;
  const { namespace, name, uid, creationTimestamp: createdAt } = object.metadata;
  const status = DEFINITIONS.KeyRegeneration.status.safeParse(object.status).data ?? {};
  return { namespace, name, uid, createdAt, spec, status };
};

/** The right to create a KeyRegeneration is the right to regenerate. It does not require the right to read Accounts. */
const checkAccount = async (call: AccountCall): Promise<void> => {
  try {
    await accountOf(call);
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
    handle: async (call) => {
      await checkAccount(call);
      const { namespace, account } = call.params;
      const items = (await call.backend.resources.list('KeyRegeneration', namespace))
        .flatMap((object) => toApiRegeneration(object, account) ?? [])
        .sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
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
    handle: async (call) => {
      await checkAccount(call);
      const { namespace, account } = call.params;
      const { name = `regenerate-${randomBytes(4).toString('hex')}` } = call.body;
      const desired = {
        apiVersion: GROUP_VERSION,
        kind: 'KeyRegeneration' as const,
        metadata: { namespace, name },
        spec: { accountRef: { name: account } },
      };
      const created = await applyObject(call.backend, desired, 'absent');
      return { kind: 'json', status: 201, body: toApiRegeneration(created, account) };
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
    handle: async ({ backend, params: { namespace, account, regeneration } }) => {
      const object = await backend.resources.get({ kind: 'KeyRegeneration', namespace, name: regeneration });
      const shown = object && toApiRegeneration(object, account);
      if (shown === undefined) throw new ApiProblem('regeneration_not_found');
      return { kind: 'json', body: shown };
    },
  }),
];
