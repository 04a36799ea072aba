import { expect, test } from 'vitest';
import { z } from 'zod';
import { describeSettings, listSetting, parseSettings } from './settings.ts';

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
