import type { DelayConfig, HeaderPair, JsonMockConfig, ResponseConfig } from '@standin/contract';
import { durationMs } from './duration.ts';
import { responseConditions } from './response-conditions.ts';
import type { EndpointSpec } from './v1alpha1/endpoint.ts';

type ResponseSpec = NonNullable<EndpointSpec['responses']>[number];
type Headers = readonly { readonly name: string; readonly value: string }[];

/**
 * With all defaults.
 *
 * @param endpoint the name of the Endpoint
 */
export const responseConfigs = ({ responses = [] }: EndpointSpec, endpoint: string): readonly ResponseConfig[] =>
  responses.map(({ name, when, status = 200, headers = [], body, bodyBase64, delay, template }) => {
    const text = bodyBase64 ?? body ?? '';
    return {
      name,
      ...responseConditions(when, `${endpoint}/${name}`),
      mock: {
        status,
        headers: mockHeaders(text, headers),
        body: text,
        ...(template !== undefined && { template }),
        bodyEncoding: bodyBase64 === undefined ? 'utf8' : 'base64',
        ...(delay !== undefined && { delay: toDelayConfig(delay) }),
      },
    };
  });

type DelaySpec = NonNullable<ResponseSpec['delay']>;

/** The schema requires exactly the field for the type. */
const toDelayConfig = ({ type, fixed = '', uniform, logNormal }: DelaySpec): DelayConfig => {
  switch (type) {
    case 'Fixed':
      return { kind: type, fixedMs: durationMs(fixed) };
    case 'Uniform':
      return { kind: type, minMs: durationMs(uniform?.min ?? ''), maxMs: durationMs(uniform?.max ?? '') };
    case 'LogNormal':
      return { kind: type, medianMs: durationMs(logNormal?.median ?? ''), p99Ms: durationMs(logNormal?.p99 ?? '') };
  }
};

/** The mock in `spec.json`, with all defaults. */
export const jsonMockConfig = ({ json }: EndpointSpec): JsonMockConfig => {
  const { body = '', status = 200, headers = [], delay, template } = json ?? {};
  return {
    status,
    body,
    headers: mockHeaders(body, headers),
    ...(template !== undefined && { template }),
    ...(delay !== undefined && { delay: toDelayConfig(delay) }),
  };
};

/** Returns the headers as written. If the mock has a body and no `content-type`, puts `content-type: application/json` first. */
const mockHeaders = (body: string, headers: Headers): HeaderPair[] => {
  const pairs = headers.map(({ name, value }): HeaderPair => [name, value]);
  const isTyped = headers.some(({ name }) => name.toLowerCase() === 'content-type');
  return isTyped || body === '' ? pairs : [['content-type', 'application/json'], ...pairs];
};
