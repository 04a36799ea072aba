import { capitalize } from '@standin/contract';
import { Plus, Trash2 } from 'lucide-react';
import { useState, type ReactNode } from 'react';
import { announceChange } from '../ui/announce-change.ts';
import { Button } from '../ui/button.tsx';
import { classNames } from '../ui/class-names.ts';
import { FieldErrors } from '../ui/field.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import type { RowValues } from './form-reader.ts';

export type ErrorLookup = (name: string) => readonly string[];

/** The attributes of a control in a row. */
export interface RowControl {
  readonly name: string;
  readonly 'aria-label': string;
  readonly 'aria-invalid': true | undefined;
  readonly defaultValue: string;
}

export interface FormRowsProps<Row> {
  /** The path of the list, such as `spec.json.headers`. */
  readonly list: string;
  readonly legend: string;
  /** What a row contains, such as `header`. */
  readonly noun: string;
  readonly initial: readonly Row[];
  readonly empty: Row;
  readonly max: number;
  readonly fieldErrors: ErrorLookup;
  /** The columns of a row. The last one is for the button that removes the row. */
  readonly columns: string;
  /** Returns the controls of a row. `control` returns the attributes of the control for one of the row's fields. */
  readonly children: (row: Row, control: (field: keyof Row & string) => RowControl) => ReactNode;
}

/**
 * A list of rows with text fields. The list ends with an empty row, so that users without JavaScript can add one. Empty rows are
 * ignored.
 */
export const FormRows = <Row extends RowValues>(props: FormRowsProps<Row>) => {
  const { list, legend, noun, initial, empty, max, fieldErrors, columns, children } = props;
  const [rows, setRows] = useState(() => [...initial, empty].map((row, key) => ({ row, key })));
  const add = (): void =>
    setRows((before) => [...before, { row: empty, key: Math.max(-1, ...before.map(({ key }) => key)) + 1 }]);
  const fields = Object.keys(empty);
  return (
    <fieldset name={list} className="flex min-w-0 flex-col gap-1">
      <legend className="mb-1 font-medium">
        {legend} <span className="font-normal text-muted">(optional)</span>
      </legend>
      <ul className="flex flex-col gap-1.5">
        {rows.map(({ row, key }, index) => (
          <li key={key} className="flex flex-col gap-1">
            <div className={classNames('grid gap-1.5', columns)}>
              {children(row, (field) => {
                const name = `${list}[${index}].${field}`;
                return {
                  name,
                  'aria-label': `${capitalize(noun)} ${index + 1} ${field}`,
                  'aria-invalid': fieldErrors(name).length > 0 || undefined,
                  defaultValue: String(row[field]),
                };
              })}
              <IconButton
                label={`Remove ${noun} ${index + 1}`}
                onClick={(event) => {
                  announceChange(event.currentTarget.closest('fieldset'));
                  setRows((before) => before.filter((other) => other.key !== key));
                }}
              >
                <Trash2 aria-hidden />
              </IconButton>
            </div>
            <FieldErrors errors={fields.flatMap((field) => fieldErrors(`${list}[${index}].${field}`))} />
          </li>
        ))}
      </ul>
      <FieldErrors errors={fieldErrors(list)} />
      <div>
        <Button look="ghost" onClick={add} disabled={rows.length >= max}>
          <Plus aria-hidden /> Add {noun}
        </Button>
      </div>
    </fieldset>
  );
};
