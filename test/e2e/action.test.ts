import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../cluster/run-command.ts';
import { createTempFolder } from '../harness/temp-folder.ts';
import { runAction, type ActionRun } from './action-runner.ts';
import { QUICKSTART, ROOT } from './dev-stand.ts';

const ACTION = path.join(ROOT, '.github/actions/standin/action.yml');

let folder: string;
let workspace: string;
let runs = 0;

// A package that runs the CLI of this checkout. `package.test.ts` installs the real one, which takes minutes.
beforeAll(async () => {
  folder = await createTempFolder('action');
  workspace = path.join(folder, 'workspace');
  await cp(QUICKSTART, path.join(workspace, 'mocks'), { recursive: true });
  const source = path.join(folder, 'standin');
  await mkdir(source);
  const manifest = { name: 'standin', version: '0.0.0', bin: { standin: 'standin.sh' } };
  await writeFile(path.join(source, 'package.json'), JSON.stringify(manifest));
  const cli = `#!/bin/sh\nexec '${process.execPath}' '${path.join(ROOT, 'cli/bin/standin.js')}' "$@"\n`;
  await writeFile(path.join(source, 'standin.sh'), cli);
  const { code, stderr } = await runCommand('npm', ['pack', source, '--pack-destination', workspace]);
  expect({ code, stderr }).toMatchObject({ code: 0 });
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const run = (inputs: Readonly<Record<string, string>>): Promise<ActionRun> =>
  runAction(
    ACTION,
    { package: 'standin-0.0.0.tgz', manifests: 'mocks', ...inputs },
    { workspace, folder: path.join(folder, `runner-${(runs += 1)}`) },
  );

/** Returns the uploaded files that exist. */
const uploaded = async ({ used }: ActionRun): Promise<Readonly<Record<string, string>>> => {
  const files = used.flatMap((action) => action.with['path']?.trim().split('\n') ?? []);
  const texts = await Promise.all(files.map((file) => readFile(file, 'utf8').catch(() => undefined)));
  return Object.fromEntries(
    files.flatMap((file, index) => {
      const text = texts[index];
      return text === undefined ? [] : [[path.basename(file), text]];
    }),
  );
};

const CALL = `
curl -sf -d '{"a": 1}' -H "x-api-key: $API_KEY" "$PROJECT_URL/v1/orders" > response.json
echo "key $API_KEY"
`;

test('the action runs commands, keeps their requests, and compares them with those of an earlier run', async () => {
  const first = await run({ run: CALL });
  expect(first).toMatchObject({ isFailed: false, summary: '' });
  expect(first.masked).toHaveLength(2);
  expect(first.log).toContain('key ***');
  expect(first.masked.filter((secret) => first.log.includes(secret))).toEqual([]);
  const { 'requests.ndjson': requests = '', ...others } = await uploaded(first);
  expect(others).toEqual({});
  expect(JSON.parse(requests)).toMatchObject({ method: 'POST', path: '/v1/orders' });

  await writeFile(path.join(workspace, 'earlier.ndjson'), requests);
  const file = path.join(workspace, 'mocks/create-order.yaml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('status: 201', 'status: 202'));
  const second = await run({ run: 'exit 4', test: "--entries 'earlier.ndjson' --ignore '$.total'" });
  await writeFile(file, text);
  expect(second.isFailed).toBe(true);
  expect(second.log).toContain('status 201 → 202');
  expect(second.summary).toContain('create-order');
  expect(Object.keys(await uploaded(second))).toEqual(['requests.ndjson', 'report.xml']);
});

test('the action checks the requests with a contract', async () => {
  const content = { '*/*': {} };
  const post = { requestBody: { content }, responses: { 201: { description: 'x', content } } };
  const contract = { openapi: '3.1.0', paths: { '/v1/orders': { post } } };
  await writeFile(path.join(workspace, 'openapi.json'), JSON.stringify(contract));
  const { isFailed, log } = await run({ run: CALL, test: '--openapi openapi.json' });
  expect(log).toContain('openapi.json POST /v1/orders: 1 same');
  expect(isFailed).toBe(false);
});

test('the action stops at a manifest with a mistake', async () => {
  await mkdir(path.join(workspace, 'broken'));
  await writeFile(path.join(workspace, 'broken/project.yaml'), 'kind: Project');
  const { isFailed, steps, used } = await run({ manifests: 'broken', run: 'echo' });
  expect({ isFailed, steps, used }).toEqual({
    isFailed: true,
    steps: ['Install Standin', 'Check the manifests'],
    used: [],
  });
});
