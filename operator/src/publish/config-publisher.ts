import type { Controller } from '../controller.ts';
import type { Changes, Translator } from '../translate/index.ts';
import type { StreamServer, Publication } from './stream-server.ts';

export interface ConfigPublisherOptions extends Publication {
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
    const { translator, server, log, gateways, quota, refusals } = this.#options;
    log.append({ put: [...translator.objects()], remove: [] });
    server.lead({ log, gateways, quota, refusals });
  }

  translated(changes: Pick<Changes, 'put' | 'remove'>): void {
    if (changes.put.length + changes.remove.length > 0) this.#options.log.append(changes);
  }

  stop(): Promise<void> {
    this.#options.server.follow();
    return Promise.resolve();
  }
}
