import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { parseAllDocuments } from 'yaml';
import { beforeAll, expect, test } from 'vitest';
import { connect, matchers, type CreatedProject, type EndpointManifest, type Standin } from '../../cli/client/index.ts';
import { startDev } from './dev-stand.ts';
import {
  createObjects,
  messageHandler,
  postThread,
  refreshToken,
  reportBuild,
} from './rebuilt-suites/code-under-test.ts';

/**
 * One test of each of five public suites that use WireMock, MockServer or Mockoon, written again with Standin, without sleeps.
 * docs/guides/coming-from-wiremock.md lists them with their sources.
 */

expect.extend(matchers);

let standin: Standin;

beforeAll(async () => {
  const { data } = await startDev();
  standin = await connect({ data });
});

/** Creates a project with the endpoints of a file. */
const create = async (file: string): Promise<CreatedProject> => {
  const text = await readFile(path.join(import.meta.dirname, `rebuilt-suites/${file}.yaml`), 'utf8');
  return standin.createProject({
    endpoints: parseAllDocuments(text).map((document) => document.toJS() as EndpointManifest),
  });
};

test('JReleaser: the second status of a thread replies to the first', async () => {
  const project = await create('mastodon');
  await postThread(project, ['first', 'second']);
  await expect(project).toHaveReceivedInOrder([
    'path:/api/v1/statuses body:first -body:in_reply_to_id',
    'path:/api/v1/statuses body:second body:"\\"in_reply_to_id\\":\\"1234\\""',
  ]);
});

test('OpenRemote: only messages in scope are answered, and a sender is looked up once', async () => {
  const project = await create('broker');
  const receive = messageHandler(project, 'ean.1');
  await receive({ sender: 'nilsgrid.net', congestionPoint: 'ean.2' });
  await receive({ sender: 'nilsgrid.net', congestionPoint: 'ean.1' });
  // Replies are sent in the order of the messages.
  await project.wait('path:/message header.authorization:"Bearer secret-1" body:ean.1');
  await expect(project).toHaveReceived('path:/message', { times: 1 });
  await expect(project).toHaveReceived('path:/participants/nilsgrid.net', { times: 1 });
});

test('Hadoop: a client gets a new token with its credentials', async () => {
  const project = await create('token');
  expect(await refreshToken(project, 'joe', 'secret')).toBe('new access token');
  await expect(project).toHaveReceivedOnly([
    'method:POST path:/refresh body:grant_type=client_credentials body:client_id=joe body:client_secret=secret',
  ]);
});

test.for([0, 1, 2])('Weaviate: a batch without a response is sent again without what exists (%i)', async (retries) => {
  const project = await create('batch');
  const batch = ['Pizza/p-1', 'Pizza/p-2', 'Soup/s-1', 'Soup/s-2'];
  expect(await createObjects(project, batch, { retries, timeoutMs: 200 })).toEqual(['Pizza/p-2', 'Soup/s-2']);
  await expect(project).toHaveReceived('path:/v1/batch/objects', { times: retries + 1 });
  await expect(project).toHaveReceived('path:/v1/objects/Pizza/p-2', { times: retries + 1 });
  await expect(project).toHaveReceived('path:/v1/objects/Soup/s-2', { times: retries + 1 });
  await expect(project).toHaveReceived('path:/v1/objects/*/*-1', { times: 2 });
});

test('hydra-tools: the report of a failed build contains its log', async () => {
  const project = await create('checks');
  reportBuild(project, 'input-output-hk/sample', 'compressed build log');
  const [report] = await project.wait('path:/repos/input-output-hk/sample/check-runs');
  expect(JSON.parse(report?.request.body ?? '')).toMatchObject({ output: { text: 'compressed build log' } });
});
