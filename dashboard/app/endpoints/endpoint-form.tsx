import { ownMember } from '@standin/contract';
import { useCallback, useEffect, useRef, useState, type ReactNode } from 'react';
import type { DisallowingAccount } from '../../src/accounts/accounts.ts';
import type { FormErrors } from '../ui/form-errors.ts';
import { Form } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { CodeView } from '../ui/code-editor.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { EditedForm } from '../ui/edited-form.tsx';
import { ErrorSummary, NotSaved } from '../ui/error-summary.tsx';
import type { Unsaved } from '../ui/kept-form.ts';
import { RadioCards } from '../ui/radio-cards.tsx';
import { ResponsePreviewPanel } from './response-preview-panel.tsx';
import { CredentialFields } from './credential-fields.tsx';
import type { EndpointValues } from './endpoint-values.ts';
import { ForwardFields } from './forward-fields.tsx';
import { MockFields } from './mock-fields.tsx';
import { PREVIEW_FIELDS } from './preview-fields.ts';
import { ResponseList } from './response-list.tsx';
import { RouteFields } from './route-fields.tsx';
import { useEndpointPreview } from './use-endpoint-preview.ts';

export interface EndpointFormProps {
  readonly values: EndpointValues;
  /** The errors from the last submission. */
  readonly errors: FormErrors | undefined;
  /** The reason why the last submission failed, if the form was not processed. */
  readonly unsaved: Unsaved | undefined;
  /** True if `values` contains changes that are not saved. */
  readonly isChanged: boolean;
  /** The manifest for `values`. */
  readonly yaml: string;
  readonly previewUrl: string;
  /** The URL of the project, which all URLs of its endpoints start with. Undefined if the operator has not accepted the project. */
  readonly projectUrl: string | undefined;
  /** The account, if it is known not to allow signatures. */
  readonly disallowing: DisallowingAccount | undefined;
  readonly existing?:
    | {
        readonly endpoint: string;
        readonly version: string;
        /** The URL of its latest requests. */
        readonly requestsUrl: string;
      }
    | undefined;
  /** The endpoint that a new endpoint copies. */
  readonly copyOf?: string | undefined;
  readonly isSaving: boolean;
  /** Content next to the submit button. */
  readonly children: ReactNode;
}

const ACTIONS = [
  { value: 'JSON', label: 'Mock', hint: 'Returns the response that is defined here.' },
  { value: 'Forward', label: 'Forward', hint: 'Forwards requests to an upstream server and returns its responses.' },
];

/**
 * Returns the errors to show for a field. If the user has edited the field or its list since the last submission, these are the
 * errors from the preview. Otherwise, these are the errors from the last submission.
 */
const useFieldErrors = (sent: FormErrors | undefined, draft: FormErrors, touched: ReadonlySet<string>) => {
  const lists = [...touched].map((name) => `${name}[`);
  const fieldErrors = (name: string): readonly string[] => {
    const isTouched = touched.has(name) || lists.some((list) => name.startsWith(list));
    return ownMember((isTouched ? draft : sent)?.fields ?? {}, name) ?? [];
  };
  const hasErrorsIn = (path: string): boolean =>
    Object.keys({ ...sent?.fields, ...draft.fields }).some(
      (name) => name.startsWith(path) && fieldErrors(name).length > 0,
    );
  return { fieldErrors, hasErrorsIn };
};

const isTemplateSwitch = (target: EventTarget): target is HTMLInputElement =>
  target instanceof HTMLInputElement && target.name.endsWith('.template');

/** The fields that identify the endpoint, or the one that a new endpoint copies. Users cannot change them. */
const Identity = ({ existing, copyOf }: Pick<EndpointFormProps, 'existing' | 'copyOf'>) => (
  <>
    {copyOf !== undefined && <input type="hidden" name="copyOf" value={copyOf} />}
    {existing !== undefined && (
      <>
        <input type="hidden" name="version" value={existing.version} />
        <input type="hidden" name="endpoint" value={existing.endpoint} />
        <input type="hidden" name="metadata.name" value={existing.endpoint} />
      </>
    )}
  </>
);

