import { createHash } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';

/** The only authorities that a connection trusts. */
export class Authority {
  /** The same for the same certificates. */
  readonly id: string;
  readonly #certificates: string;
  #secureContext: SecureContext | undefined;

  /** @param certificates in PEM */
  constructor(certificates: string) {
    this.id = createHash('sha256').update(certificates).digest('base64url');
    this.#certificates = certificates;
  }

  get bytes(): number {
    return this.#certificates.length;
  }

  /** Created when it is first needed, because it takes far more time and memory than the certificates. */
  get secureContext(): SecureContext {
    this.#secureContext ??= createSecureContext({ ca: this.#certificates });
    return this.#secureContext;
  }
}

/** How to verify an https upstream. */
export interface UpstreamTls {
  /** If unset, the system's authorities and those of the settings are trusted. */
  readonly authority?: Authority | undefined;
  /** The name that the upstream is asked for, and that its certificate must have. If unset, the host of the URL. */
  readonly serverName?: string | undefined;
}
