import type { ContentView } from '../../src/captured/preview-response.ts';
import { formatBytes, formatDuration } from '../requests/traffic-row.ts';
import { StatusBadge } from '../ui/badge.tsx';
import { Notice } from '../ui/notice.tsx';

const STATUS_FAILED = 500;

export interface ContentPreviewProps {
  /** The name of the response. Empty for the default response. */
  readonly name: string;
  readonly content: ContentView;
}

/** The rendered content of a response, or why there is none. Values of the request are in it, so it is shown as text. */
export const ContentPreview = ({ name, content }: ContentPreviewProps) => {
  switch (content.kind) {
    case 'Invalid':
      return (
        <Notice look="bad">
          This response has an error: <bdi className="[overflow-wrap:anywhere]">{content.reason}</bdi>
        </Notice>
      );
    case 'TemplateFailed':
      return (
        <>
          <p>
            <StatusBadge status={STATUS_FAILED} />
          </p>
          <Notice look="bad">
            The template fails for this request: <bdi className="[overflow-wrap:anywhere]">{content.reason}</bdi>
          </Notice>
        </>
      );
    case 'Mock':
      return <Mock name={name} {...content} />;
  }
};

type MockProps = Pick<ContentPreviewProps, 'name'> & Extract<ContentView, { kind: 'Mock' }>;

const Mock = ({ name, status, headers, body, bodyBytes, isCut, delay }: MockProps) => (
  <>
    <p className="flex items-center gap-2">
      <StatusBadge status={status} />
      {delay !== undefined && <span className="text-muted">after {formatDuration(delay.ms)}</span>}
    </p>
    {headers.length > 0 && (
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-0.5 font-mono text-small">
        {headers.map(([name, value], index) => (
          <div key={index} className="contents">
            <dt className="break-all text-muted">{name}</dt>
            <dd className="break-all whitespace-pre-wrap">
              <bdi>{value}</bdi>
            </dd>
          </div>
        ))}
      </dl>
    )}
    {body === undefined ? (
      <p className="text-muted">{formatBytes(bodyBytes)} of binary content.</p>
    ) : body === '' ? (
      <p className="text-muted">No body.</p>
    ) : (
      <pre
        tabIndex={0}
        role="region"
        aria-label={`Rendered body of ${name === '' ? 'the default response' : name}`}
        className="max-h-80 overflow-auto rounded border border-line p-2 text-small whitespace-pre-wrap break-words"
      >
        {body}
      </pre>
    )}
    {isCut && <p className="text-small text-muted">This is the beginning of {formatBytes(bodyBytes)}.</p>}
  </>
);
