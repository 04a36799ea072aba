import { Plus, Trash2 } from 'lucide-react';
import { useState } from 'react';
import { Button } from '../ui/button.tsx';
import { CodeEditor } from '../ui/code-editor.tsx';
import { Field, FieldErrors } from '../ui/field.tsx';
import { IconButton } from '../ui/icon-button.tsx';
import { Input } from '../ui/input.tsx';
import { HEADER_ROWS_MAX, type EndpointValues, type HeaderValues } from './endpoint-values.ts';

export interface FieldsProps {
  readonly values: EndpointValues;
  readonly errorsOf: (name: string) => readonly string[];
}

/** Fires an input event, so that the form updates its preview. The removal of a row does not fire one. */
const announceChange = (target: HTMLElement): void => {
  const form = target.closest('form');
  // Wait until React has removed the row.
  requestAnimationFrame(() =>
    form?.querySelector('[name="spec.slug"]')?.dispatchEvent(new Event('input', { bubbles: true })),
  );
};

interface Row extends HeaderValues {
  readonly key: number;
}

const HeaderRows = ({ values, errorsOf }: FieldsProps) => {
  const [rows, setRows] = useState<readonly Row[]>(() => [
    ...values.headers.map((header, key) => ({ ...header, key })),
    // The list ends with an empty row, so that users without scripts can enter a header.
    { name: '', value: '', key: values.headers.length },
  ]);
  const add = (): void =>
    setRows((before) => [...before, { name: '', value: '', key: Math.max(-1, ...before.map(({ key }) => key)) + 1 }]);
  return (
    <fieldset className="flex flex-col gap-1">
      <legend className="mb-1 font-medium">
        Headers <span className="font-normal text-muted">(optional)</span>
      </legend>
      <ul className="flex flex-col gap-1.5">
        {rows.map(({ key, name, value }, index) => (
          <li key={key} className="flex flex-col gap-1">
            <div className="grid grid-cols-[minmax(0,2fr)_minmax(0,3fr)_auto] gap-1.5">
              <Input
                mono
                name={`spec.json.headers[${index}].name`}
                aria-label={`Header ${index + 1} name`}
                aria-invalid={errorsOf(`spec.json.headers[${index}].name`).length > 0 || undefined}
                defaultValue={name}
                placeholder="content-type"
              />
              <Input
                mono
                name={`spec.json.headers[${index}].value`}
                aria-label={`Header ${index + 1} value`}
                aria-invalid={errorsOf(`spec.json.headers[${index}].value`).length > 0 || undefined}
                defaultValue={value}
                placeholder="application/json"
              />
              <IconButton
                label={`Remove header ${index + 1}`}
                onClick={(event) => {
                  announceChange(event.currentTarget);
                  setRows((before) => before.filter((row) => row.key !== key));
                }}
              >
                <Trash2 aria-hidden />
              </IconButton>
            </div>
            <FieldErrors
              errors={[
                ...errorsOf(`spec.json.headers[${index}].name`),
                ...errorsOf(`spec.json.headers[${index}].value`),
              ]}
            />
          </li>
        ))}
      </ul>
      <FieldErrors errors={errorsOf('spec.json.headers')} />
      <div>
        <Button look="ghost" onClick={add} disabled={rows.length >= HEADER_ROWS_MAX}>
          <Plus aria-hidden /> Add header
        </Button>
      </div>
    </fieldset>
  );
};

export const MockFields = ({ values, errorsOf }: FieldsProps) => (
  <div data-shows="JSON" className="flex flex-col gap-4">
    <Field label="Status" optional errors={errorsOf('spec.json.status')} className="max-w-32">
      <Input name="spec.json.status" inputMode="numeric" defaultValue={values['spec.json.status']} placeholder="200" />
    </Field>
    <HeaderRows values={values} errorsOf={errorsOf} />
    <Field
      label="Body"
      hint="A JSON document, returned byte for byte: whitespace, key order and number formats are preserved. Leave it empty for status 204, 205 or 304."
      errors={[...errorsOf('spec.json.body'), ...errorsOf('spec.json')]}
    >
      <CodeEditor name="spec.json.body" label="Body" language="json" defaultValue={values['spec.json.body']} />
    </Field>
  </div>
);
