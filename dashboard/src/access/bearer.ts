import type { IncomingMessage } from 'node:http';

const BEARER = /^Bearer ([A-Za-z0-9\-._~+/]+=*)$/i;

/** See RFC 6750 section 2.1. */
export const bearerToken = ({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined =>
  BEARER.exec(headers.authorization ?? '')?.[1];
