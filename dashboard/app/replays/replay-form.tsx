import { LIMITS, ownMember, REPLAY_TARGETS, REQUEST_METHODS, type ReplayTarget } from '@standin/contract';
import { useState, type ReactNode } from 'react';
import type { FormErrors } from '../ui/form-errors.ts';
import { useInitialFocus } from '../ui/initial-focus.ts';
import { Form } from '../remix.ts';
import { MethodName } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { CodeEditor } from '../ui/code-editor.tsx';
import { EditedForm } from '../ui/edited-form.tsx';
import { ErrorSummary, NotSaved } from '../ui/error-summary.tsx';
import { Field } from '../ui/field.tsx';
import { Input, Select, Textarea } from '../ui/input.tsx';
import type { Unsaved } from '../ui/kept-form.ts';
import { Notice } from '../ui/notice.tsx';
import { headerValue } from '../exchange/exchange-view.ts';
import { HeaderChanges } from './header-changes.tsx';
import {
  areHeadersEdited,
  headerText,
  parseHeaderText,
  type CapturedView,
  type ReplayValues,
} from './replay-values.ts';
import { NOT_TWICE, SubmissionField } from './submission.tsx';
import { TargetFields } from './target-fields.tsx';

export interface ReplayFormProps {
  readonly captured: CapturedView;
  readonly values: ReplayValues;
  /** The errors from the last submission. */
  readonly errors: FormErrors | undefined;
  /** The reason why the last submission failed. */
  readonly unsaved: Unsaved | undefined;
  /** A new value each time the form is opened. */
  readonly submission: string;
  /** The endpoint's upstream. Undefined if the endpoint does not forward. */
  readonly upstream: string | undefined;
  /** Whether the body gets the initial focus, instead of the button that sends. */
  readonly isBodyFocused: boolean;
  readonly isSending: boolean;
  readonly canSend: boolean;
  /** Content next to the submit button. */
  readonly children: ReactNode;
}

const kilobytes = (bytes: number): string => `${(bytes / 1_000).toLocaleString('en', { maximumFractionDigits: 1 })} kB`;
const BODY_ROWS = 10;

const Block = ({ label, children }: { readonly label: string; readonly children: string }) => (
  <div className="flex min-w-0 flex-col gap-1">
    <h3 className="font-medium">{label}</h3>
    <pre
      tabIndex={0}
      role="region"
      aria-label={`Captured ${label.toLowerCase()}`}
      className="max-h-60 overflow-auto rounded border border-line bg-panel p-2 break-all whitespace-pre-wrap"
    >
      <bdi>{children}</bdi>
    </pre>
  </div>
);

const TooLarge = ({ bytes, isBinary }: { readonly bytes: number; readonly isBinary: boolean }) => (
  <Notice look="info">
    The body ({kilobytes(bytes)}) is too large to edit and is sent as captured. The limit is{' '}
    {kilobytes(LIMITS.replayEditBytesMax)}
    {isBinary && ' after base64 encoding, which makes a body a third larger'}.
  </Notice>
);

const Original = ({ captured }: { readonly captured: CapturedView }) => (
  <section aria-labelledby="captured" className="flex min-w-0 flex-col gap-3 max-lg:order-last">
    <h2 id="captured" className="text-h2">
      Captured
    </h2>
    <p className="break-all">
      <MethodName method={captured.method} /> <code>{captured.target}</code>
    </p>
    <Block label="Headers">{headerText(captured.headers)}</Block>
    {captured.bodyBytes === 0 ? (
      <p className="text-muted">No body.</p>
    ) : captured.body === undefined ? (
      <p className="text-muted">Body of {kilobytes(captured.bodyBytes)}, not shown.</p>
    ) : (
      <Block label={captured.bodyEncoding === 'base64' ? 'Body (base64)' : 'Body'}>{captured.body}</Block>
    )}
  </section>
);

interface EditedProps extends Pick<ReplayFormProps, 'captured' | 'values' | 'isBodyFocused'> {
  readonly fieldErrors: (name: keyof ReplayValues) => readonly string[];
}

