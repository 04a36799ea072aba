import { LIMITS, type ResourceObject } from '@standin/contract';
import { regenerationWindow } from '@standin/crds';
import { z } from 'zod';
import { accountUsage } from '../accounts/account-usage.ts';
import { getAccount, getApiKey } from '../accounts/accounts.ts';
import { accountSpec, accountStatus } from '../resources/specs.ts';
import { accountParams } from './parameters.ts';
import { defineRoute } from './route.ts';
import { accountListSchema, accountSchema, apiKeySchema, usageSchema, type ApiAccount } from './schemas.ts';

/** Converts an Account. Does not require a valid spec or status, so that invalid objects are listed too. */
const toApiAccount = (object: ResourceObject): ApiAccount => {
  const { namespace, name, uid } = object.metadata;
  const { secretName, fingerprint, issuedAt } = accountStatus(object).apiKey ?? {};
  const { left, resetsAt } = regenerationWindow(object, Date.now());
  return {
    namespace,
    name,
    uid,
    key: {
      ...(secretName !== undefined && { secretName }),
      ...(fingerprint !== undefined && { fingerprint }),
      ...(issuedAt !== undefined && { issuedAt }),
      isOwn: accountSpec(object).apiKey !== undefined,
    },
    regenerations: { left, max: LIMITS.keyRegenerationsMax, ...(resetsAt !== undefined && { resetsAt }) },
  };
};

export const accountRoutes = [
  defineRoute({
    method: 'GET',
    path: '/accounts',
    operationId: 'listAccounts',
    tag: 'Accounts',
    summary: 'List the accounts that you can see',
    params: z.object({}),
    query: z.strictObject({
      namespace: z.string().min(1).max(253).optional().describe('Return only items in this namespace.'),
    }),
    answers: {
      200: { description: 'Sorted by namespace and name.', content: { 'application/json': accountListSchema } },
    },
    problems: [],
    handle: async ({ backend, query }) => {
      const accounts = await backend.resources.list('Account', query.namespace);
      return { kind: 'json', body: { items: accounts.map(toApiAccount) } };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/namespaces/{namespace}/accounts/{account}',
    operationId: 'getAccount',
    tag: 'Accounts',
    summary: 'Get an account',
    params: accountParams,
    answers: { 200: { description: 'The account.', content: { 'application/json': accountSchema } } },
    problems: ['account_not_found'],
    handle: async ({ backend, params }) => ({ kind: 'json', body: toApiAccount(await getAccount(backend, params)) }),
  }),
  defineRoute({
    method: 'GET',
    path: '/namespaces/{namespace}/accounts/{account}/usage',
    operationId: 'getUsage',
    tag: 'Accounts',
    summary: 'Get account usage this month by day and endpoint',
    params: accountParams,
    answers: {
      200: { description: 'Usage since the beginning of the month.', content: { 'application/json': usageSchema } },
    },
    problems: ['account_not_found'],
    handle: async ({ backend, params }) => {
      const usage = await accountUsage(backend, await getAccount(backend, params), new Date());
      return { kind: 'json', body: usageSchema.parse(usage) };
    },
  }),
  defineRoute({
    method: 'GET',
    path: '/namespaces/{namespace}/accounts/{account}/key',
    operationId: 'getApiKey',
    tag: 'Accounts',
    summary: 'Get an account API key',
    description: 'Requires permission to `get` its Secret.',
    params: accountParams,
    answers: { 200: { description: 'The key.', content: { 'application/json': apiKeySchema } } },
    problems: ['account_not_found', 'key_not_found'],
    handle: async ({ backend, params }) => {
      const apiKey = await getApiKey(backend, await getAccount(backend, params));
      return { kind: 'json', body: { apiKey } };
    },
  }),
];
