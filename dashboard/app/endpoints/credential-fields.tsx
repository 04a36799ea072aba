import { HMAC_ALGORITHMS, HMAC_ENCODINGS, SIGNATURE_SCHEMES } from '@standin/contract';
import { CopyButton } from '../ui/copy-button.tsx';
import { Field } from '../ui/field.tsx';
import type { DisallowingAccount } from '../../src/accounts/accounts.ts';
import { Input, Select } from '../ui/input.tsx';
import { Notice } from '../ui/notice.tsx';
import { RadioCards } from '../ui/radio-cards.tsx';
import { credentialName, GITLAB_HEADER, type CredentialField } from './credential-values.ts';
import type { FieldsProps } from './mock-fields.tsx';
import { SCHEMES } from './schemes.ts';

const CREDENTIALS = [
  { value: '', label: 'API key', hint: 'Requests need the account’s key in the x-api-key header.' },
  {
    value: 'Signature',
    label: 'Signature or API key',
    hint: 'For providers that sign their requests and can’t set headers. The account must allow signatures.',
  },
];

/** Includes a type that this version does not know, so that saving the form keeps it. */
const choicesFor = (type: string) =>
  CREDENTIALS.some(({ value }) => value === type)
    ? CREDENTIALS
    : [...CREDENTIALS, { value: type, label: type, hint: 'Can be edited only in the manifest.' }];

const Choices = ({ options, empty }: { readonly options: readonly string[]; readonly empty: string }) => (
  <>
    <option value="">{empty}</option>
    {options.map((option) => (
      <option key={option}>{option}</option>
    ))}
  </>
);

/** Returns the properties of the input for a field, and the errors of the field. */
const bind = ({ values: { credential }, fieldErrors }: FieldsProps) => ({
  text: (field: CredentialField, placeholder: string) => ({
    mono: true,
    name: credentialName(field),
    defaultValue: credential[field],
    placeholder,
  }),
  errors: (field: CredentialField) => fieldErrors(credentialName(field)),
});

export interface CredentialFieldsProps extends FieldsProps {
  readonly disallowing: DisallowingAccount | undefined;
}

/** Fields for what authenticates requests. Only those for the selected scheme are shown, even without JavaScript. */
export const CredentialFields = (props: CredentialFieldsProps) => {
  const { values, fieldErrors, disallowing } = props;
  const { text, errors } = bind(props);
  return (
    <div id="credential" className="flex scroll-mt-16 flex-col gap-4">
      <RadioCards
        legend="Authentication"
        name={credentialName('type')}
        choices={choicesFor(values.credential.type)}
        defaultValue={values.credential.type}
        errors={[...errors('type'), ...fieldErrors('spec.credential'), ...fieldErrors('spec.credential.signature')]}
      />
      <div data-credential className="flex flex-col gap-4">
        {disallowing !== undefined && <Disallowed {...disallowing} />}
        <Field label="Scheme" errors={errors('signature.scheme')}>
          <Select name={credentialName('signature.scheme')} defaultValue={values.credential['signature.scheme']}>
            {SIGNATURE_SCHEMES.map((scheme) => (
              <option key={scheme} value={scheme}>
                {SCHEMES[scheme].label}
              </option>
            ))}
          </Select>
        </Field>
        {SIGNATURE_SCHEMES.map((scheme) => (
          <p key={scheme} data-scheme={scheme} className="text-small text-muted">
            Where to find the secret: {SCHEMES[scheme].secret}
          </p>
        ))}
        <SecretFields {...props} />
        <div data-scheme="timed" className="max-w-64">
          <Field
            label="Tolerance"
            optional
            hint="How far the time of the signature may differ from the gateway’s clock, for example 5m."
            errors={errors('signature.tolerance')}
          >
            <Input {...text('signature.tolerance', '5m')} />
          </Field>
        </div>
        <HmacFields {...props} />
        <div data-scheme="Token">
          <Field label="Header" errors={errors('signature.token.header')}>
            <Input {...text('signature.token.header', GITLAB_HEADER)} />
          </Field>
        </div>
      </div>
    </div>
  );
};

/** Says how to allow signatures. */
const Disallowed = ({ account, command }: DisallowingAccount) => (
  <Notice look="locked">
    Account <code>{account}</code> does not allow signatures. Until it does, the endpoint is not accepted, and its
    requests are refused.{' '}
    {command === undefined ? (
      <>
        In the manifest of the Account, add <code>signatures: Allowed</code> to <code>spec</code>.
      </>
    ) : (
      <span className="flex items-start gap-1">
        <code className="min-w-0 flex-1 break-all">{command}</code>
        <CopyButton text={command} label="Copy command" className="-my-1" />
      </span>
    )}
  </Notice>
);

const SecretFields = (props: FieldsProps) => {
  const { text, errors } = bind(props);
  return (
    <div className="grid gap-4 sm:grid-cols-2">
      <Field
        label="Secret"
        hint="The Kubernetes Secret that contains it. Must have the label standin.dev/signing-secret: “true”."
        errors={[
          ...errors('signature.secretRefs[0].name'),
          ...props.fieldErrors('spec.credential.signature.secretRefs'),
        ]}
      >
        <Input {...text('signature.secretRefs[0].name', 'webhook-secret')} />
      </Field>
      <Field label="Data key" errors={errors('signature.secretRefs[0].key')}>
        <Input {...text('signature.secretRefs[0].key', 'current')} />
      </Field>
      <Field
        label="Second secret"
        optional
        hint="Also accepted, while you replace the secret at the provider."
        errors={errors('signature.secretRefs[1].name')}
      >
        <Input {...text('signature.secretRefs[1].name', 'webhook-secret')} />
      </Field>
      <Field label="Data key of the second secret" optional errors={errors('signature.secretRefs[1].key')}>
        <Input {...text('signature.secretRefs[1].key', 'next')} />
      </Field>
    </div>
  );
};

const HmacFields = (props: FieldsProps) => {
  const { text, errors } = bind(props);
  const { credential } = props.values;
  return (
    <div data-scheme="HMAC" className="grid gap-4 sm:grid-cols-2">
      <Field label="Header" errors={errors('signature.hmac.header')}>
        <Input {...text('signature.hmac.header', 'x-signature')} />
      </Field>
      <Field label="Prefix" optional errors={errors('signature.hmac.prefix')}>
        <Input {...text('signature.hmac.prefix', 'sha256=')} />
      </Field>
      <Field label="Algorithm" optional errors={errors('signature.hmac.algorithm')}>
        <Select name={credentialName('signature.hmac.algorithm')} defaultValue={credential['signature.hmac.algorithm']}>
          <Choices options={HMAC_ALGORITHMS} empty="SHA256 (default)" />
        </Select>
      </Field>
      <Field label="Encoding" optional errors={errors('signature.hmac.encoding')}>
        <Select name={credentialName('signature.hmac.encoding')} defaultValue={credential['signature.hmac.encoding']}>
          <Choices options={HMAC_ENCODINGS} empty="Hex (default)" />
        </Select>
      </Field>
    </div>
  );
};
