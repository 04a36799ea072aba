import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isAlive } from '../../cli/src/server/run-file.ts';
import { eventually } from '../harness/eventually.ts';
import { startProcess } from '../harness/processes.ts';
import { newFolders, printLog, standin, type DevFolders } from './dev-stand.ts';

let folders: DevFolders;
beforeEach(async () => (folders = await newFolders()));
afterEach(() => rm(path.dirname(folders.manifests), { recursive: true, force: true }));

/** Returns the arguments that start `standin dev` and run a command. */
const withCommand = (command: string): string[] => [
  'dev',
  folders.manifests,
  '--data',
  folders.data,
  '--exec',
  command,
];

const CALL = `
curl -s -o /dev/null -w '%{http_code}\\n' -d '{"a": 1}' -H "x-api-key: $API_KEY" "$PROJECT_URL/v1/orders"
curl -s -G -H "authorization: Bearer $STANDIN_TOKEN" -d timeout=10s \\
  "$STANDIN_URL/api/v1/namespaces/default/projects/shop/requests:wait" | jq -r '.items[0].request.body'
echo "$INHERITED"
exit 3
`;

test('standin dev --exec runs a command when all endpoints are ready, and exits with its code', async () => {
  const { code, stdout, stderr } = await standin(withCommand(CALL), {
    env: { ...process.env, INHERITED: 'inherited' },
  });
  expect({ code, stdout }).toEqual({ code: 3, stdout: '201\n{"a": 1}\ninherited\n' });
  // The log of a CI job must not contain the API key.
  expect(stderr).toBe('Starting ClickHouse, operator and gateway…\n');
  expect(await printLog(folders.data)).toMatchObject([{ method: 'POST', path: '/v1/orders' }]);
});

test('with several projects, the command gets neither PROJECT_URL nor the URL of one of them', async () => {
  const project = { apiVersion: 'standin.dev/v1alpha1', kind: 'Project', metadata: { name: 'mail' } };
  await writeFile(
    path.join(folders.manifests, 'mail.yaml'),
    JSON.stringify({ ...project, spec: { accountRef: { name: 'default' } } }),
  );
  const { code, stdout } = await standin(withCommand('echo "${PROJECT_URL-none} ${API_KEY%%_*}"'));
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'none standin\n' });
});

test('a signal to standin dev ends the command, and the exit code is not 0', async () => {
  const dev = startProcess({
    name: 'standin dev',
    main: 'cli/src/main.ts',
    args: withCommand('echo $$; exec sleep 60'),
  });
  const pid = Number(await dev.waitForLine('the process id of the command', (line) => /^\d+$/.test(line), 60_000));
  expect(await dev.kill('SIGTERM')).toEqual({ code: 1, signal: null });
  await eventually('the end of the command', () => isAlive(pid), { accept: (alive) => !alive });
});

test('if Standin cannot start, the command does not run', async () => {
  const { code, stdout, stderr } = await standin(['dev', path.join(folders.data, 'missing'), '--exec', 'echo run']);
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(stderr).toContain('does not exist');
});
