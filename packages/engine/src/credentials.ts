import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { DEFAULT_USER, type Credentials } from './engine-process.ts';
import { engineException, type EngineException } from './engine-exception.ts';

/**
 * Returns the credentials in a request, in any form that ClickHouse's HTTP interface supports
 * (https://clickhouse.com/docs/interfaces/http): X-ClickHouse-User and -Key, Basic authentication, or `user` and `password` in
 * the URL.
 */
export const requestCredentials = (
  { headers }: Pick<IncomingMessage, 'headers'>,
  search: URLSearchParams,
): Credentials => {
  const { authorization, 'x-clickhouse-user': user, 'x-clickhouse-key': key } = headers;
  if (typeof user === 'string' || typeof key === 'string') {
    return { user: typeof user === 'string' ? user : DEFAULT_USER, password: typeof key === 'string' ? key : '' };
  }
  const basic = /^Basic +(.+)$/i.exec(authorization ?? '')?.[1];
  if (basic !== undefined) {
    const text = Buffer.from(basic, 'base64').toString('utf8');
    const colon = text.indexOf(':');
    return colon < 0 ? { user: text, password: '' } : { user: text.slice(0, colon), password: text.slice(colon + 1) };
  }
  return { user: search.get('user') ?? DEFAULT_USER, password: search.get('password') ?? '' };
};

/** Compares in a time that does not reveal how many characters were correct. */
const isSame = (given: string, wanted: string): boolean => {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(given), digest(wanted));
};

/** Returns ClickHouse's error for a wrong user or password, or undefined if the credentials are correct. */
export const refuseOthers = (given: Credentials, wanted: Credentials): EngineException | undefined => {
  const [isUser, isPassword] = [isSame(given.user, wanted.user), isSame(given.password, wanted.password)];
  if (isUser && isPassword) return undefined;
  const reason = 'Authentication failed: password is incorrect, or there is no user with such name.';
  return engineException(516, 'AUTHENTICATION_FAILED', `${given.user}: ${reason}`);
};
