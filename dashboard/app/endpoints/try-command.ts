import { hasControls } from '@standin/contract';
import { shellQuote } from '@standin/exchange/formats';

export interface Tried {
  readonly method: string;
  readonly url: string;
}

/** A command that calls an endpoint. Keys and slugs may come from strangers, and both may contain quotes. Throws if no header can carry the key. */
export const tryCommand = ({ method, url }: Tried, apiKey: string): string => {
  if (hasControls(apiKey)) throw new Error('the API key has control characters');
  const body = method === 'GET' || method === 'DELETE' ? '' : ` -H 'content-type: application/json' -d '{"try": true}'`;
  return `curl -i -X ${method} -H ${shellQuote(`x-api-key: ${apiKey}`)}${body} ${shellQuote(url)}`;
};
