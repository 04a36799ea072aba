import { Field } from '../ui/field.tsx';
import { Input } from '../ui/input.tsx';
import { RadioCards } from '../ui/radio-cards.tsx';

export interface TargetFieldsProps {
  /** Names of the form's fields. */
  readonly names: { readonly kind: string; readonly url: string };
  readonly kind: string;
  readonly url: string;
  /** What the endpoint forwards to, or in words what the endpoints do. Undefined: there is no upstream. */
  readonly upstream: string | undefined;
  readonly columns?: 2 | 3;
  readonly errors: { readonly kind: readonly string[]; readonly url: readonly string[] };
}

/** The target of a replay. The URL field is shown only if it is needed (app.css), with and without scripts. */
export const TargetFields = ({ names, kind, url, upstream, errors, columns = 2 }: TargetFieldsProps) => (
  <div className="flex flex-col gap-3" data-target>
    <RadioCards
      legend="Target"
      name={names.kind}
      columns={columns}
      defaultValue={kind}
      errors={errors.kind}
      choices={[
        {
          value: 'Endpoint',
          label: 'Its endpoint',
          hint: 'Through the gateway, as a new request of the caller. It is captured, marked as a replay, and counted.',
        },
        ...(upstream === undefined
          ? []
          : [{ value: 'Upstream', label: 'Its upstream', hint: `Bypasses the gateway: ${upstream}` }]),
        { value: 'URL', label: 'A URL', hint: 'Another server that the address policy allows.' },
      ]}
    />
    <div data-shows="target-url">
      <Field label="URL" hint="The query of the request is appended." errors={errors.url}>
        <Input
          mono
          name={names.url}
          inputMode="url"
          defaultValue={url}
          placeholder="https://staging.example.com/hooks"
        />
      </Field>
    </div>
  </div>
);
