import { Field, FieldErrors } from '../ui/field.tsx';
import { Input, Select } from '../ui/input.tsx';
import { RadioCards } from '../ui/radio-cards.tsx';
import type { FieldsProps } from './mock-fields.tsx';

const UPSTREAMS = [
  {
    value: 'url',
    label: 'URL',
    hint: 'An http or https URL. On a cluster, private addresses work only if an administrator allows them.',
  },
  { value: 'serviceRef', label: 'Service', hint: 'A Kubernetes Service in the project’s namespace.' },
];

export const ForwardFields = ({ values, fieldErrors }: FieldsProps) => (
  <div data-shows="Forward" className="flex flex-col gap-4">
    <RadioCards legend="Upstream type" name="upstream" choices={UPSTREAMS} defaultValue={values.upstream} />
    <div data-shows="url">
      <Field
        label="Upstream URL"
        hint="The gateway appends the caller’s query string and forwards the authorization header. It sets the Host header to the upstream’s host."
        errors={fieldErrors('spec.forward.url')}
      >
        <Input
          mono
          name="spec.forward.url"
          inputMode="url"
          defaultValue={values['spec.forward.url']}
          placeholder="https://api.example.com/v1/orders"
        />
      </Field>
    </div>
    <div data-shows="serviceRef" className="grid gap-4 sm:grid-cols-[minmax(0,2fr)_6rem_6rem_minmax(0,2fr)]">
      <Field label="Service" errors={fieldErrors('spec.forward.serviceRef.name')}>
        <Input mono name="spec.forward.serviceRef.name" defaultValue={values['spec.forward.serviceRef.name']} />
      </Field>
      <Field label="Port" errors={fieldErrors('spec.forward.serviceRef.port')}>
        <Input
          name="spec.forward.serviceRef.port"
          inputMode="numeric"
          defaultValue={values['spec.forward.serviceRef.port']}
          placeholder="80"
        />
      </Field>
      <Field label="Scheme" errors={fieldErrors('spec.forward.serviceRef.scheme')}>
        <Select name="spec.forward.serviceRef.scheme" defaultValue={values['spec.forward.serviceRef.scheme']}>
          <option value="">http</option>
          <option value="https">https</option>
          {values['spec.forward.serviceRef.scheme'] === 'http' && <option value="http">http (explicit)</option>}
        </Select>
      </Field>
      <Field label="Path" optional errors={fieldErrors('spec.forward.serviceRef.path')}>
        <Input
          mono
          name="spec.forward.serviceRef.path"
          defaultValue={values['spec.forward.serviceRef.path']}
          placeholder="/"
        />
      </Field>
    </div>
    <Field
      label="Timeout"
      optional
      hint="How long to wait for the response to start, and for each further chunk. Examples: 500ms, 30s, 1m30s."
      errors={fieldErrors('spec.forward.timeout')}
      className="max-w-64"
    >
      <Input mono name="spec.forward.timeout" defaultValue={values['spec.forward.timeout']} placeholder="30s" />
    </Field>
    <FieldErrors errors={fieldErrors('spec.forward')} />
  </div>
);
