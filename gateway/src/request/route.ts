import type { AccountConfig, EndpointConfig, HeaderPair, ProjectConfig } from '@standin/contract';

/** A mock response that was checked when the configuration arrived. */
export interface Mock {
  readonly status: number;
  /** Returns the headers in order, with their case, including `Date`. */
  headers(date: string): readonly HeaderPair[];
  /** The body as stored in the log. */
  readonly bytes: Uint8Array;
  /** The body in the form that is fastest to write. A string has one byte per character. */
  readonly wire: string | Uint8Array;
}

/** An endpoint that is ready to serve requests. */
export type Endpoint =
  | { readonly kind: 'JSON'; readonly config: EndpointConfig; readonly mock: Mock }
  | {
      readonly kind: 'Forward';
      readonly config: EndpointConfig;
      readonly forward: Extract<EndpointConfig['action'], { kind: 'Forward' }>;
    };

/** The endpoint that serves a request, with its project and its account. */
export interface Route {
  readonly account: AccountConfig;
  readonly project: ProjectConfig;
  readonly endpoint: Endpoint;
}
