import { describeSettings, nestedValues, type SettingDescription, type SettingsSchema } from '@standin/contract';
import { clusterDashboardSettings } from '@standin/dashboard';
import { gatewaySettings } from '@standin/gateway';
import { operatorSettings } from '@standin/operator';
import { z } from 'zod';

/** A process in the chart, and its settings that are not part of `<component>.settings`. */
interface ChartComponent {
  readonly schema: SettingsSchema;
  /**
   * Settings that the templates set, from other values or because of how pods are built. Each is a path, or a path prefix that
   * ends with a dot.
   */
  readonly byTemplate: readonly string[];
}

export const CHART_COMPONENTS = {
  operator: {
    schema: operatorSettings,
    byTemplate: [
      ...['name', 'namespace', 'watch.', 'kubeconfig', 'stream.host', 'stream.port', 'stream.url'],
      ...[
        'stream.certificateSecret',
        'stream.certificateDir',
        'admin.',
        'gatewayUrl',
        'clusterDomain',
        'egress.',
        'clickhouse.',
      ],
      ...['replay.gatewayUrl', 'drain.'],
    ],
  },
  gateway: {
    schema: gatewaySettings,
    byTemplate: [
      ...['host', 'port', 'admin.', 'name', 'dataDir', 'spool.dir', 'operator.', 'egress.'],
      ...['url', 'username', 'password', 'loginDir', 'database', 'cluster', 'migrate'].map(
        (name) => `clickhouse.${name}`,
      ),
    ],
  },
  dashboard: {
    schema: clusterDashboardSettings,
    byTemplate: [
      ...['host', 'port', 'admin.', 'url', 'service', 'gatewayUrl', 'kubeconfig', 'watch.', 'session.key'],
      ...['send.gatewayUrl', 'session.previousKey', 'oidc.clientSecret', 'clickhouse.', 'operator.'],
    ],
  },
} as const satisfies Record<string, ChartComponent>;

export type ChartComponentName = keyof typeof CHART_COMPONENTS;

const isByTemplate = (path: string, byTemplate: readonly string[]): boolean =>
  byTemplate.some((entry) => (entry.endsWith('.') ? path.startsWith(entry) : path === entry));

/** Returns the settings of a process that are chart values. */
export const chartSettings = (component: ChartComponentName): readonly SettingDescription[] => {
  const { schema, byTemplate } = CHART_COMPONENTS[component];
  return describeSettings(schema).filter(({ path }) => !isByTemplate(path, byTemplate));
};

/**
 * Returns the schema of a setting as a chart value. The schema matches what the process parses, except for lists and switches,
 * which YAML can express directly.
 */
const settingSchema = ({ path, schema }: SettingDescription): z.ZodType => {
  const { success, data } = schema.safeParse(undefined);
  const jsonSchema = collapse(z.toJSONSchema(schema, { io: 'output', target: 'draft-07', unrepresentable: 'any' }));
  if (jsonSchema['type'] === undefined) throw new Error(`setting ${path} has no single type`);
  const byDefault = success && data !== undefined && data !== '' ? ` Default: ${JSON.stringify(data)}.` : '';
  const description = `${schema.description ?? ''}${byDefault}`.replaceAll('\n', ' ');
  return z
    .any()
    .meta({ ...jsonSchema, description })
    .optional();
};

type JsonSchema = Readonly<Record<string, unknown>>;

/**
 * Removes the default and all alternatives but the first from a setting's schema. The process accepts a switch as a boolean or as
 * text, but the chart accepts it only as a boolean.
 */
const collapse = (schema: JsonSchema): JsonSchema => {
  const { anyOf } = schema;
  const whole = Array.isArray(anyOf) ? { ...schema, ...(anyOf[0] as JsonSchema) } : schema;
  return Object.fromEntries(Object.entries(whole).filter(([key]) => !['$schema', 'default', 'anyOf'].includes(key)));
};

interface Tree {
  [name: string]: z.ZodType | Tree;
}

const toObject = (tree: Tree): z.ZodType =>
  z.strictObject(
    Object.fromEntries(
      Object.entries(tree).map(([name, node]) => [name, node instanceof z.ZodType ? node : toObject(node).optional()]),
    ),
  );

/**
 * Returns the schema of `<component>.settings`: the process's own settings, nested by path. Unset settings keep the process's
 * default.
 */
export const settingsValues = (component: ChartComponentName): z.ZodType => {
  const values = chartSettings(component).map((setting) => [setting.path, settingSchema(setting)] as const);
  return toObject(nestedValues(values) as Tree);
};
