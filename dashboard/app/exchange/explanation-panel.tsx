import { useState } from 'react';
import type { RequestExplanation } from '../../src/requests/explain-request.ts';
import type { RequestName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { formatDuration } from '../requests/traffic-row.ts';
import { Link, useFetcher } from '../remix.ts';
import { MethodName } from '../ui/badge.tsx';
import { Notice } from '../ui/notice.tsx';
import { SectionHeading } from './section-heading.tsx';

interface ExplanationProps {
  readonly explanation: RequestExplanation;
  readonly exchange: RequestName;
}

/** Explains which endpoint and which response the request gets. Loads the explanation when it is opened. */
export const ExplanationPanel = ({ exchange }: Pick<ExplanationProps, 'exchange'>) => {
  const { load, data } = useFetcher<RequestExplanation | { readonly unavailable: string }>();
  const [isAsked, setAsked] = useState(false);
  const ask = (isOpen: boolean): void => {
    if (!isOpen || isAsked) return;
    setAsked(true);
    load(paths.exchangeExplanation(exchange));
  };
  return (
    <details className="rounded border border-line" onToggle={({ currentTarget }) => ask(currentTarget.open)}>
      <summary className="px-3 py-2 font-medium">Why this response</summary>
      <div className="flex flex-col gap-4 border-t border-line px-3 py-3">
        {data === undefined ? (
          <p className="text-muted">Loading…</p>
        ) : 'unavailable' in data ? (
          <Notice look="bad">{data.unavailable} Reload the page to try again.</Notice>
        ) : (
          <Contents explanation={data} exchange={exchange} />
        )}
      </div>
    </details>
  );
};

const Contents = ({ explanation, exchange }: ExplanationProps) => {
  const { unmatched, otherEndpoints, isChanged, endpoint } = explanation;
  return (
    <>
      {isChanged && <Notice look="info">{changeText(explanation)} This shows the current rules.</Notice>}
      {endpoint === undefined ? (
        <p>{rejectionText(explanation)}</p>
      ) : (
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 text-small [&_dt]:text-muted">
          <dt>Endpoint</dt>
          <dd>
            <EndpointLine endpoint={endpoint} exchange={exchange} />
          </dd>
          <dt>Response</dt>
          <dd className="min-w-0 break-words">{responseText(explanation)}</dd>
          <Content mock={explanation.mock} />
        </dl>
      )}
      {unmatched.length > 0 && (
        <section aria-labelledby="unmatched" className="flex flex-col gap-1.5">
          <SectionHeading id="unmatched">Responses that do not match</SectionHeading>
          <ul className="flex flex-col gap-1.5">
            {unmatched.map(({ name, unmet }) => (
              <li key={name}>
                <code className="font-medium break-all">{name}</code>
                <ul className="list-disc pl-5 text-small">
                  {unmet.map(({ message }, index) => (
                    <li key={index} className="[overflow-wrap:anywhere]">
                      <bdi>{message}</bdi>
                    </li>
                  ))}
                </ul>
              </li>
            ))}
          </ul>
        </section>
      )}
      {otherEndpoints.length > 0 && (
        <section aria-labelledby="other-endpoints" className="flex flex-col gap-1.5">
          <SectionHeading id="other-endpoints">Other endpoints</SectionHeading>
          <ul className="flex flex-col gap-1.5">
            {otherEndpoints.map((other) => (
              <li key={other.name}>
                <EndpointLine endpoint={other} exchange={exchange} />
                <p className="text-small text-muted">{REASONS[other.reason]}</p>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
};

/** The template and the delay of the response. */
const Content = ({ mock }: Pick<RequestExplanation, 'mock'>) => (
  <>
    {mock?.isTemplate === true && (
      <>
        <dt>Template</dt>
        <dd className="min-w-0 [overflow-wrap:anywhere]">
          {mock.templateError === undefined ? (
            'All expressions have values for this request.'
          ) : (
            <>
              Fails for this request, so the response is a 500: <bdi>{mock.templateError}</bdi>
            </>
          )}
        </dd>
      </>
    )}
    {mock?.delay !== undefined && (
      <>
        <dt>Delay</dt>
        <dd className="tabular-nums">
          {formatDuration(mock.delay.ms)}
          {mock.delay.type !== 'Fixed' && ` (${mock.delay.type}: each request has its own)`}
        </dd>
      </>
    )}
  </>
);

interface EndpointLineProps extends Pick<ExplanationProps, 'exchange'> {
  readonly endpoint: NonNullable<RequestExplanation['endpoint']>;
}

const EndpointLine = ({ endpoint: { name, method, slug }, exchange }: EndpointLineProps) => (
  <span className="flex min-w-0 flex-wrap items-baseline gap-x-2 text-small">
    <Link to={paths.endpoint({ ...exchange, endpoint: name })} className="font-mono text-accent hover:underline">
      {name}
    </Link>
    <span>
      <MethodName method={method} /> <code className="break-all">{slug}</code>
    </span>
  </span>
);

const REASONS: Readonly<Record<RequestExplanation['otherEndpoints'][number]['reason'], string>> = {
  Method: 'The path matches, but the method is different.',
  Precedence: 'The path matches, but the slug is less specific.',
  Path: 'The path is similar, but does not match.',
};

const changeText = ({ captured, endpoint }: RequestExplanation): string => {
  const was = captured.response === '' ? '' : ` with the response ${captured.response}`;
  const before = `Endpoint ${captured.endpoint}, generation ${captured.generation}, responded to this request${was}.`;
  if (endpoint?.name !== captured.endpoint) return before;
  return endpoint.generation === captured.generation
    ? `${before} It has been created again since.`
    : `${before} It has changed since: the current generation is ${endpoint.generation ?? 'unknown'}.`;
};

const rejectionText = ({ rejection }: RequestExplanation): string =>
  rejection === 'method_not_allowed'
    ? 'No endpoint responds (405): the path matches, but no endpoint has this method.'
    : 'No endpoint responds (404): no path in this project matches.';

const responseText = ({ rejection, response, endpoint, unmatched }: RequestExplanation) => {
  if (rejection !== undefined) return 'Refused (503), because the endpoint has a mistake: see its conditions.';
  if (response !== undefined) return <code>{response}</code>;
  const action = endpoint?.action === 'Forward' ? 'Forwarded to the upstream' : 'The mock';
  return unmatched.length === 0
    ? `${action}. The endpoint has no other responses.`
    : `${action}, because no response matches.`;
};
