import type { ConfigObject } from '@standin/contract';
import type { TableEntry } from '../match/routing-table.ts';
import type { Endpoint } from '../request/route.ts';
import { MockAnswer } from '../respond/mock-answer.ts';

type EndpointConfig = Extract<ConfigObject, { kind: 'Endpoint' }>;

/**
 * Prepares an object for the routing table. Throws an error with a readable message if this gateway cannot serve it.
 */
export const compile = (object: ConfigObject): TableEntry => {
  switch (object.kind) {
    case 'Account':
      return { kind: 'Account', config: object };
    case 'Project':
      if (!/^[A-Za-z0-9._~-]+$/.test(object.uri)) throw new Error('the project URI is not a single path segment');
      return { kind: 'Project', config: object };
    case 'Endpoint':
      return { kind: 'Endpoint', config: object, endpoint: compileEndpoint(object) };
  }
};

const compileEndpoint = (config: EndpointConfig): Endpoint => {
  const { action } = config;
  if (action.kind === 'JSON') return { kind: 'JSON', config, mock: new MockAnswer(action) };
  const url = URL.parse(action.url);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new Error('the upstream is not an http or https URL');
  }
  return { kind: 'Forward', config, forward: action };
};
