import { ownMember } from '@standin/contract';
import { useState } from 'react';
import { Input, Select } from '../ui/input.tsx';
import {
  CONDITION_LISTS,
  CONDITION_ROWS_MAX,
  EMPTY_CONDITION,
  hasValue,
  typesFor,
  type ConditionList,
  type ConditionValues,
} from './condition-values.ts';
import { FormRows, type ErrorLookup, type RowControl } from './form-rows.tsx';

const LISTS: Readonly<Record<ConditionList, string>> = {
  pathParams: 'Path parameter',
  headers: 'Header',
  queryParams: 'Query parameter',
};
const TYPES: Readonly<Record<string, string>> = {
  Exact: 'equals',
  RegularExpression: 'matches',
  Present: 'is present',
  Absent: 'is absent',
};

export interface ConditionRowsProps {
  /** The path of the list, such as `spec.responses[0].conditions`. */
  readonly list: string;
  readonly conditions: readonly ConditionValues[];
  /** The id of the `datalist` with the names of the path parameters. */
  readonly parametersId: string;
  readonly fieldErrors: ErrorLookup;
}

/** The conditions that a request must meet. */
export const ConditionRows = ({ list, conditions, parametersId, fieldErrors }: ConditionRowsProps) => (
  <FormRows
    list={list}
    legend="Conditions"
    noun="condition"
    initial={conditions}
    empty={EMPTY_CONDITION}
    max={CONDITION_ROWS_MAX}
    fieldErrors={fieldErrors}
    columns="grid-cols-[minmax(0,1fr)_minmax(0,1fr)_auto] sm:grid-cols-[8rem_minmax(0,1fr)_6rem_minmax(0,1fr)_auto]"
  >
    {(row, control) => <ConditionRow row={row} control={control} parametersId={parametersId} />}
  </FormRows>
);

interface ConditionRowProps {
  readonly row: ConditionValues;
  readonly control: (field: keyof ConditionValues) => RowControl;
  readonly parametersId: string;
}

const ConditionRow = ({ row, control, parametersId }: ConditionRowProps) => {
  const [where, setWhere] = useState(row.where);
  const [type, setType] = useState(row.type);
  const isParameter = where === 'pathParams';
  // `Exact` is the default. The form keeps whether the manifest mentions it.
  const exact = row.type === 'Exact' ? 'Exact' : '';
  const types = typesFor(where).map((known) => (known === 'Exact' ? exact : known));
  const shown = [...new Set([...types, ...(isParameter && !hasValue(row.type) ? [] : [row.type])])];
  const chosen = shown.includes(type) ? type : exact;
  return (
    <>
      <Select
        {...control('where')}
        onChange={(event) => setWhere(CONDITION_LISTS.find((one) => one === event.target.value) ?? 'headers')}
      >
        {CONDITION_LISTS.map((one) => (
          <option key={one} value={one}>
            {LISTS[one]}
          </option>
        ))}
      </Select>
      <Input
        mono
        {...control('name')}
        className="col-span-2 sm:col-span-1"
        {...(isParameter && { list: parametersId })}
        placeholder={isParameter ? 'id' : where === 'headers' ? 'x-plan' : 'page'}
      />
      <Select
        {...control('type')}
        defaultValue={undefined}
        value={chosen}
        onChange={(event) => setType(event.target.value)}
      >
        {shown.map((one) => (
          <option key={one} value={one}>
            {one === '' ? TYPES['Exact'] : (ownMember(TYPES, one) ?? one)}
          </option>
        ))}
      </Select>
      <Input mono {...control('value')} {...(!hasValue(chosen) && { className: 'invisible' })} />
    </>
  );
};
