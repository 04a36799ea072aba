import dns from 'node:dns';
import { isIP } from 'node:net';
import { syncBuiltinESMExports } from 'node:module';

/**
 * This module is loaded into a process under test before the process's own code (`node --import`). It replaces `dns.lookup`.
 * STANDIN_TEST_DNS is JSON that maps each name to a list of answers, one per lookup. Each answer is a list of addresses, and the
 * last answer repeats. STANDIN_TEST_DNS_SERVER, such as `127.0.0.1:5353`, replaces the servers of /etc/resolv.conf, which the
 * gateway queries directly for the names of Services.
 */

const table = JSON.parse(process.env['STANDIN_TEST_DNS'] ?? '{}') as Record<string, string[][]>;

type Callback = (error: Error | null, addresses?: { address: string; family: number }[]) => void;

const systemLookup = dns.lookup.bind(dns);

const lookup = (hostname: string, options: object, callback: Callback): void => {
  if (isIP(hostname) !== 0) {
    systemLookup(hostname, options, callback as never);
    return;
  }
  const answers = table[hostname];
  if (answers === undefined) {
    const error = new Error(`getaddrinfo ENOTFOUND ${hostname}`);
    process.nextTick(callback, Object.assign(error, { code: 'ENOTFOUND', hostname }));
    return;
  }
  const addresses = (answers.length > 1 ? answers.shift() : answers[0]) ?? [];
  process.nextTick(
    callback,
    null,
    addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
  );
};

const server = process.env['STANDIN_TEST_DNS_SERVER'];
if (server !== undefined) dns.setServers([server]);
Object.assign(dns, { lookup });
syncBuiltinESMExports();
