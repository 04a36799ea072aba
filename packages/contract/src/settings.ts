import { ownMember } from './own-member.ts';
import { nestedValues } from './nested-values.ts';
import { z } from 'zod';

/**
 * The settings of a process: one zod object, up to two levels deep, in which each leaf has a `.describe()`. Values come from the
 * environment. For example, the variable for `apiKeyHeader.name` is `STANDIN_API_KEY_HEADER_NAME`. docs/reference/configuration.md is
 * generated from the schemas.
 */
export type SettingsSchema = z.ZodObject;

export type ParsedSettings<S extends SettingsSchema> = Readonly<z.infer<S>>;

/** The schema for the settings of a process that writes a log, and whose settings therefore include `logLevel`. */
export type ProcessSettingsSchema = SettingsSchema & z.ZodType<{ readonly logLevel: string }>;

export interface SettingDescription {
  /** For example `apiKeyHeader.name`. */
  readonly path: string;
  /** For example `STANDIN_API_KEY_HEADER_NAME`. */
  readonly env: string;
  readonly schema: z.ZodType;
}

/**
 * Thrown for settings that cannot be used. `message` has one line per problem, with the variable's name and the value that it
 * needs.
 */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

const envName = (path: readonly string[]): string =>
  `STANDIN_${path.map((part) => part.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()).join('_')}`;

/** Returns every leaf of the schema, in order. */
export const describeSettings = (schema: SettingsSchema, parents: readonly string[] = []): SettingDescription[] =>
  Object.entries(schema.shape as Record<string, z.ZodType>).flatMap(([name, field]) => {
    const path = [...parents, name];
    const inner = field instanceof z.ZodPrefault || field instanceof z.ZodDefault ? field.def.innerType : field;
    return inner instanceof z.ZodObject
      ? describeSettings(inner, path)
      : [{ path: path.join('.'), env: envName(path), schema: field }];
  });

/** Converts environment variables to the nested input that the schema expects. Empty variables count as unset. */
const inputFromEnv = (schema: SettingsSchema, env: Readonly<Record<string, string | undefined>>): unknown =>
  nestedValues(
    describeSettings(schema)
      .map((setting) => [setting.path, ownMember(env, setting.env)] as const)
      .filter(([, value]) => value !== undefined && value !== ''),
  );

/** Returns the message with the variable of the setting, and for a list with the number of the item. */
const formatIssue = (
  settings: readonly SettingDescription[],
  { path, message }: Pick<z.core.$ZodIssue, 'path' | 'message'>,
): string => {
  const setting = settings.find((known) => known.path === path.slice(0, known.path.split('.').length).join('.'));
  // A rule about several settings.
  if (setting === undefined) return message;
  const index = path[setting.path.split('.').length];
  return typeof index === 'number' ? `${setting.env}: item ${index + 1}: ${message}` : `${setting.env}: ${message}`;
};

/**
 * Parses and freezes a process's settings. A `STANDIN_` variable without a setting is an error, so that a typo does not silently
 * leave a default in place. Variables that begin with one of `otherPrefixes` belong to other programs and are ignored. Throws a
 * `SettingsError` that lists all problems.
 */
export const parseSettings = <S extends SettingsSchema>(
  schema: S,
  env: Readonly<Record<string, string | undefined>>,
  otherPrefixes: readonly string[] = ['STANDIN_TEST_'],
): ParsedSettings<S> => {
  const settings = describeSettings(schema);
  const known = new Set(settings.map((setting) => setting.env));
  const problems = Object.keys(env)
    .filter((name) => name.startsWith('STANDIN_') && !known.has(name))
    .filter((name) => !otherPrefixes.some((prefix) => name.startsWith(prefix)))
    .map((name) => `${name}: unknown setting; docs/reference/configuration.md lists all settings`);
  const result = schema.safeParse(inputFromEnv(schema, env));
  if (!result.success) {
    problems.push(...result.error.issues.map((issue) => formatIssue(settings, issue)));
  }
  if (!result.success || problems.length > 0) throw new SettingsError(problems.join('\n'));
  return Object.freeze(result.data);
};

export const portSetting = z.coerce.number().int().min(0).max(65_535);

export const booleanSetting = z.stringbool().or(z.boolean());

export const httpUrlSetting = z.url({ protocol: /^https?$/ });

/** Where a process serves its metrics and probes. */
export const adminSettings = z
  .object({
    host: z.string().default('0.0.0.0').describe('Address on which /metrics, /healthz and /readyz are served.'),
    port: portSetting
      .default(9090)
      .describe('Port on which /metrics, /healthz and /readyz are served. 0 selects a free port.'),
  })
  .prefault({});

/** Base URL at which callers reach the gateways, without a slash at its end. Operator and dashboard must have the same value. */
export const gatewayUrlSetting = httpUrlSetting
  .default('http://standin-gateway.standin-system.svc.cluster.local')
  .transform((url) => url.replace(/\/+$/, ''));

export const logLevelSetting = z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info');

/** Returns a schema that accepts a comma-separated list. Ignores empty items. */
export const listSetting = <T extends z.ZodType>(item: T) =>
  z.preprocess(
    (value) =>
      typeof value === 'string'
        ? value
            .split(',')
            .map((part) => part.trim())
            .filter((part) => part !== '')
        : value,
    z.array(item),
  );

/** The namespaces that an installation serves. The operator and the dashboard have the same setting. */
export const watchSetting = z
  .object({
    namespaces: listSetting(z.string().min(1))
      .default([])
      .describe(
        'Comma-separated list of namespaces to serve. If empty, all namespaces are served. Must be the same for the operator and the dashboard.',
      ),
    namespaceSelector: z
      .string()
      .min(1)
      .optional()
      .describe(
        'Label selector for the namespaces to serve, such as standin.dev/serve=true. Changes to labels take effect without a restart. Must be the same for the operator and the dashboard. Cannot be used with watch.namespaces.',
      ),
  })
  .refine(({ namespaces, namespaceSelector }) => namespaces.length === 0 || namespaceSelector === undefined, {
    path: ['namespaceSelector'],
    message: 'cannot be used with STANDIN_WATCH_NAMESPACES; remove one of the two',
  })
  .prefault({});
