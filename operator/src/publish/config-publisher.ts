import { isDeepStrictEqual } from 'node:util';
import { aboutObject } from '../about-object.ts';
import type { Controller } from '../controller.ts';
import type { CachedObjects } from '../object-cache.ts';
import type { Changes, Translator } from '../translate/index.ts';
import type { StreamServer, Publication } from './stream-server.ts';

export interface ConfigPublisherOptions extends Omit<Publication, 'holdsIdentity'> {
  readonly cache: Pick<CachedObjects, 'get'>;
  readonly translator: Pick<Translator, 'objects'>;
  readonly server: StreamServer;
}

/** Publishes the translated configuration to the gateways, for one leader's term. */
export class ConfigPublisher implements Controller {
  readonly name = 'publisher';
  readonly #options: ConfigPublisherOptions;

  constructor(options: ConfigPublisherOptions) {
    this.#options = options;
  }

  /** Publishes the first revision, which contains everything. */
  start(): void {
    const { translator, server, log, gateways, quota, refusals, settlement, cache } = this.#options;
    log.append({ put: [...translator.objects()], remove: [] });
    server.lead({
      log,
      gateways,
      quota,
      refusals,
      settlement,
      holdsIdentity: ({ uid, ...ref }) => isDeepStrictEqual(aboutObject(cache, uid), ref),
    });
  }

  translated(changes: Pick<Changes, 'put' | 'remove'>): void {
    if (changes.put.length + changes.remove.length > 0) this.#options.log.append(changes);
  }

  stop(): Promise<void> {
    this.#options.server.follow();
    return Promise.resolve();
  }
}
