import type {
  AccountConfig,
  DelayConfig,
  EndpointConfig,
  FallbackReason,
  HeaderPair,
  Outcome,
  ProjectConfig,
  SignatureConfig,
} from '@standin/contract';
import type {
  CompiledCondition,
  LazyExpression,
  PathParameters,
  PathPattern,
  RequestExpressions,
  UrlTemplate,
} from '@standin/responses';
import type { Preparation } from './preparation.ts';

/** A mock response to a request. */
export interface Mock {
  readonly outcome: Extract<Outcome, 'mocked' | 'template_failed' | 'exchange_timeout'>;
  /** The reason if the outcome is `template_failed`. Otherwise empty. */
  readonly templateError: string;
  readonly status: number;
  /** Returns the headers in order, with their case, including `Date`. */
  headers(date: string): readonly HeaderPair[];
  /** The body as stored in the log. */
  readonly bytes: Uint8Array;
  /** The body in the form that is fastest to write. A string has one byte per character. */
  readonly wire: string | Uint8Array;
  readonly delay: DelayConfig | undefined;
}

/** Makes the mock for each request. Checked when the configuration arrived. */
export interface MockSource {
  readonly expressions: readonly LazyExpression[];
  /** Returns the mock for a request. Calls `expressions` only if the mock has any. Never throws. */
  mockFor(expressions: () => RequestExpressions): Mock;
}

/** A mock that responds to requests that meet its conditions. */
export interface ConditionalMock {
  readonly kind: 'JSON';
  readonly name: string;
  readonly conditions: readonly CompiledCondition[];
  readonly mock: MockSource;
}

/** The mock that responds if the upstream fails for one of the reasons. */
interface Fallback {
  readonly on: readonly FallbackReason[];
  readonly mock: MockSource;
}

/** Authenticates the requests to an endpoint that have no key. */
export interface SignatureCredential {
  readonly signature: SignatureConfig;
  readonly secretIds: readonly string[];
  /** The headers whose values are secrets. In lowercase. */
  readonly secretHeaders: readonly string[];
}

/** How many leading segments of a path the caller's and the upstream's path do not share. Infinity if they share nothing. */
export interface PathMapping {
  readonly publicSegments: number;
  readonly upstreamSegments: number;
}

interface CompiledEndpoint {
  readonly config: Pick<EndpointConfig, 'uid' | 'namespace' | 'name' | 'projectUid' | 'generation' | 'slug' | 'method'>;
  /** Undefined if requests need the key. */
  readonly credential: SignatureCredential | undefined;
  /** Undefined if the slug has no parameters. */
  readonly pattern: PathPattern | undefined;
  readonly responseNames: readonly string[];
  /** The responses and all expressions. Must be finished before conditions are checked and mocks are rendered. */
  readonly preparation: Preparation<ConditionalMock>;
}

/** An endpoint that is ready to serve requests. */
type ServedEndpoint = CompiledEndpoint &
  (
    | { readonly kind: 'JSON'; readonly mock: MockSource }
    | {
        readonly kind: 'Forward';
        readonly forward: Extract<EndpointConfig['action'], { kind: 'Forward' }>;
        /** Undefined if the slug has no parameters, or if the upstream is a Service. */
        readonly urlTemplate: UrlTemplate | undefined;
        readonly paths: PathMapping;
        readonly fallback: Fallback | undefined;
      }
  );

export type ForwardEndpoint = Extract<ServedEndpoint, { kind: 'Forward' }>;

/** What responds to a request: a mock, or the upstream of the endpoint. `name` is the name of the response, if it has one. */
export type Responder = { readonly kind: 'JSON'; readonly name?: string; readonly mock: Mock } | ForwardEndpoint;

/** Returns the name of the response, or an empty name if the action of the endpoint responds. */
export const responderName = (responder: Responder): string =>
  responder.kind === 'JSON' ? (responder.name ?? '') : '';

/**
 * A `NotAccepted` endpoint has a mistake. A `Withheld` endpoint is one that only a newer version of the gateway can serve.
 */
export type Endpoint =
  | ServedEndpoint
  | (CompiledEndpoint & { readonly kind: 'NotAccepted' })
  | (CompiledEndpoint & { readonly kind: 'Withheld' });

/** The endpoint that serves a request, with its project and its account. */
export interface Route {
  readonly account: AccountConfig;
  readonly project: ProjectConfig;
  readonly endpoint: ServedEndpoint;
  readonly parameters: PathParameters;
}
