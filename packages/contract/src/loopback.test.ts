import { expect, test } from 'vitest';
import { isRebound } from './loopback.ts';

test.each([
  ['127.0.0.1', 'localhost:9090', false],
  ['127.0.0.1', '127.0.0.1:9090', false],
  ['::1', '[::1]:9090', false],
  ['localhost', 'LOCALHOST', false],
  ['127.0.0.1', 'evil.example:9090', true],
  ['127.0.0.1', 'localhost.evil.example', true],
  ['127.0.0.1', 'evil.example#localhost', true],
  ['127.0.0.1', undefined, true],
  ['::1', 'evil.example', true],
  // Prometheus and the kubelet use the address of the pod, or any name that leads to it.
  ['0.0.0.0', '10.1.2.3:9090', false],
  ['::', 'standin-gateway.standin-system.svc:9090', false],
  ['10.1.2.3', undefined, false],
])('a server on %s detects rebinding by the host %s: %s', (address, host, isIt) => {
  expect(isRebound(address, host)).toBe(isIt);
});
