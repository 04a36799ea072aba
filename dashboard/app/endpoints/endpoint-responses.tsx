import { StatusBadge } from '../ui/badge.tsx';
import { ChevronRight } from 'lucide-react';
import { formatBytes } from '../requests/traffic-row.ts';
import { CodeView } from '../ui/code-editor.tsx';
import { delayText } from './delay-values.ts';
import type { EndpointView } from './endpoint-view.server.ts';
import type { RowValues } from './form-reader.ts';
import { ResponseSummary } from './response-summary.tsx';
import { isJsonContent, type ResponseValues } from './response-values.ts';

export interface EndpointResponsesProps {
  readonly view: EndpointView;
  readonly mock:
    | {
        readonly headers: readonly RowValues[];
        readonly body: string;
        /** Empty if there is none. */
        readonly delay: string;
      }
    | undefined;
  readonly timeout: string | undefined;
  /** The responses with conditions, in the order in which they are tried. */
  readonly responses: readonly ResponseValues[];
}

/** Shows the responses that callers receive, or the upstream that requests are forwarded to. */
export const EndpointResponses = ({ view: { answer }, mock, timeout, responses }: EndpointResponsesProps) => (
  <section aria-labelledby="responses" className="flex flex-col gap-2">
    <h2 id="responses" className="font-medium">
      {responses.length === 0 ? 'Response' : 'Responses'}
    </h2>
    {responses.length > 0 && (
      <>
        <p className="text-muted">Tried in this order. The first response whose conditions are all met is returned.</p>
        <ol aria-label="Responses with conditions" className="flex flex-col gap-2">
          {responses.map((response, index) => (
            <li key={index} className="rounded border border-line">
              <ResponseDetails response={response} isLast={index === responses.length - 1} />
            </li>
          ))}
        </ol>
        <h3 className="mt-2 font-medium">Default response</h3>
      </>
    )}
    {answer.kind === 'upstream' ? (
      <p className="break-all">
        Forwarded to <code>{answer.to}</code>
        {timeout !== undefined && (
          <>
            , with a timeout of <code>{timeout}</code>
          </>
        )}
        .
      </p>
    ) : (
      <>
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-4 gap-y-1">
          <dt className="font-mono text-small text-muted">status</dt>
          <dd>
            <StatusBadge status={answer.status} />
          </dd>
          <HeaderPairs headers={mock?.headers ?? []} />
        </dl>
        {mock !== undefined && mock.delay !== '' && <p>Delay: {mock.delay}</p>}
        {mock !== undefined && mock.body !== '' && (
          <CodeView label="Body" language={isJsonContent(mock.headers) ? 'json' : 'text'} text={mock.body} />
        )}
      </>
    )}
  </section>
);

const HeaderPairs = ({ headers }: { readonly headers: readonly RowValues[] }) =>
  headers.map(({ name, value }, index) => (
    <div key={index} className="contents">
      <dt className="font-mono text-small text-muted">{name}</dt>
      <dd className="font-mono text-small break-all">{value}</dd>
    </div>
  ));

interface ResponseDetailsProps {
  readonly response: ResponseValues;
  readonly isLast: boolean;
}

const ResponseDetails = ({ response, isLast }: ResponseDetailsProps) => {
  const { name, headers, body, binaryBytes, template, delay, kept } = response;
  return (
    <details className="group">
      <summary className="flex min-h-9 items-center gap-2 rounded px-2 py-1 hover:bg-hover">
        <ChevronRight aria-hidden className="size-3.5 shrink-0 text-muted group-open:rotate-90" />
        <ResponseSummary values={response} isLast={isLast} />
      </summary>
      <div className="flex flex-col gap-2 border-t border-line p-3">
        {headers.length > 0 && (
          <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
            <HeaderPairs headers={headers} />
          </dl>
        )}
        {binaryBytes !== '' && <p className="text-muted">{formatBytes(Number(binaryBytes))} of binary content.</p>}
        {binaryBytes === '' && body === '' && <p className="text-muted">No body.</p>}
        {body !== '' && (
          <pre
            tabIndex={0}
            role="region"
            aria-label={`Body of ${name}`}
            className="max-h-96 overflow-auto rounded border border-line p-2 text-small whitespace-pre-wrap break-words"
          >
            {body}
          </pre>
        )}
        {template !== '' && <p className="text-muted">Template: expressions in the body and headers are evaluated.</p>}
        {delay.type !== '' && <p>Delay: {delayText(delay)}</p>}
        {kept !== '' && (
          <p className="text-small break-words text-muted">
            Only in the manifest: <code>{kept}</code>
          </p>
        )}
      </div>
    </details>
  );
};
