import { wireText } from '@standin/exchange/formats';
import { Fragment } from 'react';
import type { SharedExchange, SharedMessage } from '../../src/captured/shared-exchange.ts';
import { formatBytes, formatDuration, formatInstant } from '../requests/traffic-row.ts';
import { MethodName, StatusBadge } from '../ui/badge.tsx';

/** The text that the server inserts for a removed value. */
const REDACTED = '[redacted]';
/**
 * The maximum number of highlights in one string. Without it, a sender could make a page slow by repeating `[redacted]` in a body.
 */
const MARKS_MAX = 500;

/** Highlights each `[redacted]`, up to `MARKS_MAX`. */
const Marked = ({ text }: { readonly text: string }) => {
  const parts = text.split(REDACTED, MARKS_MAX + 1);
  const rest = text.slice(parts.join(REDACTED).length);
  return (
    <>
      {parts.map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <mark className="rounded-sm bg-hover px-0.5 text-muted">{REDACTED}</mark>}
          {part}
        </Fragment>
      ))}
      {rest}
    </>
  );
};

/** Isolates untrusted text, so that its direction cannot affect the surrounding text. */
const Wire = ({ latin1 }: { readonly latin1: string }) => (
  <bdi>
    <Marked text={wireText(latin1).text} />
  </bdi>
);

/** The heading levels below the title of the exchange. */
interface Levels {
  readonly side: 'h2' | 'h3';
  readonly part: 'h3' | 'h4';
}

interface PairsProps {
  readonly title: string;
  readonly pairs: SharedMessage['headers'];
  readonly level: Levels['part'];
}

const Pairs = ({ title, pairs, level: Heading }: PairsProps) =>
  pairs.length === 0 ? null : (
    <>
      <Heading className="text-small font-normal text-muted">{title}</Heading>
      <dl className="border-t border-line font-mono text-small">
        {pairs.map(([name, value], index) => (
          <div key={index} className="grid gap-x-3 border-b border-line py-0.5 sm:grid-cols-[13rem_minmax(0,1fr)]">
            <dt className="break-words text-muted">
              <Wire latin1={name} />
            </dt>
            <dd className="min-w-0 break-all max-sm:pl-3">
              {value === '' ? <span className="font-sans text-muted">empty</span> : <Wire latin1={value} />}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );

const WITHHELD = {
  binary: 'is not shown because it is binary. Only text can be searched for secrets.',
  unreadable: 'is not shown because it does not match its content type, so it can’t be searched for secrets.',
} as const;

interface BodyProps {
  readonly message: SharedMessage;
  readonly level: Levels['part'];
}

const Body = ({ message: { body, bytes, state }, level: Heading }: BodyProps) => {
  if (bytes === 0) return <p className="text-small text-muted">No body.</p>;
  const size = formatBytes(bytes);
  if (state.withheld !== undefined)
    return (
      <p className="text-small text-muted">
        The body ({size}) {WITHHELD[state.withheld]}
      </p>
    );
  return (
    <>
      <Heading className="text-small font-normal text-muted">
        Body, {size}
        {state.isCut && ', truncated'}
      </Heading>
      <pre className="rounded border border-line bg-panel px-2 py-1.5 break-words whitespace-pre-wrap">
        <Marked text={body} />
      </pre>
    </>
  );
};

interface MessageProps {
  readonly title: string;
  readonly message: SharedMessage;
  readonly levels: Levels;
}

/** Not a landmark: behind the preview's dialog, live regions keep the page's own landmarks of these names visible to screen readers. */
const Message = ({ title, message, levels: { side: Heading, part } }: MessageProps) => (
  <div className="flex flex-col gap-1.5">
    <Heading className="text-ui font-medium">{title}</Heading>
    <Pairs title="Headers" pairs={message.headers} level={part} />
    <Body message={message} level={part} />
    <Pairs title="Trailers" pairs={message.trailers} level={part} />
  </div>
);

const OUTCOMES: Partial<Readonly<Record<SharedExchange['outcome'], string>>> = {
  template_failed: 'A template of the response could not be rendered.',
  fallback: 'The upstream failed, and a mock responded instead.',
  upstream_failed: 'The upstream did not return a complete response.',
  upstream_timeout: 'The upstream did not complete its response in time.',
  exchange_timeout: 'The gateway ended the exchange, because it took too long.',
  caller_gone: 'The caller disconnected before the response was complete.',
  response_unknown: 'No response was recorded.',
  in_progress: 'The request is in progress.',
};

export interface SharedExchangeViewProps {
  readonly exchange: SharedExchange;
  /** `h1` if the exchange is the page's only content. */
  readonly level: 'h1' | 'h2';
}

/** Shows what a visitor with the link sees. Used in the preview and on the public page. Works without JavaScript. */
export const SharedExchangeView = ({ exchange, level: Heading }: SharedExchangeViewProps) => {
  const { method, target, status, durationMs, httpVersion, receivedAt, request, response, hidden, outcome } = exchange;
  const levels: Levels = Heading === 'h1' ? { side: 'h2', part: 'h3' } : { side: 'h3', part: 'h4' };
  const names = [...new Set(hidden.map(({ name }) => name))];
  return (
    <article aria-label="Shared request" className="flex min-w-0 flex-col gap-4">
      <header className="flex min-w-0 flex-col gap-1">
        <Heading className="flex items-baseline gap-2 text-ui font-normal">
          <MethodName method={method} />
          <code className="min-w-0 break-all">
            <Wire latin1={target} />
          </code>
        </Heading>
        <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5 text-small text-muted tabular-nums">
          <StatusBadge status={status} />
          {status !== 0 && <span>{formatDuration(durationMs)}</span>}
          <span>HTTP/{httpVersion}</span>
          <time dateTime={receivedAt}>{formatInstant(new Date(receivedAt), 'utc')} UTC</time>
        </p>
        {OUTCOMES[outcome] !== undefined && <p className="text-muted">{OUTCOMES[outcome]}</p>}
        {names.length > 0 && (
          <p className="text-small break-words text-muted">
            Redacted: <span className="font-mono">{names.join(', ')}</span>
          </p>
        )}
      </header>
      <Message title="Request" message={request} levels={levels} />
      {status !== 0 && <Message title="Response" message={response} levels={levels} />}
    </article>
  );
};
