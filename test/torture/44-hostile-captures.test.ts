import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { GROUP_VERSION } from '@standin/contract';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { runCommand } from '../cluster/run-command.ts';
import { startDashboard, type DashboardRun } from '../e2e/dashboard-stand.ts';
import { endpoint, forward, mock, readLog, ROOT } from '../e2e/dev-stand.ts';
import { startUpstream, type Upstream } from '../e2e/upstream.ts';
import { eventually } from '../harness/eventually.ts';
import { createTempFolder } from '../harness/temp-folder.ts';

/**
 * Torture test 44: bodies and manifests that once took quadratic time to read. The multipart body took 4.5 s, the nested JSON took
 * 14.6 s, and the YAML took 24 s.
 */

/** The maximum CPU time to read one of these inputs. On a busy machine, wall-clock time depends mostly on other processes. */
const CPU_MS_MAX = 2_000;
const TICKS_PER_SECOND = 100;

/** 160 kB of parts. No part has an empty line, so no part has a head. */
const MULTIPART = '--b\r\nx\r\n'.repeat(20_000);
/** Returns 194 kB of objects of 27 members, nested about as deeply as can be compared. The argument is the innermost value. */
const nestedJson = (innermost: number): string => {
  const LEVELS = 1_200;
  const members = Array.from({ length: 26 }, (_, index) => `"${String.fromCharCode(98 + index)}":0,`).join('');
  return `${`{${members}"a":`.repeat(LEVELS)}${innermost}${'}'.repeat(LEVELS)}`;
};
/** 229 kB of keys that differ only in their last characters. */
const YAML = Array.from({ length: 12_000 }, (_, index) => `key-number-${index}: a\n`).join('');

let run: DashboardRun;
let upstream: Upstream;
let answers = 0;

beforeAll(async () => {
  upstream = await startUpstream((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(nestedJson((answers += 1)));
  });
  run = await startDashboard();
  await writeFile(path.join(run.manifests, 'upload.yaml'), endpoint('upload', mock('{}')));
  await writeFile(path.join(run.manifests, 'nested.yaml'), endpoint('nested', forward(`${upstream.url}/nested`)));
});
afterAll(async () => {
  upstream.stop();
  await run.process.kill();
});

const capture = async (slug: string, type: string, body: string): Promise<string> => {
  const send = async (): Promise<number> => {
    const headers = { 'x-api-key': run.apiKey, 'content-type': type };
    const answer = await request(`${run.url}/${slug}`, { method: 'POST', headers, body });
    await answer.body.dump();
    return answer.statusCode;
  };
  await eventually(`${slug} to answer`, send, { accept: (status) => status === 200 });
  const entries = await eventually(
    `${slug} in the log`,
    () => readLog(run.data, '--filter', `path:/${slug} status:200`),
    {
      accept: ({ length }) => length > 0,
    },
  );
  return entries[0]?.id ?? '';
};

/**
 * Returns the user and system CPU time of `standin dev` so far, in milliseconds. These times are fields 14 and 15 of
 * proc_pid_stat(5).
 */
const cpuMs = async (): Promise<number> => {
  const stat = await readFile(`/proc/${run.process.pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return ((Number(fields[11]) + Number(fields[12])) * 1_000) / TICKS_PER_SECOND;
};

interface Opened {
  readonly body: string;
  readonly ms: number;
}

const open = async (url: string, status = 200): Promise<Opened> => {
  const before = await cpuMs();
  const { statusCode, body } = await request(`${run.dashboard}${url}`);
  const text = await body.text();
  expect([url, statusCode]).toEqual([url, status]);
  return { body: text, ms: (await cpuMs()) - before };
};

describe('44: a captured multipart body with many parts', () => {
  let id: string;
  beforeAll(async () => {
    id = await capture('upload', 'multipart/form-data; boundary=b', MULTIPART);
  });

  test.each([
    ['the page of the request', '?body=parts', 200],
    ['the download of the body', '/body?part=request', 200],
    // No part has a head.
    ['the download of a part', '/body?part=request&item=0', 404],
    ['the preview of a share link', '/share', 200],
  ])('does not slow down %s', async (_, rest, status) => {
    const { ms } = await open(`/p/default/shop/traffic/${id}${rest}`, status);
    expect(ms).toBeLessThan(CPU_MS_MAX);
  });
});

describe('44: two responses with nested JSON', () => {
  test('are compared within the CPU limit', async () => {
    const id = await capture('nested', 'application/json', '{}');
    const api = `${run.dashboard}/api/v1/namespaces/default/projects/shop/replays`;
    const spec = { requestId: id, target: { kind: 'Endpoint' } };
    const { statusCode, body } = await request(api, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ spec }),
    });
    expect(statusCode).toBe(201);
    const { name } = z.object({ name: z.string() }).parse(await body.json());
    const results = z.object({ items: z.array(z.unknown()) });
    await eventually(
      'the result',
      async () => results.parse(await (await request(`${api}/${name}/results`)).body.json()).items,
      { accept: ({ length }) => length === 1 },
    );
    const { body: page, ms } = await open(`/p/default/shop/replays/${name}/results/${id}`);
    expect(page).toContain('Differences');
    expect(ms).toBeLessThan(CPU_MS_MAX);
  });
});

describe('44: a manifest with many keys', () => {
  /**
   * Returns the output and the CPU time of the command and its children. The shell prints this time in the last line of `times`.
   */
  const validate = async (text: string): Promise<{ readonly output: string; readonly ms: number }> => {
    const file = path.join(await createTempFolder('validate'), 'manifest.yaml');
    await writeFile(file, text);
    const main = path.join(ROOT, 'cli/src/main.ts');
    const script = '"$0" "$@"; times';
    const { stdout } = await runCommand('sh', ['-c', script, process.execPath, main, 'validate', file], { cwd: ROOT });
    const times = stdout.trimEnd().split('\n').at(-1) ?? '';
    const seconds = [...times.matchAll(/(\d+)m([\d.]+)s/g)].map(
      ([, minutes, rest]) => Number(minutes) * 60 + Number(rest),
    );
    expect(seconds).toHaveLength(2);
    return { output: stdout, ms: seconds.reduce((sum, each) => sum + each, 0) * 1_000 };
  };

  test.each([
    [
      'that all differ',
      `apiVersion: ${GROUP_VERSION}\nkind: Project\nmetadata: {name: a}\nspec: {}\n${YAML}`,
      'unknown field',
    ],
    ['of which the last one is a duplicate', `${YAML}key-number-0: b\n`, 'Map keys must be unique'],
  ])('%s is validated within the CPU limit', async (_, text, message) => {
    // Measures the start of the command separately, because it takes most of the time.
    const { ms: startMs } = await validate('a: 1\n');
    const { output, ms } = await validate(text);
    expect(output).toContain(message);
    expect(ms - startMs).toBeLessThan(CPU_MS_MAX);
  });
});
