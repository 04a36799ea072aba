import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { RESOURCES } from '@standin/contract';
import { parseAllDocuments, stringify } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, OPERATOR_SERVICE_ACCOUNT, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';
import { freePorts } from '../harness/ports.ts';
import { startProcess, type RunningProcess } from '../harness/processes.ts';
import { Tenant } from './tenant.ts';

/**
 * Tests an operator that starts before its environment is ready, for example without CRDs, without a permission, or without an API
 * server.
 */

let cluster: OwnCluster;
let operator: RunningProcess;
let adminUrl: string;
let rbac: string;

beforeAll(async () => {
  cluster = await startCluster();
  rbac = await readFile(path.join(import.meta.dirname, '../harness/rbac.yaml'), 'utf8');
  await cluster.apply(rbac);
  const [streamPort, adminPort] = await freePorts(2);
  adminUrl = `http://127.0.0.1:${String(adminPort)}`;
  const env = {
    STANDIN_NAME: 'operator',
    STANDIN_KUBECONFIG: await cluster.tokenKubeconfig(SYSTEM_NAMESPACE, OPERATOR_SERVICE_ACCOUNT),
    STANDIN_STREAM_HOST: '127.0.0.1',
    STANDIN_STREAM_PORT: String(streamPort),
    STANDIN_ADMIN_HOST: '127.0.0.1',
    STANDIN_ADMIN_PORT: String(adminPort),
    STANDIN_SECRET_POLL_MS: '500',
  };
  operator = startProcess({ name: 'operator', main: 'operator/src/main.ts', env });
});
afterAll(async () => {
  await operator.kill('SIGKILL');
  await cluster.stop();
});

/** Waits for a log line that contains all of these words. */
const untilLogged = async (...words: readonly string[]): Promise<void> => {
  await operator.waitForLine(`a line with ${words.join(', ')}`, (line) => words.every((word) => line.includes(word)));
};
const ready = async (): Promise<number> => (await fetch(`${adminUrl}/readyz`)).status;

describe('before the CRDs are installed', () => {
  test('the operator logs the missing CRDs, is alive and is not ready', async () => {
    for (const { plural } of Object.values(RESOURCES)) {
      await untilLogged(`the CRD ${plural}.standin.dev is not installed`);
    }
    expect((await fetch(`${adminUrl}/healthz`)).status).toBe(200);
    expect(await ready()).toBe(503);
  });

  test('the operator stops gracefully', async () => {
    expect(await operator.kill('SIGTERM')).toEqual({ code: 0, signal: null });
  });

  test('the operator continues when they are installed', async () => {
    await operator.restart();
    await untilLogged('is not installed');
    await installStandin(cluster);
    await operator.waitForUrl(`${adminUrl}/readyz`);
    await untilLogged('"msg":"leading"', '"objects":0');
  });
});

type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] };

/** Returns test/harness/rbac.yaml without this verb on this resource, in every role. */
const rbacWithout = (verb: string, resource: string): string => {
  const documents = parseAllDocuments(rbac).map((document) => document.toJS() as { rules?: Rule[] });
  const without = (rule: Rule): Rule[] => {
    if (!rule.resources.includes(resource)) return [rule];
    const others = rule.resources.filter((name) => name !== resource);
    const rest = { ...rule, resources: [resource], verbs: rule.verbs.filter((name) => name !== verb) };
    return [{ ...rule, resources: others }, rest].filter(({ resources, verbs }) => resources.length * verbs.length > 0);
  };
  return documents
    .map(({ rules, ...rest }) => stringify(rules === undefined ? rest : { ...rest, rules: rules.flatMap(without) }))
    .join('---\n');
};

