import assert from 'node:assert/strict';
import { resourcePath } from '@standin/kube';
import { openLogStore, type LogStore } from '@standin/logstore';
import { LEASE_NAME } from '@standin/operator';
import { Agent, request } from 'undici';
import { ledgerConfigMaps } from '../../operator/src/quota/ledger-store.ts';
import type { Ledger } from '../../operator/src/quota/ledger.ts';
import { readMetric, Tenant } from '../e2e/tenant.ts';
import { startClickHouse, type TestClickHouse } from '../harness/clickhouse.ts';
import { clickHouseQuery, type Query } from '../harness/clickhouse-query.ts';
import { startCluster, type OwnCluster } from '../harness/cluster.ts';
import {
  deploy,
  type DeployedGateway,
  type DeployedOperator,
  type DeployOptions,
  type Deployment,
} from '../harness/deployment.ts';
import { eventually } from '../harness/eventually.ts';
import { installStandin, SYSTEM_NAMESPACE } from '../harness/install-standin.ts';

export interface QuotaResponse {
  readonly status: number;
  readonly code: string;
  readonly retryAfterS: number;
  readonly problem: Readonly<Record<string, unknown>>;
}

interface Parts {
  readonly cluster: OwnCluster;
  readonly clickHouse: TestClickHouse;
  readonly store: LogStore;
  readonly deployment: Deployment;
  readonly tenant: Tenant;
  readonly path: string;
  readonly key: string;
}

const LEASE = resourcePath({
  group: 'coordination.k8s.io',
  version: 'v1',
  plural: 'leases',
  namespace: SYSTEM_NAMESPACE,
  name: LEASE_NAME,
});

/**
 * Operators and gateways as processes, a real API server, the real ClickHouse engine, and an account `team` whose quota the tests
 * change. The stand counts the accepted requests on the client.
 */
export class QuotaStand implements AsyncDisposable {
  readonly cluster: OwnCluster;
  readonly clickHouse: TestClickHouse;
  readonly query: Query;
  readonly deployment: Deployment;
  readonly tenant: Tenant;
  /** The path and the key for requests that count against the account. */
  readonly path: string;
  readonly key: string;
  /** The number of requests that got a 200. */
  accepted = 0;
  /** The number of requests that got no response because a process died. They may count against the quota. */
  unknown = 0;
  readonly #store: LogStore;
  readonly #agent = new Agent({ connections: 100 });

  private constructor({ cluster, clickHouse, store, deployment, tenant, path, key }: Parts) {
    this.cluster = cluster;
    this.clickHouse = clickHouse;
    this.query = clickHouseQuery(clickHouse);
    this.#store = store;
    this.deployment = deployment;
    this.tenant = tenant;
    this.path = path;
    this.key = key;
  }

  /** Starts the stand. The Free plan has no quota here, so only the quota that the test sets applies. */
  static async start(options: Omit<DeployOptions, 'cluster' | 'clickHouse'>): Promise<QuotaStand> {
    const [cluster, clickHouse] = await Promise.all([startCluster(), startClickHouse()]);
    const store = openLogStore(clickHouse);
    await store.migrate();
    await installStandin(cluster);
    const deployment = await deploy({
      cluster,
      clickHouse,
      ...options,
      operatorEnv: { ...clickHouse.env, STANDIN_QUOTA_FREE: '0', ...options.operatorEnv },
    });
    const tenant = await Tenant.create(cluster, 'quota');
    await tenant.accountAndProject();
    await tenant.mock('orders', '"orders"');
    await tenant.untilReason('Endpoint', 'orders', 'Ready');
    const path = `${await tenant.projectPath()}/orders`;
    const key = await tenant.readSecret('team-api-key');
    return new QuotaStand({ cluster, clickHouse, store, deployment, tenant, path, key });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#agent.close();
    await this.deployment.stop();
    await this.#store.close();
    await Promise.all([this.tenant.client.close(), this.cluster.stop(), this.clickHouse.stop()]);
  }

  gateway(index: number): DeployedGateway {
    const gateway = this.deployment.gateways[index];
    assert(gateway);
    return gateway;
  }

