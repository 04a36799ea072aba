import { expect, test } from 'vitest';
import { z } from 'zod';
import { describeSettings, listSetting, parseSettings, watchSetting } from './settings.ts';

const schema = z.object({
  port: z.coerce.number().int().default(8080),
  apiKeyHeader: z.object({ name: z.enum(['exact', 'any-case']).default('exact') }).prefault({}),
  egress: z.object({ allow: listSetting(z.string()).default([]) }).prefault({}),
});

test('every leaf has a path and a variable name', () => {
  expect(describeSettings(schema).map(({ path, env }) => [path, env])).toEqual([
    ['port', 'STANDIN_PORT'],
    ['apiKeyHeader.name', 'STANDIN_API_KEY_HEADER_NAME'],
    ['egress.allow', 'STANDIN_EGRESS_ALLOW'],
  ]);
});

test('values come from the environment, defaults from the schema', () => {
  const env = {
    STANDIN_API_KEY_HEADER_NAME: 'any-case',
    STANDIN_EGRESS_ALLOW: '10.0.0.0/8, ::1',
    STANDIN_PORT: '',
    HOME: '/',
  };
  expect(parseSettings(schema, env)).toEqual({
    port: 8080,
    apiKeyHeader: { name: 'any-case' },
    egress: { allow: ['10.0.0.0/8', '::1'] },
  });
});

test('an invalid value and an unknown variable are both reported', () => {
  const parse = () => parseSettings(schema, { STANDIN_PORT: 'x', STANDIN_APIKEY: 'y', STANDIN_TEST_KUBECONFIG: 'z' });
  expect(parse).toThrow(/STANDIN_APIKEY: unknown setting.*\nSTANDIN_PORT: .*number/s);
});

test('an invalid item of a list is reported with the variable of the list', () => {
  const urls = z.object({ operator: z.object({ urls: listSetting(z.url()), ports: listSetting(z.coerce.number()) }) });
  const parse = (given: Readonly<Record<string, string>>) => () => parseSettings(urls, given);
  expect(parse({ STANDIN_OPERATOR_URLS: 'https://a,b, c', STANDIN_OPERATOR_PORTS: '1,x' })).toThrow(
    /^STANDIN_OPERATOR_URLS: item 2: .+\nSTANDIN_OPERATOR_URLS: item 3: .+\nSTANDIN_OPERATOR_PORTS: item 2: .+$/,
  );
  expect(parse({ STANDIN_OPERATOR_URLS: 'https://a' })).toThrow(/^STANDIN_OPERATOR_PORTS: Invalid input/);
});

test('a problem of a whole group names no variable that does not exist', () => {
  const group = z.object({ quota: z.object({ free: z.coerce.number(), pro: z.coerce.number() }) });
  const refined = group.refine(() => false, 'free must be less than pro');
  const inner = z.object({ quota: group.shape.quota.refine(() => false, 'free must be less than pro') });
  for (const schema of [refined, inner])
    expect(() => parseSettings(schema, { STANDIN_QUOTA_FREE: '1', STANDIN_QUOTA_PRO: '0' })).toThrow(
      /^free must be less than pro$/,
    );
});

test('namespaces are either listed or selected by label', () => {
  const watch = z.object({ watch: watchSetting });
  const selector = { STANDIN_WATCH_NAMESPACE_SELECTOR: 'standin.dev/serve=true,team in (a,b)' };
  expect(parseSettings(watch, {})).toEqual({ watch: { namespaces: [] } });
  expect(parseSettings(watch, selector).watch.namespaceSelector).toBe('standin.dev/serve=true,team in (a,b)');
  expect(() => parseSettings(watch, { ...selector, STANDIN_WATCH_NAMESPACES: 'a' })).toThrow(
    'STANDIN_WATCH_NAMESPACE_SELECTOR: cannot be used with STANDIN_WATCH_NAMESPACES; remove one of the two',
  );
});
