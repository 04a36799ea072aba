import { LIMITS, SharedPool } from '@standin/contract';
import { Counter, type Registry } from 'prom-client';
import { responderName, type Endpoint, type Responder } from '../request/route.ts';

interface EndpointCounts {
  readonly namespace: string;
  readonly byName: Map<string, number>;
}

/**
 * Counts the requests to endpoints that have responses, by response. Only the first responses of each namespace to be returned have
 * their own count, because a configuration can have hundreds of thousands of them.
 */
export class ResponseCounts {
  /** The counts by the uid of the endpoint, and by the name of the response. */
  readonly #counts = new Map<string, EndpointCounts>();
  readonly #pool = new SharedPool(LIMITS.responseSeriesMax);
  /** The requests that are not counted separately. */
  #others = 0;

  add({ config, responseNames }: Endpoint, responder: Responder): void {
    if (responseNames.length === 0) return;
    const name = responderName(responder);
    const { uid, namespace } = config;
    const { byName } = this.#counts.get(uid) ?? { byName: new Map<string, number>() };
    const count = byName.get(name);
    if (count === undefined && !this.#pool.take(namespace)) {
      this.#others += 1;
      return;
    }
    byName.set(name, (count ?? 0) + 1);
    if (byName.size === 1) this.#counts.set(uid, { namespace, byName });
  }

  /** Adds the counter to the registry. `endpointByUid` returns the active endpoint with a uid. */
  expose(registry: Registry, endpointByUid: (uid: string) => Endpoint | undefined): void {
    const fill = (counter: Counter<'exported_namespace' | 'exported_endpoint' | 'response'>): void => {
      this.#forgetRemoved(endpointByUid);
      counter.reset();
      for (const [uid, { namespace, byName }] of this.#counts) {
        const { name = '' } = endpointByUid(uid)?.config ?? {};
        for (const [response, count] of byName) {
          counter.inc({ exported_namespace: namespace, exported_endpoint: name, response }, count);
        }
      }
      if (this.#others > 0) {
        counter.inc({ exported_namespace: '', exported_endpoint: '', response: 'other' }, this.#others);
      }
    };
    new Counter({
      name: 'standin_respond_responses_total',
      help: 'Responses of endpoints with spec.responses, by the name of the response. The name is empty for the action.',
      labelNames: ['exported_namespace', 'exported_endpoint', 'response'],
      registers: [registry],
      collect() {
        fill(this);
      },
    });
  }

  /** Forgets the counts of responses that are no longer configured. */
  #forgetRemoved(endpointByUid: (uid: string) => Endpoint | undefined): void {
    for (const [uid, { namespace, byName }] of this.#counts) {
      const names = new Set(endpointByUid(uid)?.responseNames);
      for (const name of byName.keys()) {
        const isConfigured = names.has(name) || (name === '' && names.size > 0);
        if (isConfigured) continue;
        byName.delete(name);
        this.#pool.free(namespace);
      }
      if (byName.size === 0) this.#counts.delete(uid);
    }
  }
}
