import { Input } from '../ui/input.tsx';
import type { RowValues } from './form-reader.ts';
import { FormRows, type ErrorLookup } from './form-rows.tsx';
import { EMPTY_HEADER } from './response-values.ts';

export interface HeaderRowsProps {
  /** The path of the list, such as `spec.json.headers`. */
  readonly list: string;
  readonly headers: readonly RowValues[];
  readonly max: number;
  readonly fieldErrors: ErrorLookup;
}

/** The headers of a mock or of a response. */
export const HeaderRows = ({ list, headers, max, fieldErrors }: HeaderRowsProps) => (
  <FormRows
    list={list}
    legend="Headers"
    noun="header"
    initial={headers}
    empty={EMPTY_HEADER}
    max={max}
    fieldErrors={fieldErrors}
    columns="grid-cols-[minmax(0,2fr)_minmax(0,3fr)_auto]"
  >
    {(_, control) => (
      <>
        <Input mono {...control('name')} placeholder="content-type" />
        <Input mono {...control('value')} placeholder="application/json" />
      </>
    )}
  </FormRows>
);
