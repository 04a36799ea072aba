import { ChevronRight } from 'lucide-react';
import { useEffect, useState } from 'react';
import type { ResponsePreview } from '../../src/captured/preview-response.ts';
import { examplePath } from '../../src/endpoints/example-request.ts';
import { useFetcher } from '../remix.ts';
import { formatRowTime, type TrafficRow } from '../requests/traffic-row.ts';
import { usePreferences } from '../shell/preferences.ts';
import { Field } from '../ui/field.tsx';
import { Input, Select, Textarea } from '../ui/input.tsx';
import { useHydrated } from '../ui/time.tsx';
import { ContentPreview } from './content-preview.tsx';
import { EXAMPLE, PREVIEW_FIELDS } from './preview-fields.ts';

type Requests = { readonly requests: readonly TrafficRow[] } | { readonly unavailable: string };

export interface ResponsePreviewPanelProps {
  /** Undefined until the server has rendered the first preview. */
  readonly answer: ResponsePreview | { readonly unavailable: string } | undefined;
  /** The URL of the endpoint's latest requests. Undefined for a new endpoint. */
  readonly requestsUrl: string | undefined;
  /** The slug as the user has entered it. */
  readonly slug: string;
  readonly isOpen: boolean;
  readonly onToggle: (isOpen: boolean) => void;
  /** Sends the form to the server. */
  readonly refresh: () => void;
}

/** Shows what the endpoint in the form would respond with to a request that the user selects. Needs JavaScript. */
export const ResponsePreviewPanel = (props: ResponsePreviewPanelProps) => {
  const { answer, requestsUrl, slug, isOpen, onToggle, refresh } = props;
  const isHydrated = useHydrated();
  const { load, data } = useFetcher<Requests>();
  const [chosen, setChosen] = useState<string>();
  const requests = data !== undefined && 'requests' in data ? data.requests : [];
  const isLoading = requestsUrl !== undefined && data === undefined;
  const selected = chosen ?? (isLoading ? '' : (requests[0]?.id ?? EXAMPLE));
  useEffect(() => {
    if (isOpen && requestsUrl !== undefined) load(requestsUrl);
  }, [isOpen, requestsUrl, load]);
  useEffect(() => {
    if (isOpen && selected !== '') refresh();
  }, [isOpen, selected, refresh]);
  if (!isHydrated) return null;
  return (
    <details
      open={isOpen}
      onToggle={({ currentTarget }) => onToggle(currentTarget.open)}
      className="group min-w-0 rounded border border-line"
    >
      <summary className="flex min-h-9 items-center gap-2 rounded px-2 hover:bg-hover">
        <ChevronRight aria-hidden className="size-3.5 shrink-0 text-muted group-open:rotate-90" />
        <h2 className="font-medium">Preview</h2>
      </summary>
      {isOpen && (
        <div className="flex flex-col gap-3 border-t border-line p-3">
          <RequestChoice requests={requests} isLoading={isLoading} selected={selected} onChoose={setChosen} />
          {data !== undefined && 'unavailable' in data && <p className="text-small text-muted">{data.unavailable}</p>}
          {selected === EXAMPLE && <ExampleRequest slug={slug} />}
          {answer === undefined ? <p className="text-muted">Loading…</p> : <Answer answer={answer} />}
        </div>
      )}
    </details>
  );
};

interface RequestChoiceProps {
  readonly requests: readonly TrafficRow[];
  readonly isLoading: boolean;
  readonly selected: string;
  readonly onChoose: (id: string) => void;
}

const PATH_SHOWN_MAX = 60;

const RequestChoice = ({ requests, isLoading, selected, onChoose }: RequestChoiceProps) => {
  const { time } = usePreferences();
  const optionText = ({ receivedAt, method, path, query, status }: TrafficRow): string => {
    const target = query === '' ? path : `${path}?${query}`;
    const shown = target.length > PATH_SHOWN_MAX ? `${target.slice(0, PATH_SHOWN_MAX)}…` : target;
    return `${formatRowTime(receivedAt, time, new Date())} ${method} ${shown} (${status})`;
  };
  return (
    <Field label="Request" hint="A captured request of this endpoint, or an example that you describe.">
      <Select
        name={PREVIEW_FIELDS.request}
        value={selected}
        onChange={({ currentTarget }) => onChoose(currentTarget.value)}
      >
        {isLoading && <option value="">Loading…</option>}
        {requests.map((row) => (
          <option key={row.id} value={row.id}>
            {optionText(row)}
          </option>
        ))}
        <option value={EXAMPLE}>Example</option>
      </Select>
    </Field>
  );
};

/** Fields for a request, so that there is a preview before the first request. The endpoint determines its method. */
const ExampleRequest = ({ slug }: { readonly slug: string }) => (
  <>
    <Field label="Path and query" optional hint="The endpoint determines the method.">
      <Input
        mono
        name={PREVIEW_FIELDS.target}
        placeholder={examplePath(slug)}
        onKeyDown={(event) => {
          // Enter would save the endpoint.
          if (event.key === 'Enter') event.preventDefault();
        }}
      />
    </Field>
    <div className="grid gap-3 sm:grid-cols-2">
      <Field label="Request headers" optional>
        <Textarea name={PREVIEW_FIELDS.headers} rows={3} defaultValue="content-type: application/json" />
      </Field>
      <Field label="Request body" optional>
        <Textarea name={PREVIEW_FIELDS.body} rows={3} placeholder="{}" />
      </Field>
    </div>
  </>
);

const REJECTIONS = {
  endpoint_not_found: 'The path of this request does not match the slug, so this endpoint does not get it.',
  method_not_allowed: 'This request has a different method, so this endpoint does not get it.',
  endpoint_not_accepted: 'The endpoint has a mistake, so the gateway refuses this request.',
} as const;

const Answer = ({ answer }: { readonly answer: NonNullable<ResponsePreviewPanelProps['answer']> }) => {
  if ('unavailable' in answer) return <p className="[overflow-wrap:anywhere] text-muted">{answer.unavailable}</p>;
  const { rejection, response, unmatched, content, edited } = answer;
  if (rejection !== undefined) return <p className="text-muted">{REJECTIONS[rejection]}</p>;
  const unmet = edited && unmatched.find(({ name }) => name === edited.name)?.unmet;
  return (
    <>
      <section aria-label="Response to the request" className="flex flex-col gap-2">
        <h3 className="font-medium">
          {response === undefined ? 'The default response' : <code className="break-all">{response}</code>} is returned
        </h3>
        {content === undefined ? (
          <p className="text-muted">The upstream responds.</p>
        ) : (
          <ContentPreview name={response ?? ''} content={content} />
        )}
        {unmatched.length > 0 && (
          <ul aria-label="Responses that do not match" className="flex flex-col gap-1 text-small text-muted">
            {unmatched.map(({ name, unmet: conditions }) => (
              <li key={name} className="[overflow-wrap:anywhere]">
                Not <code>{name}</code>: <bdi>{conditions.map(({ message }) => message).join(' ')}</bdi>
              </li>
            ))}
          </ul>
        )}
      </section>
      {edited !== undefined && (
        <section aria-label="Response that you are editing" className="flex flex-col gap-2 border-t border-line pt-3">
          <h3 className="font-medium">
            {edited.name === '' ? 'The default response' : <code className="break-all">{edited.name}</code>} is not
            returned
          </h3>
          <p className="text-small text-muted">
            {unmet === undefined
              ? 'An earlier response matches this request.'
              : 'The request does not meet its conditions.'}{' '}
            It would be:
          </p>
          <ContentPreview {...edited} />
        </section>
      )}
    </>
  );
};
