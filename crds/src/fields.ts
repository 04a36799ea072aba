import { LIMITS, SECRET_LABELS, type ConditionType, type SecretUse } from '@standin/contract';
import { z } from 'zod';
import { matches, withRules, type Rule } from './rules.ts';

/** Counts characters as code points, as Kubernetes does. zod counts UTF-16 units, so an emoji would count as two. */
const codePoints = (text: string): number => {
  let count = text.length;
  for (let index = 0; index < text.length; index += 1) {
    if ((text.codePointAt(index) ?? 0) > 0xff_ff) {
      count -= 1;
      index += 1;
    }
  }
  return count;
};

/** A string of limited length, in characters. */
export const text = ({ min = 0, max }: { min?: number; max: number }) =>
  z
    .string()
    .superRefine((value, context) => {
      const length = codePoints(value);
      // Like the API server, the schema does not check rules on a value of the wrong size.
      const refuse = (message: string): void => context.addIssue({ code: 'custom', message, continue: false });
      if (length > max) refuse(`Too long: may not be more than ${max} characters`);
      if (length < min) refuse(min === 1 ? 'must not be empty' : `should be at least ${min} characters long`);
    })
    .meta({ maxLength: max, ...(min > 0 && { minLength: min }) });

/** At most `Number.MAX_SAFE_INTEGER`. JSON parsers may read larger integers differently. */
export const integer = (min: number, max: number) =>
  z
    .int()
    .min(min)
    .max(max)
    .meta({ format: max > 2 ** 31 - 1 ? 'int64' : 'int32' });

export const SUBDOMAIN_PATTERN = '[a-z0-9]([a-z0-9-]*[a-z0-9])?(\\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*';
export const NAME_LENGTH_MAX = 253;

/** A list in which no value is repeated. */
export const uniqueItems = <S extends z.ZodArray<z.ZodType<string>>>(list: S): S =>
  list
    .superRefine((items, context) => {
      for (const [index, item] of items.entries())
        if (items.indexOf(item) < index)
          context.addIssue({ code: 'custom', message: `Duplicate value: "${item}"`, path: [index] });
    })
    .meta({ 'x-kubernetes-list-type': 'set' });

/** A list in which no name is repeated. */
export const uniqueNames = <S extends z.ZodArray<z.ZodType<{ name: string }>>>(list: S): S =>
  list
    .superRefine((items, context) => {
      for (const [index, { name }] of items.entries())
        if (items.findIndex((item) => item.name === name) < index)
          context.addIssue({ code: 'custom', message: `Duplicate value: {"name":"${name}"}`, path: [index] });
    })
    .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['name'] });

/** The name of another object in the same namespace. */
export const objectName = (noun: string) =>
  withRules(text({ min: 1, max: NAME_LENGTH_MAX }), [
    matches(
      SUBDOMAIN_PATTERN,
      `must be the name of ${noun}: lowercase letters, digits, - and ., beginning and ending with a letter or digit`,
    ),
  ]);

/** `{name}`: a reference to an object in the same namespace. */
export const reference = (noun: string, example: string) =>
  z.strictObject({
    name: objectName(noun).describe(`Name of ${noun} in the same namespace, for example ${example}.`),
  });

/**
 * `{name, key}`: a value of a Secret in the same namespace.
 *
 * @param value what the value is
 */
export const secretRef = (use: SecretUse, value: string, example: { readonly name: string; readonly key: string }) =>
  z.strictObject({
    name: objectName('a Secret').describe(
      `Name of a Secret in the same namespace, for example ${example.name}. The Secret must have the label ${SECRET_LABELS[use]}: "true".`,
    ),
    key: withRules(text({ min: 1, max: NAME_LENGTH_MAX }), [
      matches('[-._a-zA-Z0-9]+', 'must be a data key of the Secret: letters, digits, -, _ and .'),
    ]).describe(`The data key whose value is ${value}, for example ${example.key}.`),
  });

/** The values of Secrets that gateways use, as the status shows them. */
export const usedSecrets = (noun: string, max: number) =>
  z
    .array(
      z
        .strictObject({
          name: text({ max: NAME_LENGTH_MAX }).describe('Name of the Secret, for example github.'),
          key: text({ max: NAME_LENGTH_MAX }).describe('The data key, for example current.'),
          version: text({ max: 128 }).describe("The Secret's resourceVersion when it was read, for example 48211."),
        })
        .describe(noun),
    )
    .max(max)
    .optional()
    .meta({ 'x-kubernetes-list-type': 'atomic' });

const TIME_OF_DAY = '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,9})?';
/** A day that exists, because JavaScript reads February 31 as a day in March. */
const DATE =
  '(20[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|' +
  '20([02468][048]|[13579][26])-02-29)';