  async post(gateway: DeployedGateway): Promise<QuotaResponse> {
    try {
      const { statusCode, headers, body } = await request(`${gateway.url}${this.path}`, {
        method: 'POST',
        body: '{}',
        dispatcher: this.#agent,
        headers: { 'x-api-key': this.key },
      });
      const text = await body.text();
      if (statusCode === 200) this.accepted++;
      const problem = statusCode === 200 ? {} : (JSON.parse(text) as Record<string, unknown>);
      return {
        status: statusCode,
        code: String(headers['standin-rejected'] ?? ''),
        retryAfterS: Number(headers['retry-after'] ?? 0),
        problem,
      };
    } catch {
      this.unknown++;
      return { status: 0, code: 'lost', retryAfterS: 0, problem: {} };
    }
  }

  /** Sends this many concurrent requests to these gateways in turn. */
  volley(count: number, gateways: readonly DeployedGateway[] = this.deployment.gateways): Promise<QuotaResponse[]> {
    const to = (index: number): DeployedGateway => gateways[index % gateways.length] ?? this.gateway(0);
    return Promise.all(Array.from({ length: count }, (_, index) => this.post(to(index))));
  }

  setQuota(monthlyQuota: number) {
    return this.tenant.apply('Account', 'team', { monthlyQuota });
  }

  /** Changes the quota and waits until every gateway knows it. Until then, gateways may enforce the old quota. */
  async setQuotaEverywhere(monthlyQuota: number): Promise<void> {
    await this.setQuota(monthlyQuota);
    await this.tenant.untilReason('Account', 'team', 'Ready');
  }

  untilAccepted(gateway: DeployedGateway, timeoutMs = 10_000): Promise<QuotaResponse> {
    return eventually('an accepted request', () => this.post(gateway), {
      accept: ({ status }) => status === 200,
      timeoutMs,
    });
  }

  /** Sends requests until these gateways reject every request of a volley because of the quota. */
  untilUsedUp(gateways: readonly DeployedGateway[] = this.deployment.gateways): Promise<QuotaResponse[]> {
    return eventually('the quota to be used up', () => this.volley(3 * gateways.length, gateways), {
      accept: (answers) => answers.every(({ status }) => status === 429),
      timeoutMs: 40_000,
    });
  }

  async leader(): Promise<DeployedOperator> {
    const leads = async () => {
      for (const operator of this.deployment.operators) {
        const revisions = await readMetric(operator.adminUrl, 'standin_publish_revision').catch(() => new Map());
        if (revisions.size > 0) return operator;
      }
      return undefined;
    };
    const found = await eventually('a leader', leads, { timeoutMs: 40_000 });
    assert(found);
    return found;
  }

  /** Releases the dead operator's lease and restarts the operator, which then leads without waiting until the lease expires. */
  async restartOperator({ process }: DeployedOperator): Promise<void> {
    await this.tenant.client.mergePatch(LEASE, { spec: { holderIdentity: '' } });
    await process.restart();
  }

  /** Returns an account's current quota ledger. */
  async ledger(account = 'team'): Promise<Ledger> {
    const { metadata } = await this.tenant.get('Account', account);
    const stored = await ledgerConfigMaps(this.tenant.client, SYSTEM_NAMESPACE).read(metadata.uid);
    assert(stored, `${account} has no ledger`);
    return stored.ledger;
  }

  /** Returns, by month, how many of this endpoint's log rows have a permit, and how many distinct permits they have. */
  async countedBy(endpoint: string): Promise<Record<string, { rows: number; permits: number }>> {
    const sql =
      `SELECT quota_period, uniqExact(id), uniqExact(quota_block, quota_permit) FROM log ` +
      `WHERE quota_period != '' AND endpoint = '${endpoint}' GROUP BY quota_period FORMAT TSV`;
    const lines = (await this.query(sql)).split('\n').map((line) => line.split('\t'));
    return Object.fromEntries(
      lines.map(([period = '', rows, permits]) => [period, { rows: Number(rows), permits: Number(permits) }]),
    );
  }

  /** Works like `countedBy`, but for the endpoint `orders` over all months. */
  async counted(): Promise<{ rows: number; permits: number }> {
    const all = Object.values(await this.countedBy('orders'));
    const sum = (of: 'rows' | 'permits'): number => all.reduce((before, one) => before + one[of], 0);
    return { rows: sum('rows'), permits: sum('permits') };
  }
}