/** Shows the form and the manifest that the server generates from it, side by side on a wide screen. */
export const EndpointForm = (props: EndpointFormProps) => {
  const { values, errors, unsaved, isChanged, yaml, previewUrl, projectUrl, existing, copyOf, isSaving } = props;
  const form = useRef<HTMLFormElement>(null);
  const { preview, touched, onInput, onFocus, refresh } = useEndpointPreview(previewUrl, yaml, errors);
  const { fieldErrors, hasErrorsIn } = useFieldErrors(errors, preview.errors, touched);
  const [slug, setSlug] = useState(values['spec.slug']);
  const [isPreviewOpen, setPreviewOpen] = useState(values['spec.json.template'] !== '' || values.responses.length > 0);
  const openPreview = (): void => setPreviewOpen(true);
  const [isEdited, setEdited] = useState(isChanged);
  const refreshForm = useCallback(() => form.current && refresh(form.current), [refresh]);
  useEffect(() => {
    if (isChanged) refreshForm();
  }, [isChanged, refreshForm]);
  return (
    <Form
      ref={form}
      method="post"
      noValidate
      onInput={({ currentTarget, target }) => {
        const { name, value } = target as HTMLInputElement;
        if (name === 'spec.slug') setSlug(value);
        if (isTemplateSwitch(target) && target.checked) openPreview();
        if (!Object.values<string>(PREVIEW_FIELDS).includes(name)) setEdited(true);
        onInput(currentTarget, name);
      }}
      onFocus={({ currentTarget }) => onFocus(currentTarget)}
      className="grid grid-cols-1 gap-6 lg:grid-cols-[minmax(0,1fr)_minmax(0,26rem)] xl:grid-cols-[minmax(0,1fr)_minmax(0,34rem)]"
    >
      {/* Enter in a field clicks the first submit button of a form, which would otherwise be one that changes a list. */}
      <button type="submit" tabIndex={-1} aria-hidden className="sr-only" />
      <div className="flex min-w-0 flex-col gap-4">
        <EditedForm isEdited={isEdited} />
        <NotSaved unsaved={unsaved} />
        <ErrorSummary errors={errors} />
        <Identity existing={existing} copyOf={copyOf} />
        <RouteFields
          values={values}
          fieldErrors={fieldErrors}
          isNew={existing === undefined}
          slug={slug}
          projectUrl={projectUrl}
        />
        <CredentialFields values={values} fieldErrors={fieldErrors} disallowing={props.disallowing} />
        <ResponseList
          values={values}
          fieldErrors={fieldErrors}
          hasErrorsIn={hasErrorsIn}
          slug={slug}
          onAdd={openPreview}
        />
        <RadioCards
          legend="Default response"
          name="spec.action"
          choices={ACTIONS}
          defaultValue={values['spec.action']}
          errors={fieldErrors('spec.action')}
        />
        <MockFields values={values} fieldErrors={fieldErrors} />
        <ForwardFields values={values} fieldErrors={fieldErrors} />
        <div className="flex flex-wrap items-center gap-2 border-t border-line pt-4">
          <Button type="submit" look="primary" disabled={isSaving}>
            {existing === undefined ? 'Create endpoint' : 'Save'}
          </Button>
          {props.children}
        </div>
      </div>
      <div className="flex min-w-0 flex-col gap-4 lg:sticky lg:top-14 lg:max-h-[calc(100vh-4.5rem)] lg:self-start lg:overflow-y-auto">
        <ResponsePreviewPanel
          answer={preview.answer}
          requestsUrl={existing?.requestsUrl}
          slug={slug}
          isOpen={isPreviewOpen}
          onToggle={setPreviewOpen}
          refresh={refreshForm}
        />
        <section aria-label="Manifest" className="min-w-0">
          <div className="mb-1 flex items-center justify-between">
            <h2 className="font-medium">Manifest</h2>
            <CopyButton text={preview.yaml} label="Copy manifest" />
          </div>
          <CodeView label="Manifest" language="yaml" text={preview.yaml} />
        </section>
      </div>
    </Form>
  );
};
