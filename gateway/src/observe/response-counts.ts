import { LIMITS } from '@standin/contract';
import { Counter, type Registry } from 'prom-client';
import { responseNameOf, type Endpoint, type Responder } from '../request/route.ts';

/**
 * Counts the requests to endpoints that have responses, by response. Only the first `LIMITS.responseSeriesMax` responses to be
 * returned have their own count, because a configuration can have hundreds of thousands of them.
 */
export class ResponseCounts {
  /** Maps the uid of an endpoint to its counts by the name of the response. */
  readonly #counts = new Map<string, Map<string, number>>();
  #size = 0;
  /** The requests that are not counted separately. */
  #others = 0;

  add({ config, responseNames }: Endpoint, responder: Responder): void {
    if (responseNames.length === 0) return;
    const name = responseNameOf(responder);
    const counts = this.#counts.get(config.uid);
    const count = counts?.get(name);
    if (counts !== undefined && count !== undefined) counts.set(name, count + 1);
    else if (this.#size === LIMITS.responseSeriesMax) this.#others += 1;
    else {
      if (counts === undefined) this.#counts.set(config.uid, new Map([[name, 1]]));
      else counts.set(name, 1);
      this.#size += 1;
    }
  }

  /** Adds the counter to the registry. `endpointOf` returns the active endpoint with a uid. */
  expose(registry: Registry, endpointOf: (uid: string) => Endpoint | undefined): void {
    const fill = (counter: Counter<'exported_namespace' | 'exported_endpoint' | 'response'>): void => {
      this.#forgetRemoved(endpointOf);
      counter.reset();
      for (const [uid, counts] of this.#counts) {
        const { namespace = '', name = '' } = endpointOf(uid)?.config ?? {};
        for (const [response, count] of counts) {
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
  #forgetRemoved(endpointOf: (uid: string) => Endpoint | undefined): void {
    this.#size = 0;
    for (const [uid, counts] of this.#counts) {
      const names = new Set(endpointOf(uid)?.responseNames);
      for (const name of counts.keys()) {
        const isConfigured = names.has(name) || (name === '' && names.size > 0);
        if (!isConfigured) counts.delete(name);
      }
      if (counts.size === 0) this.#counts.delete(uid);
      this.#size += counts.size;
    }
  }
}
