import { StatusBadge } from '../ui/badge.tsx';
import { CodeView } from '../ui/code-editor.tsx';
import type { EndpointView } from './endpoint-view.server.ts';

export interface AnswerProps {
  readonly view: EndpointView;
  readonly mock:
    | {
        readonly status: number;
        readonly headers: readonly { readonly name: string; readonly value: string }[];
        readonly body: string;
      }
    | undefined;
  readonly timeout: string | undefined;
  /** The responses with conditions, which are tried first. */
  readonly responseNames: readonly string[];
}

/** Shows the response that callers receive, or the upstream that requests are forwarded to. */
export const Answer = ({ view: { answer }, mock, timeout, responseNames }: AnswerProps) => (
  <section aria-labelledby="answer" className="flex flex-col gap-2">
    <h2 id="answer" className="font-medium">
      Response
    </h2>
    {responseNames.length > 0 && (
      <p>
        Responses with conditions are tried first, in this order: {responseNames.join(', ')}. They can be edited in the
        manifest. If the conditions of none are met:
      </p>
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
        <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1">
          <dt className="font-mono text-small text-muted">status</dt>
          <dd>
            <StatusBadge status={answer.status} />
          </dd>
          {(mock?.headers ?? []).map(({ name, value }, index) => (
            <div key={index} className="contents">
              <dt className="font-mono text-small text-muted">{name}</dt>
              <dd className="font-mono text-small break-all">{value}</dd>
            </div>
          ))}
        </dl>
        {mock !== undefined && mock.body !== '' && <CodeView label="Body" language="json" text={mock.body} />}
      </>
    )}
  </section>
);
