import { expect, test } from 'vitest';
import { isRebound, listenUrl } from './loopback.ts';

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
  // Prometheus and the kubelet use the pod address, or any name that resolves to that address.
  ['0.0.0.0', '10.1.2.3:9090', false],
  ['::', 'standin-gateway.standin-system.svc:9090', false],
  ['10.1.2.3', undefined, false],
])('a server on %s with the request host %s detects rebinding: %s', (address, host, isIt) => {
  expect(isRebound(address, host)).toBe(isIt);
});

test.each([
  ['127.0.0.1', 'http://127.0.0.1:9090'],
  ['::1', 'http://[::1]:9090'],
  ['localhost', 'http://localhost:9090'],
  // The server listens on every address of this machine. The URL contains the loopback address.
  ['0.0.0.0', 'http://127.0.0.1:9090'],
  ['::', 'http://[::1]:9090'],
])('a server that listens on %s has the URL %s', (address, url) => {
  expect(listenUrl('http', address, 9090)).toBe(url);
});
