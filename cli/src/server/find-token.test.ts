import { expect, it } from 'vitest';
import { listsForeignListener } from './find-token.ts';

const [LISTENING, ESTABLISHED] = ['0A', '01'];
const [ROOT, OWN, OTHER] = [0, 1000, 1001];

/** Returns `/proc/net/tcp` with one socket on 127.0.0.1. */
const table = (port: number, state: string, uid: number): string => {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return [
    '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
    `   0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000  ${uid}        0 12345 1 0000000000000000 100 0 0 10 0`,
    '',
  ].join('\n');
};

it.each([
  ['another user', table(8080, LISTENING, OTHER), true],
  ['another user, on another port', table(18080, LISTENING, OTHER), false],
  ['another user, as a client', table(8080, ESTABLISHED, OTHER), false],
  ['the user', table(8080, LISTENING, OWN), false],
  ['root', table(8080, LISTENING, ROOT), false],
  ['no one', '', false],
])('a listener is foreign unless it belongs to the user or to root: %s', (_, text, isForeign) => {
  expect(listsForeignListener(text, 8080, OWN)).toBe(isForeign);
});

it('a port with few digits is found', () => {
  expect(listsForeignListener(table(80, LISTENING, OTHER), 80, OWN)).toBe(true);
});
