import { Send } from 'lucide-react';
import { useState } from 'react';
import { slugParameters } from '../../src/endpoints/fill-slug.ts';
import type { EndpointName } from '../../src/resources/names.ts';
import type { SendResult } from '../../src/requests/send-request.ts';
import { paths } from '../paths.ts';
import { formatDuration } from '../requests/traffic-row.ts';
import { MethodName, StatusBadge } from '../ui/badge.tsx';
import { Button } from '../ui/button.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { Input, Textarea } from '../ui/input.tsx';
import { failureText, isUnsaved, postForm, useFormEdited, type Unsaved } from '../ui/kept-form.ts';
import { Notice } from '../ui/notice.tsx';
import { PARAMETER_PREFIX, SEND_FIELDS } from './send-fields.ts';

export interface SendRequestProps {
  readonly params: EndpointName;
  readonly method: string;
  readonly slug: string;
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
}

const send = (url: string, form: HTMLFormElement): Promise<SendResult | Unsaved> => {
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (typeof value === 'string') body.append(name, value);
  return postForm<SendResult>(url, body);
};

/** A dialog that sends a request to the endpoint through the gateway. The server adds the API key. */
export const SendRequest = ({ params, method, slug, open, onOpenChange }: SendRequestProps) => (
  <Dialog
    open={open}
    onOpenChange={onOpenChange}
    wide
    title="Send a request"
    description={
      <>
        <MethodName method={method} /> <code className="break-all">{slug}</code> through the gateway, with the API key
        of the account.
      </>
    }
  >
    <SendForm params={params} method={method} slug={slug} />
  </Dialog>
);

const SendForm = ({ params, method, slug }: Omit<SendRequestProps, 'open' | 'onOpenChange'>) => {
  const [result, setResult] = useState<SendResult | Unsaved>();
  const [isSending, setSending] = useState(false);
  const [isEdited, setEdited] = useState(false);
  useFormEdited(isEdited);
  const parameters = slugParameters(slug);
  const hasBody = method !== 'GET' && method !== 'DELETE';
  const onSubmit = async (form: HTMLFormElement): Promise<void> => {
    setSending(true);
    setResult(await send(paths.endpointRequests(params), form));
    setSending(false);
  };
  return (
    <form
      className="flex flex-col gap-3"
      onInput={() => setEdited(true)}
      onSubmit={(event) => {
        event.preventDefault();
        void onSubmit(event.currentTarget);
      }}
    >
      {parameters.map((name) => {
        const canBeEmpty = slug.includes(`{${name}...}`);
        return (
          <Field key={name} label={`Value of {${name}}`} optional={canBeEmpty}>
            <Input mono required={!canBeEmpty} name={`${PARAMETER_PREFIX}${name}`} />
          </Field>
        );
      })}
      <Field label="Query" optional>
        <Input mono name={SEND_FIELDS.query} placeholder="page=2" />
      </Field>
      <Field label="Headers" optional hint="One on each line.">
        <Textarea
          name={SEND_FIELDS.headers}
          rows={2}
          defaultValue={hasBody ? 'content-type: application/json' : ''}
          placeholder="x-plan: gold"
        />
      </Field>
      {hasBody && (
        <Field label="Body" optional>
          <Textarea name={SEND_FIELDS.body} rows={4} defaultValue='{"try": true}' />
        </Field>
      )}
      <div>
        <Button type="submit" look="primary" disabled={isSending}>
          <Send aria-hidden /> {isSending ? 'Sending…' : 'Send'}
        </Button>
      </div>
      {result !== undefined && !isSending && <Result result={result} />}
    </form>
  );
};

const Result = ({ result }: { readonly result: SendResult | Unsaved }) => {
  if (isUnsaved(result))
    return (
      <Notice look="bad" alert>
        {failureText(result, 'sent')} {result.isUnknown && 'If the request was sent, it is listed in Traffic.'}
      </Notice>
    );
  if ('error' in result)
    return (
      <Notice look="bad" alert>
        {result.error}
      </Notice>
    );
  const { status, durationMs, text, isCut, rejected } = result;
  return (
    <div role="status" className="flex flex-col gap-2">
      <p className="flex flex-wrap items-center gap-2">
        <StatusBadge status={status} />
        <span className="text-muted tabular-nums">{formatDuration(durationMs)}</span>
        {rejected !== undefined && (
          <span>
            The gateway rejected the request with the code <code>{rejected}</code> and did not log it.
          </span>
        )}
      </p>
      {text === undefined ? (
        <p className="text-muted">The body is not text. The captured request shows it.</p>
      ) : text === '' ? (
        <p className="text-muted">No body.</p>
      ) : (
        <pre
          tabIndex={0}
          role="region"
          aria-label="Response body"
          className="max-h-60 overflow-auto rounded border border-line bg-panel p-2 text-small break-all whitespace-pre-wrap"
        >
          <bdi>{text}</bdi>
          {isCut && '…'}
        </pre>
      )}
    </div>
  );
};