const INSTANT_PATTERN = `${DATE}T${TIME_OF_DAY}Z`;
const INSTANT = new RegExp(`^${INSTANT_PATTERN}$`);

/** An RFC 3339 time in UTC, as users and programs write it in a spec. */
export const instant = () =>
  withRules(text({ min: 1, max: 32 }), [
    matches(INSTANT_PATTERN, 'must be an absolute time in UTC, on a day that exists: 2026-11-21T09:00:00Z'),
  ]);

/** Returns text whose order is that of the times, to the nanosecond. A `Date` has only milliseconds. */
const inOrder = (time: string): string => {
  const [seconds = '', fraction = ''] = time.slice(0, -1).split('.');
  return seconds + fraction.padEnd(9, '0');
};

interface TimeRange {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

const isInstant = (field: keyof TimeRange): string =>
  `has(self.${field}) && self.${field}.matches('^${INSTANT_PATTERN}$')`;

/** Requires that a time range is not empty. Accepts values that are not times, because other rules reject them. */
export const rangeRule: Rule<TimeRange> = {
  cel: `!(${isInstant('from')} && ${isInstant('to')}) || timestamp(self.from) < timestamp(self.to)`,
  holds: ({ from = '', to = '' }) => [from, to].some((time) => !INSTANT.test(time)) || inOrder(from) < inOrder(to),
  message: 'must be after from',
  field: 'to',
};

export const logId = () =>
  withRules(text({ min: 1, max: 36 }), [
    matches('[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}', 'must be the id of a captured request: a UUID in lowercase'),
  ]);

export const timestamp = () => z.string().max(64).meta({ format: 'date-time' });

const conditionSchema = (types: readonly string[]) =>
  z
    .strictObject({
      type: text({ min: 1, max: 316 }).describe(`Type of the condition. Known types: ${types.join(', ')}.`),
      status: z.enum(['True', 'False', 'Unknown']).describe('Whether the condition applies.'),
      reason: text({ min: 1, max: 1_024 }).describe(
        'Why the condition has this status, as one word for programs, for example ProjectNotFound. docs/reference/conditions.md explains all reasons.',
      ),
      message: text({ max: 32_768 }).describe('What is wrong and what to change, as a sentence for users.'),
      observedGeneration: integer(0, Number.MAX_SAFE_INTEGER)
        .optional()
        .describe(
          'The metadata.generation that the condition describes. If it is lower than the current one, the condition is outdated.',
        ),
      lastTransitionTime: timestamp().describe('When status last changed, for example 2026-11-21T09:00:00Z.'),
    })
    .describe('One aspect of the current state of the object.');

/** The status fields of objects whose data outlives them. */
export const identityStatus = {
  id: text({ max: LIMITS.identityLengthMax })
    .optional()
    .describe(
      "The object's identity: the uid under which it was first seen. The log, the default URI and the quota belong to this identity.",
    ),
};

/** The meanings of conditions that are the same for every kind that gateways serve. */
export const SERVED_MEANINGS = {
  Programmed: 'all gateways have acknowledged this generation.',
  Ready: 'Accepted, ResolvedRefs and Programmed are True, so the object is live on all gateways.',
  Stalled: 'the fault remains until a user changes an object (present only while True).',
} as const;

/**
 * Returns the status fields of every kind.
 *
 * @param conditions the conditions of the kind, each with the meaning of True
 */
export const commonStatus = (conditions: Readonly<Partial<Record<ConditionType, string>>>) => {
  const meanings = Object.entries(conditions).map(([type, meaning]) => `${type}: ${meaning}`);
  return {
    observedGeneration: integer(0, Number.MAX_SAFE_INTEGER)
      .optional()
      .describe(
        'The metadata.generation that this status describes. If it is lower than the current one, the status is outdated.',
      ),
    conditions: z
      .array(conditionSchema(Object.keys(conditions)))
      .max(16)
      .optional()
      .meta({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] })
      .describe(['The current state of the object.', ...meanings].join(' ')),
  };
};

/**
 * Returns the initial status of an object. It lets `kubectl get` show that no operator has processed the object yet. The Gateway
 * API also has initial conditions. Without Ready or Reconciling, kstatus considers a new object Current.
 */
export const initialStatus = (types: readonly ConditionType[]) => ({
  conditions: types.map((type) => ({
    type,
    status: type === 'Reconciling' ? 'True' : 'Unknown',
    reason: 'Pending',
    message: 'Waiting for the operator.',
    lastTransitionTime: '1970-01-01T00:00:00Z',
  })),
});
