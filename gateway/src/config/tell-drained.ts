import { lookup } from 'node:dns/promises';
import { OperatorConnection, type OperatorAddress } from './operator-connection.ts';

/** How the config stream is reached. */
export interface OperatorAccess {
  /** Every address of every name is tried: one of them leads. */
  readonly urls: readonly string[];
  /** Has ca.crt, tls.crt and tls.key. */
  readonly tlsDir: string;
}

const ANSWER_TIMEOUT_MS = 5_000;

/**
 * Tells the leading operator of a gateway's process that is no more and whose every record is in the log, as the gateway itself does at its next
 * start; for one who is no gateway. Rejects when no operator takes it.
 */
export const tellDrained = async ({ urls, tlsDir }: OperatorAccess, incarnation: string): Promise<void> => {
  const failures: unknown[] = [];
  for (const url of urls) {
    try {
      for (const target of await resolve(url)) {
        const failure = await tellOne(target, tlsDir, incarnation);
        if (failure === undefined) return;
        failures.push(failure);
      }
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `no operator takes it: ${failures.map(String).join('; ')}`);
};

const resolve = async (text: string): Promise<readonly OperatorAddress[]> => {
  const url = new URL(text);
  const found = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true });
  return found.map(({ address }) => ({ url, address }));
};

/** Resolves with why it failed. */
const tellOne = async (target: OperatorAddress, tlsDir: string, incarnation: string): Promise<unknown> => {
  const connection = await OperatorConnection.open(target, tlsDir, { name: 'drain', instance: '', maxStalenessMs: 0 });
  try {
    await connection.drained(incarnation, AbortSignal.timeout(ANSWER_TIMEOUT_MS));
    return undefined;
  } catch (error) {
    return error;
  } finally {
    connection.close();
  }
};
