import { lookup } from 'node:dns/promises';
import { OperatorConnection, type OperatorAddress } from './operator-connection.ts';

/** The facts that are needed to reach the config stream. */
export interface OperatorAccess {
  /** The operators' URLs. Every address of every host name is tried until the leader is found. */
  readonly urls: readonly string[];
  /** The folder that contains ca.crt, tls.crt and tls.key. */
  readonly tlsDir: string;
}

const RESPONSE_TIMEOUT_MS = 5_000;

/**
 * Reports to the leading operator that a gateway process has ended and that all its records are in the log. A gateway itself
 * reports its earlier processes, and this function is for other programs. Rejects if no operator accepts the report.
 *
 * @param incarnation the id of the process (its `instance` in the config stream)
 */
export const reportDrained = async ({ urls, tlsDir }: OperatorAccess, incarnation: string): Promise<void> => {
  const failures: unknown[] = [];
  for (const url of urls) {
    try {
      for (const target of await resolve(url)) {
        const failure = await reportTo(target, tlsDir, incarnation);
        if (failure === undefined) return;
        failures.push(failure);
      }
    } catch (error) {
      failures.push(error);
    }
  }
  throw new AggregateError(failures, `no operator accepted the report: ${failures.map(String).join('; ')}`);
};

const resolve = async (text: string): Promise<readonly OperatorAddress[]> => {
  const url = new URL(text);
  const found = await lookup(url.hostname.replace(/^\[|\]$/g, ''), { all: true });
  return found.map(({ address }) => ({ url, address }));
};

/** Resolves with the failure, or with undefined if the operator accepted the report. */
const reportTo = async (target: OperatorAddress, tlsDir: string, incarnation: string): Promise<unknown> => {
  const connection = await OperatorConnection.open(target, tlsDir, { name: 'drain', instance: '', maxStalenessMs: 0 });
  try {
    await connection.drained(incarnation, AbortSignal.timeout(RESPONSE_TIMEOUT_MS));
    return undefined;
  } catch (error) {
    return error;
  } finally {
    connection.close();
  }
};