const Edited = ({ captured, values, isBodyFocused, fieldErrors }: EditedProps) => (
  <section aria-labelledby="edited" className="flex min-w-0 flex-col gap-3">
    <h2 id="edited" className="text-h2">
      Replay
    </h2>
    <div className="grid grid-cols-[6.5rem_minmax(0,1fr)] gap-3">
      <Field label="Method" errors={fieldErrors('spec.edit.method')}>
        <Select name="spec.edit.method" defaultValue={values['spec.edit.method']} className="font-mono text-small">
          {REQUEST_METHODS.map((method) => (
            <option key={method}>{method}</option>
          ))}
        </Select>
      </Field>
      <Field label="Path and query" errors={fieldErrors('spec.edit.target')}>
        <Input mono name="spec.edit.target" defaultValue={values['spec.edit.target']} />
      </Field>
    </div>
    <Field
      label="Headers"
      hint={
        <>
          One per line, as <code>name: value</code>.
        </>
      }
      errors={fieldErrors('spec.edit.headers')}
    >
      <Textarea name="spec.edit.headers" rows={8} defaultValue={values['spec.edit.headers']} />
    </Field>
    {captured.body === undefined ? (
      <TooLarge bytes={captured.bodyBytes} isBinary={captured.bodyEncoding === 'base64'} />
    ) : (
      <>
        <Field label="Body" errors={fieldErrors('spec.edit.body')}>
          <CodeEditor
            name="spec.edit.body"
            label="Body"
            language={isJsonBody(captured) ? 'json' : 'text'}
            rows={BODY_ROWS}
            defaultValue={values['spec.edit.body']}
            isFocused={isBodyFocused}
          />
        </Field>
        <Field label="Body encoding" errors={fieldErrors('spec.edit.bodyEncoding')} className="max-w-48">
          <Select name="spec.edit.bodyEncoding" defaultValue={values['spec.edit.bodyEncoding']}>
            <option value="utf8">Text (UTF-8)</option>
            <option value="base64">Base64</option>
          </Select>
        </Field>
      </>
    )}
  </section>
);

/** JSON often has a different media type. For example, curl -d declares a form. */
const isJsonBody = ({ headers, body = '' }: CapturedView): boolean =>
  /^\s*[[{]/.test(body) || /[/+]json\b/i.test(headerValue(headers, 'content-type') ?? '');

const toTarget = (kind: unknown): ReplayTarget => REPLAY_TARGETS.find((known) => known === kind) ?? 'Endpoint';

/** A form with the captured request, its edited copy, the target and the header changes. */
export const ReplayForm = (props: ReplayFormProps) => {
  const { captured, values, errors, unsaved, submission, upstream, isBodyFocused, isSending, canSend, children } =
    props;
  const [shown, setShown] = useState({ kind: values['spec.target.kind'], headers: values['spec.edit.headers'] });
  const [isEdited, setEdited] = useState(errors !== undefined);
  const send = useInitialFocus<HTMLButtonElement>();
  const fieldErrors = (name: string): readonly string[] => ownMember(errors?.fields ?? {}, name) ?? [];
  const onInput = (form: HTMLFormElement): void => {
    setEdited(true);
    const data = new FormData(form);
    const text = (name: string): string => {
      const value = data.get(name);
      return typeof value === 'string' ? value : '';
    };
    setShown({ kind: text('spec.target.kind'), headers: text('spec.edit.headers') });
  };
  const areEdited = areHeadersEdited(shown.headers, captured.headers);
  return (
    <Form method="post" noValidate onInput={(event) => onInput(event.currentTarget)} className="flex flex-col gap-5">
      <EditedForm isEdited={isEdited} />
      <SubmissionField opened={submission} />
      <NotSaved unsaved={unsaved} done="sent" ifUnknown={NOT_TWICE} />
      <ErrorSummary errors={errors} outcome="Not sent" />
      <TargetFields
        names={{ kind: 'spec.target.kind', url: 'spec.target.url' }}
        kind={values['spec.target.kind']}
        url={values['spec.target.url']}
        upstream={upstream}
        columns={upstream === undefined ? 2 : 3}
        errors={{
          kind: [...fieldErrors('spec.target.kind'), ...fieldErrors('spec.target')],
          url: fieldErrors('spec.target.url'),
        }}
      />
      <div className="grid grid-cols-1 gap-6 lg:grid-cols-2">
        <Original captured={captured} />
        <Edited captured={captured} values={values} isBodyFocused={isBodyFocused} fieldErrors={fieldErrors} />
      </div>
      <section aria-labelledby="header-changes" className="flex flex-col gap-2">
        <h2 id="header-changes" className="text-h2">
          Header changes
        </h2>
        <HeaderChanges
          requestId={captured.id}
          target={toTarget(shown.kind)}
          headers={areEdited ? parseHeaderText(shown.headers) : captured.headers}
          isEdited={areEdited}
        />
      </section>
      {/* Sticky, so that the button is always visible. The button has the initial focus: without edits, users only press Enter. */}
      <div
        data-sticky-actions
        className="sticky bottom-0 z-10 flex flex-wrap items-center gap-2 border-t border-line bg-page py-3"
      >
        <Button type="submit" look="primary" disabled={!canSend} ref={send}>
          {isSending ? 'Sending…' : 'Send'}
        </Button>
        {children}
      </div>
    </Form>
  );
};