describe('without the permission to', () => {
  let tenant: Tenant;
  beforeAll(async () => {
    tenant = await Tenant.create(cluster, 'rights');
  });
  afterAll(() => tenant.client.close());

  test.each([
    ['list', 'mockendpoints', 'mockendpoints.standin.dev'],
    ['patch', 'mockaccounts/status', 'cannot patch resource \\"mockaccounts/status\\"'],
    ['update', 'leases', 'cannot update resource \\"leases\\"'],
    ['get', 'configmaps', 'cannot get resource \\"configmaps\\"'],
    ['get', 'secrets', 'cannot get resource \\"secrets\\"'],
  ])(
    '%s %s, the operator logs an error and recovers by itself when the permission is granted',
    async (verb, resource, message) => {
      await operator.kill('SIGTERM');
      await cluster.apply(rbacWithout(verb, resource));
      const name = `${verb}-${resource.replace('/', '-')}`;
      await tenant.apply('Account', name, { plan: 'Free' });
      await operator.restart();
      await untilLogged(message, verb);
      expect((await tenant.get('Account', name)).status?.['apiKey']).toBeUndefined();
      await cluster.apply(rbac);
      await tenant.untilReason('Account', name, 'NoGateway', 30_000);
      expect((await tenant.condition('Account', name, 'ResolvedRefs')).status).toBe('True');
      expect(operator.hasEnded).toBe(false);
    },
  );

  test('watch mockprojects, the operator logs an error, relies on lists, and recovers by itself when the permission is granted', async () => {
    await operator.kill('SIGTERM');
    await cluster.apply(rbacWithout('watch', 'mockprojects'));
    await tenant.apply('Account', 'listed', { plan: 'Free' });
    await operator.restart();
    await untilLogged('watch', 'mockprojects.standin.dev');
    await tenant.untilReason('Account', 'listed', 'NoGateway', 30_000);
    await cluster.apply(rbac);
    await tenant.apply('Project', 'listed', { accountRef: { name: 'listed' } });
    await tenant.untilReason('Project', 'listed', 'NoGateway', 30_000);
    expect(operator.hasEnded).toBe(false);
  });

  test('list services, the operator names the permission, at the start and later, and reports no Service as missing', async () => {
    await operator.kill('SIGTERM');
    const withoutServices = rbacWithout('list', 'services');
    await cluster.apply(withoutServices);
    await tenant.apply('Account', 'services', { plan: 'Free' });
    await tenant.apply('Project', 'services', { accountRef: { name: 'services' } });
    await tenant.apply('Endpoint', 'services', {
      projectRef: { name: 'services' },
      displayName: 'Services',
      slug: '/',
      method: 'GET',
      action: 'Forward',
      forward: { serviceRef: { name: 'missing', port: 80 } },
    });
    await operator.restart();
    const { message } = await tenant.untilReason('Endpoint', 'services', 'ServicesNotReadable', 30_000);
    expect(message).toContain('needs the verbs "list" and "watch" on services in all namespaces');
    await cluster.apply(rbac);
    await tenant.untilReason('Endpoint', 'services', 'BackendNotFound', 30_000);

    // An open watch continues without the permission. The test therefore restarts the API server, which then rejects the next
    // watch.
    await cluster.apply(withoutServices);
    await cluster.stopApiServer();
    await cluster.startApiServer();
    await tenant.untilReason('Endpoint', 'services', 'ServicesNotReadable', 60_000);
    await cluster.apply(rbac);
    await tenant.untilReason('Endpoint', 'services', 'BackendNotFound', 30_000);
  });

  test('create secrets, the operator reports an error on each Account that needs a key and serves the others', async () => {
    await tenant.writeSecret('own', 'k'.repeat(40));
    await cluster.apply(rbacWithout('create', 'secrets'));
    await eventually('the permission to be removed', async () => {
      const { stdout } = await cluster.kubectl([
        ...['auth', 'can-i', 'create', 'secrets', '-n', 'rights'],
        `--as=system:serviceaccount:${SYSTEM_NAMESPACE}:${OPERATOR_SERVICE_ACCOUNT}`,
      ]);
      return stdout.trim() === 'no';
    });
    await tenant.apply('Account', 'generated', { plan: 'Free' });
    await tenant.apply('Account', 'own', { plan: 'Free', apiKey: { secretName: 'own' } });
    const refused = await tenant.untilReason('Account', 'generated', 'SecretInvalid');
    expect(refused.message).toContain('needs the verb "create" on secrets in namespace rights');
    await tenant.untilReason('Account', 'own', 'NoGateway');
    await cluster.apply(rbac);
    await tenant.untilReason('Account', 'generated', 'NoGateway');
  });
});

describe('without an API server', () => {
  test('the operator is alive, logs an error, and continues when the API server starts', async () => {
    await operator.kill('SIGTERM');
    await cluster.stopApiServer();
    await operator.restart();
    await untilLogged('did not respond');
    expect([(await fetch(`${adminUrl}/healthz`)).status, await ready()]).toEqual([200, 503]);
    await cluster.startApiServer();
    await operator.waitForUrl(`${adminUrl}/readyz`, 30_000);
    await untilLogged('"msg":"leading"', '"objects":');
  });
});
