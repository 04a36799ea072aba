import { Field } from '../ui/field.tsx';
import { Input } from '../ui/input.tsx';
import { RadioCards } from '../ui/radio-cards.tsx';

export interface TargetFieldsProps {
  /** The names of the form fields. */
  readonly names: { readonly kind: string; readonly url: string };
  readonly kind: string;
  readonly url: string;
  /** The endpoint's upstream, or a description of the endpoints' upstreams. Undefined if there is no upstream. */
  readonly upstream: string | undefined;
  readonly columns?: 2 | 3;
  readonly errors: { readonly kind: readonly string[]; readonly url: readonly string[] };
}

/** Fields for a replay's target. The URL field is shown only for a URL target (app.css), with and without JavaScript. */
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
          label: 'Original endpoint',
          hint: 'Sends a new request through the gateway. The new request is captured, marked as a replay, and counted against the quota.',
        },
        ...(upstream === undefined
          ? []
          : [{ value: 'Upstream', label: 'Original upstream', hint: `Bypasses the gateway. Sends to ${upstream}` }]),
        {
          value: 'URL',
          label: 'Another URL',
          hint: 'An http or https URL. On a cluster, private addresses work only if an administrator allows them.',
        },
      ]}
    />
    <div data-shows="target-url">
      <Field label="URL" hint="The request’s query string is appended." errors={errors.url}>
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
