import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { runCommand } from '../cluster/run-command.ts';

const ROOT = path.join(import.meta.dirname, '../..');
const AUDITS = '/-/npm/v1/security/advisories/bulk';

/** Runs `npm run audit` against a registry that has no packages and responds to audits as given. */
const audit = async (answer: (response: ServerResponse) => void) => {
  const registry = createServer((request, response) => {
    request.resume();
    if (request.url === AUDITS) answer(response);
    else response.writeHead(404, { 'content-type': 'application/json' }).end('{}');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void registry.close());
  await once(registry, 'listening');
  const { port } = registry.address() as AddressInfo;
  return runCommand(process.execPath, ['test/suite/audit.ts'], {
    cwd: ROOT,
    env: { ...process.env, npm_config_registry: `http://127.0.0.1:${port}`, npm_config_fetch_retries: '0' },
    timeoutMs: 60_000,
  });
};

const advisory = (id: string, severity: string) => ({
  id: 1,
  url: `https://github.com/advisories/${id}`,
  title: `title of ${id}`,
  severity,
  vulnerable_versions: '*',
  cwe: [],
  cvss: { score: 0, vectorString: null },
});
const advisories = (byPackage: object) => (response: ServerResponse) =>
  void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(byPackage));

test('an audit fails on a high advisory of a production package', async () => {
  const { code, stdout } = await audit(advisories({ undici: [advisory('GHSA-1111-1111-1111', 'high')] }));
  expect(stdout).toContain('FAILS: high: undici: title of GHSA-1111-1111-1111');
  expect(stdout).toContain('GHSA-rxv8-25v2-qmq8 is no longer found');
  expect(code).toBe(1);
});

test('an audit passes with waived advisories and with advisories below high', async () => {
  const { code, stdout } = await audit(
    advisories({
      'turbo-stream': [advisory('GHSA-rxv8-25v2-qmq8', 'high')],
      zod: [advisory('GHSA-2222-2222-2222', 'moderate')],
      // Only tests need this package, so the audit does not report it.
      vitest: [advisory('GHSA-3333-3333-3333', 'critical')],
    }),
  );
  expect(stdout).toMatch(/^waived: high: turbo-stream: /m);
  expect(stdout).toMatch(/^GHSA-rxv8-25v2-qmq8 is waived\. CVE-2026-34077/m);
  expect(stdout).toMatch(/^reported only: moderate: zod: /m);
  expect(stdout).not.toContain('GHSA-3333-3333-3333');
  expect(code).toBe(0);
});

test('an audit passes and reports that nothing was checked if the registry does not support audits', async () => {
  const { code, stdout } = await audit((response) => void response.writeHead(405).end());
  expect(stdout).toMatch(/^The registry does not support audits, so nothing was checked: 405 /);
  expect(code).toBe(0);
});
