import { useEffect, useId, useRef, useState } from 'react';
import type { RequestName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { useFetcher } from '../remix.ts';
import { Button } from '../ui/button.tsx';
import { DialogButtons } from '../ui/dialog.tsx';
import { NotSaved } from '../ui/error-summary.tsx';
import { Field } from '../ui/field.tsx';
import { Textarea } from '../ui/input.tsx';
import { useFormEdited } from '../ui/kept-form.ts';
import { Notice } from '../ui/notice.tsx';
import { useKeptFetcher } from '../ui/use-last-action-data.ts';
import { CreatedLink } from './created-link.tsx';
import {
  LIFETIME_DEFAULT,
  LIFETIMES,
  RULE_FIELDS,
  type FieldProblems,
  type ShareAnswer,
  type ShareDialogData,
} from './share-data.ts';
import { SharedExchangeView } from './shared-exchange-view.tsx';

export interface ShareDialogProps {
  readonly exchange: RequestName;
  readonly onDone: () => void;
}

/** Shows the redaction rules and a preview, then the new link. */
export const ShareDialog = ({ exchange, onDone }: ShareDialogProps) => {
  const { load, data } = useFetcher<ShareDialogData | { readonly unavailable: string }>();
  const url = paths.shareExchange(exchange);
  useEffect(() => load(url), [load, url]);
  return data === undefined ? (
    <p role="status" className="text-muted">
      Finding values to redact…
    </p>
  ) : 'unavailable' in data ? (
    <Notice look="bad" alert>
      {data.unavailable} Close this dialog and open it again.
    </Notice>
  ) : (
    <ShareForm url={url} exchange={exchange} data={data} onDone={onDone} />
  );
};

interface ShareFormProps extends ShareDialogProps {
  readonly url: string;
  readonly data: ShareDialogData;
}

/** The preview is updated when the user pauses for this long. */
const PREVIEW_DELAY_MS = 300;

/**
 * Updates the preview when the rules change. Outdated responses are dropped. After each response, `fields` contains the errors in
 * the rules.
 */
const usePreview = (url: string, first: ShareDialogData['preview']) => {
  const [preview, setPreview] = useState(first);
  const [fields, setFields] = useState<FieldProblems>();
  const timer = useRef<ReturnType<typeof setTimeout>>();
  const asking = useRef<AbortController>();
  const stop = (): void => {
    clearTimeout(timer.current);
    asking.current?.abort();
  };
  useEffect(() => stop, []);

  const ask = async (form: HTMLFormElement): Promise<void> => {
    const controller = new AbortController();
    asking.current = controller;
    const body = new URLSearchParams({ intent: 'preview' });
    for (const [name, value] of new FormData(form))
      if (typeof value === 'string' && name !== 'intent') body.append(name, value);
    // Does not use a fetcher, because a preview changes nothing and must not reload page data.
    const response = await fetch(url, { method: 'POST', body, signal: controller.signal });
    if (!response.ok) return;
    const answer = (await response.json()) as ShareAnswer;
    if (answer.kind === 'preview') setPreview(answer.preview);
    setFields(answer.kind === 'refused' ? answer.fields : {});
  };
  const refresh = (form: HTMLFormElement): void => {
    stop();
    timer.current = setTimeout(() => {
      // Keep the current preview. If the server is unavailable, the user sees an error when creating the link.
      ask(form).catch(() => undefined);
    }, PREVIEW_DELAY_MS);
  };
  return { preview, fields, refresh, forgetFields: () => setFields(undefined) };
};

const ShareForm = ({ url, exchange, data, onDone }: ShareFormProps) => {
  const creating = useKeptFetcher<ShareAnswer>();
  const [isEdited, setEdited] = useState(false);
  const { preview, fields, refresh, forgetFields } = usePreview(url, data.preview);
  const { answer, unsaved } = creating;
  // The link cannot be shown again, so an error page must not replace it either.
  useFormEdited(isEdited || answer?.kind === 'created');
  if (answer?.kind === 'created')
    return <CreatedLink exchange={exchange} link={answer} isLocal={data.isLocal} onDone={onDone} />;
  const refusal = answer?.kind === 'refused' ? answer : undefined;
  const errors = fields ?? refusal?.fields ?? {};
  const isInPlan = data.isInPlan !== false;
  return (
    <creating.Form
      method="post"
      action={url}
      onChange={({ currentTarget }) => {
        setEdited(true);
        refresh(currentTarget);
      }}
      onSubmit={forgetFields}
      className="flex flex-col gap-4"
    >
      <input type="hidden" name="intent" value="create" />
      {!isInPlan && (
        <Notice look="locked">
          Sharing requires the Pro plan. A link shows one request to anyone who has the link, without signing in. Links
          redact secrets, expire, and can be revoked. This project’s account is on the Free plan. An administrator can
          set <code>spec.plan: Pro</code> in the Account. The preview shows what a link would show.
        </Notice>
      )}
      {isInPlan && <Lifetimes />}
      <Rules data={data} errors={errors} />
      <Preview exchange={preview} />
      <NotSaved
        unsaved={unsaved}
        done="created"
        ifUnknown="If the link was created, it is listed in Settings → Shares, where you can revoke it."
        canRetry={false}
      />
      {refusal !== undefined && refusal.message !== '' && <Notice look="bad">{refusal.message}</Notice>}
      {data.isLocal && isInPlan && <LoopbackNote />}
      <div className="sticky bottom-0 -mx-4 -mb-4 border-t border-line bg-raised px-4 py-3 *:mt-0">
        <DialogButtons>
          <Button onClick={onDone}>{isInPlan ? 'Cancel' : 'Close'}</Button>
          {isInPlan && (
            <Button type="submit" look="primary" disabled={creating.isSending}>
              Create link
            </Button>
          )}
        </DialogButtons>
      </div>
    </creating.Form>
  );
};

const LoopbackNote = () => (
  <p className="text-small text-muted">
    This dashboard listens only on this machine, so the link works only in browsers on this machine. On a cluster, links
    work wherever the dashboard is reachable.
  </p>
);

const Lifetimes = () => (
  <fieldset>
    <legend className="mb-1 font-medium">Lifetime</legend>
    <div className="flex flex-wrap gap-2">
      {LIFETIMES.map(({ value, label }) => (
        <label
          key={value}
          className="flex h-7 items-center gap-1.5 rounded border border-line px-2.5 hover:bg-hover has-checked:border-accent has-checked:bg-selected has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-focus"
        >
          <input
            type="radio"
            name="lifetime"
            value={value}
            defaultChecked={value === LIFETIME_DEFAULT}
            className="size-3.5 accent-accent outline-none"
          />
          {label}
        </label>
      ))}
    </div>
  </fieldset>
);

const RULES = [
  { field: 'headers', label: 'Headers' },
  { field: 'query', label: 'Query and form fields' },
  { field: 'jsonPaths', label: 'JSON paths' },
] as const;
const ROWS_MAX = 8;

interface RulesProps {
  readonly data: ShareDialogData;
  readonly errors: Readonly<Record<string, readonly string[]>>;
}

const Rules = ({ data: { rules, alwaysHidden }, errors }: RulesProps) => {
  const rows = Math.min(ROWS_MAX, Math.max(2, ...Object.values(rules).map((text) => text.split('\n').length + 1)));
  return (
    <fieldset>
      <legend className="mb-1 font-medium">Redacted</legend>
      <div className="grid gap-2 sm:grid-cols-3">
        {RULES.map(({ field, label }) => (
          <Field key={field} label={label} errors={errors[RULE_FIELDS[field]]}>
            <Textarea name={RULE_FIELDS[field]} rows={rows} defaultValue={rules[field]} />
          </Field>
        ))}
      </div>
      <p className="mt-1 text-small text-muted">
        One name or path per line. * matches any characters. The path $..token matches every JSON field named token.
        Always redacted, wherever the values appear: {alwaysHidden.join(', ')}, caller addresses (X-Forwarded-For and
        similar headers), and anything that looks like a credential.
      </p>
    </fieldset>
  );
};

const Preview = ({ exchange }: { readonly exchange: ShareDialogData['preview'] }) => {
  const id = useId();
  return (
    <div>
      <h3 id={id} className="mb-1 font-medium">
        Preview
      </h3>
      <div role="region" aria-labelledby={id} data-share-preview className="rounded border border-line bg-page p-3">
        <SharedExchangeView exchange={exchange} level="h2" />
      </div>
    </div>
  );
};
