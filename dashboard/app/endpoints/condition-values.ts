import { LIMITS, ownMember, PATH_CONDITIONS, VALUE_CONDITIONS } from '@standin/contract';
import { savedItems, savedPart, toItems, type RowValues, type Saved } from './form-reader.ts';

/** The lists of conditions in `when`. Each is a list of conditions on one part of a request. */
export const CONDITION_LISTS = ['pathParams', 'headers', 'queryParams'] as const;
export type ConditionList = (typeof CONDITION_LISTS)[number];

/** A row of the form. The form has one list of conditions, in which `where` is the list in the object. */
export interface ConditionValues extends RowValues {
  readonly where: ConditionList;
  /** Empty if the object has no type, which means `Exact`. */
  readonly type: string;
}

export const EMPTY_CONDITION: ConditionValues = { where: 'headers', name: '', type: '', value: '' };
export const CONDITION_ROWS_MAX = LIMITS.patternParametersMax + 2 * LIMITS.conditionsMax;

const WITHOUT_VALUE: readonly string[] = ['Present', 'Absent'];
export const hasValue = (type: string): boolean => !WITHOUT_VALUE.includes(type);

export const typesFor = (where: ConditionList): readonly string[] =>
  where === 'pathParams' ? PATH_CONDITIONS : VALUE_CONDITIONS;

/** Returns the conditions of a response. Ignores what is not a condition. `when` is the field as written. */
export const toConditionRows = (when: unknown): ConditionValues[] =>
  CONDITION_LISTS.flatMap((where) => savedItems(savedPart(when)[where]).map((item) => toConditionRow(where, item)));

const toConditionRow = (where: ConditionList, { name, type, value }: Saved): ConditionValues => ({
  where,
  name: scalarText(name),
  type: scalarText(type),
  value: scalarText(value),
});

/** Returns text and numbers as text, and an empty string for other values. */
export const scalarText = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** Converts the rows to the lists of `when`. Omits empty lists. `saved` is `when` as written. */
export const toWhen = (rows: readonly ConditionValues[], saved: unknown): Record<string, unknown> =>
  Object.fromEntries(
    CONDITION_LISTS.map((list) => {
      const conditions = rows.filter(({ where }) => where === list);
      const read = (item: Saved): ConditionValues => toConditionRow(list, item);
      return [
        list,
        toItems(conditions, savedPart(saved)[list], { read, fields: CONDITION_FIELDS, write: toCondition }),
      ] as const;
    }).filter(([, conditions]) => conditions.length > 0),
  );

const CONDITION_FIELDS = ['name', 'type', 'value'];

const toCondition = ({ name, type, value }: ConditionValues): Record<string, string> => ({
  name,
  ...(type !== '' && { type }),
  ...(hasValue(type) && { value }),
});

/** Returns the index of the row that contains a condition, or -1. `index` is the condition's index in its list. */
export const rowIndex = (rows: readonly ConditionValues[], list: string, index: number): number =>
  rows.flatMap(({ where }, row) => (where === list ? [row] : []))[index] ?? -1;

const SIGNS: Readonly<Record<string, string>> = {
  '': '=',
  Exact: '=',
  RegularExpression: 'matches',
  Present: 'is present',
  Absent: 'is absent',
};
const SUBJECTS: Readonly<Record<ConditionList, (name: string) => string>> = {
  pathParams: (name) => `{${name}}`,
  headers: (name) => `header ${name}`,
  queryParams: (name) => `query ${name}`,
};

/** Returns a condition as text, such as `header x-plan = gold`. */
export const conditionText = ({ where, name, type, value }: ConditionValues): string =>
  `${SUBJECTS[where](name)} ${ownMember(SIGNS, type) ?? type}${hasValue(type) ? ` ${value === '' ? '""' : value}` : ''}`;
