import { RequestExpressions, type ExpressionInput } from './request-expressions.ts';
import { RequestFacts, type ConditionInput } from './request-facts.ts';

/** Returns the expressions of a request with these parts. All other parts have fixed values. */
export const expressionsFor = (parts: Partial<ConditionInput & ExpressionInput> = {}): RequestExpressions => {
  const input = {
    id: '0190a9b2-1111-7222-8333-123456789abc',
    receivedAtUs: 1_700_000_000_123_456,
    method: 'POST',
    path: '/',
    headers: [],
    query: '',
    parameters: new Map(),
    body: new Uint8Array(0),
    project: 'shop',
    endpoint: 'orders',
    projectUrl: 'https://mocks.example.com/k3v9x2m7q4hd8w1n',
    ...parts,
  };
  return new RequestExpressions(new RequestFacts(input), input);
};
