import type { AccountConfig, EndpointConfig, HeaderPair, ProjectConfig } from '@standin/contract';

/** A mock response, checked when the configuration arrives. */
export interface Mock {
  readonly status: number;
  /** Names in their case, in order, with `Date`. */
  headers(date: string): readonly HeaderPair[];
  /** The body as the log stores it. */
  readonly bytes: Uint8Array;
  /** The body in the form that is written fastest. A string has one byte per character. */
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

/** The endpoint that serves a request, its project and its account. */
export interface Route {
  readonly account: AccountConfig;
  readonly project: ProjectConfig;
  readonly endpoint: Endpoint;
}
