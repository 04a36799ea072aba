import { useState } from 'react';
import { LIMITS } from '@standin/contract';
import { CodeEditor } from '../ui/code-editor.tsx';
import { Field } from '../ui/field.tsx';
import { Input } from '../ui/input.tsx';
import { TemplateField } from './template-field.tsx';
import { DelayFields } from './delay-fields.tsx';
import type { EndpointValues } from './endpoint-values.ts';
import type { ErrorLookup } from './form-rows.tsx';
import { isJsonContent } from './response-values.ts';
import { HeaderRows } from './header-rows.tsx';

export interface FieldsProps {
  readonly values: EndpointValues;
  readonly fieldErrors: ErrorLookup;
}

export const MockFields = ({ values, fieldErrors }: FieldsProps) => {
  const [isTemplate, setIsTemplate] = useState(values['spec.json.template'] !== '');
  const [body, setBody] = useState(values['spec.json.body']);
  return (
    <div data-shows="JSON" data-response="default" className="flex flex-col gap-4">
      <Field label="Status" optional errors={fieldErrors('spec.json.status')} className="max-w-32">
        <Input
          name="spec.json.status"
          inputMode="numeric"
          defaultValue={values['spec.json.status']}
          placeholder="200"
        />
      </Field>
      <HeaderRows
        list="spec.json.headers"
        headers={values.headers}
        max={LIMITS.mockHeadersMax}
        fieldErrors={fieldErrors}
      />
      <Field
        label="Body"
        hint="A JSON document, or any text if a header sets another content-type. Whitespace, key order and number formats are preserved. Leave it empty for a response without a body."
        errors={[...fieldErrors('spec.json.body'), ...fieldErrors('spec.json')]}
      >
        <CodeEditor
          name="spec.json.body"
          label="Body"
          language={!isTemplate && isJsonContent(values.headers) ? 'json' : 'text'}
          defaultValue={values['spec.json.body']}
          onChange={setBody}
        />
      </Field>
      <TemplateField
        name="spec.json.template"
        value={values['spec.json.template']}
        body={body}
        errors={fieldErrors('spec.json.template')}
        onChange={setIsTemplate}
      />
      <DelayFields path="spec.json.delay" values={values.delay} fieldErrors={fieldErrors} />
    </div>
  );
};
