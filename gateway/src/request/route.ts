import type {
  AccountConfig,
  DelayConfig,
  EndpointConfig,
  FallbackReason,
  HeaderPair,
  ProjectConfig,
} from '@standin/contract';
import type { CompiledCondition, PathParameters, PathPattern, UrlTemplate } from '@standin/responses';

/** A mock response that was checked when the configuration arrived. */
export interface Mock {
  readonly status: number;
  /** Returns the headers in order, with their case, including `Date`. */
  headers(date: string): readonly HeaderPair[];
  /** The body as stored in the log. */
  readonly bytes: Uint8Array;
  /** The body in the form that is fastest to write. A string has one byte per character. */
  readonly wire: string | Uint8Array;
  readonly delay: DelayConfig | undefined;
}

/** A mock that responds to requests that meet its conditions. */
export interface ConditionalMock {
  readonly kind: 'JSON';
  readonly name: string;
  readonly conditions: readonly CompiledCondition[];
  readonly mock: Mock;
}

/** The mock that responds if the upstream fails for one of the reasons. */
export interface Fallback {
  readonly on: readonly FallbackReason[];
  readonly mock: Mock;
}

interface CompiledEndpoint {
  readonly config: EndpointConfig;
  /** Undefined if the slug has no parameters. */
  readonly pattern: PathPattern | undefined;
  /** Tried in order before the action. */
  readonly responses: readonly ConditionalMock[];
}

/** An endpoint that is ready to serve requests. */
type ServedEndpoint = CompiledEndpoint &
  (
    | { readonly kind: 'JSON'; readonly mock: Mock }
    | {
        readonly kind: 'Forward';
        readonly forward: Extract<EndpointConfig['action'], { kind: 'Forward' }>;
        /** Undefined if the slug has no parameters, or if the upstream is a Service. */
        readonly urlTemplate: UrlTemplate | undefined;
        readonly fallback: Fallback | undefined;
      }
  );

export type ForwardEndpoint = Extract<ServedEndpoint, { kind: 'Forward' }>;

/** What responds to a request: one of the endpoint's responses, or the action of the endpoint. */
export type Responder = ConditionalMock | ServedEndpoint;

/** Returns the name of the response, or an empty name if the action of the endpoint responds. */
export const responseNameOf = (responder: Responder): string => ('name' in responder ? responder.name : '');

/** A `Withheld` endpoint is one that only a newer version of the gateway can serve. */
export type Endpoint = ServedEndpoint | (CompiledEndpoint & { readonly kind: 'Withheld' });

/** The endpoint that serves a request, with its project and its account. */
export interface Route {
  readonly account: AccountConfig;
  readonly project: ProjectConfig;
  readonly endpoint: ServedEndpoint;
  readonly parameters: PathParameters;
}
