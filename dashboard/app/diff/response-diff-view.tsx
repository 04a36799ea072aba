import type { ReactNode } from 'react';
import { formatDuration } from '../requests/traffic-row.ts';
import { StatusBadge } from '../ui/badge.tsx';
import {
  type ResponseDiff,
  type BytesView,
  type HeaderChange,
  type JsonChange,
  isSameResponse,
} from '@standin/exchange/response-diff';
import { LineDiffView } from './line-diff-view.tsx';

const bytes = (count: number): string => `${count.toLocaleString('en')} bytes`;

interface RowProps {
  readonly name: ReactNode;
  readonly before: ReactNode;
  readonly after: ReactNode;
  readonly isSame?: boolean;
}

/** A row with the name, the captured value and the current value. On a phone, the cells are stacked. */
const Row = ({ name, before, after, isSame = false }: RowProps) => (
  <tr
    data-same={isSame}
    className="grid grid-cols-1 gap-x-3 border-b border-line px-2 py-1.5 last:border-b-0 sm:grid-cols-[minmax(0,12rem)_minmax(0,1fr)_minmax(0,1fr)]"
  >
    <th scope="row" className="text-left font-normal break-words text-muted">
      {name}
    </th>
    <td className="break-words">
      <span className="text-small text-muted sm:hidden">captured: </span>
      {before}
    </td>
    <td className="break-words">
      <span className="text-small text-muted sm:hidden">now: </span>
      {after}
    </td>
  </tr>
);

const NOTHING = <span className="text-muted">absent</span>;

const Values = ({ values, look }: { readonly values: readonly string[]; readonly look: string }) =>
  values.length === 0 ? (
    NOTHING
  ) : (
    <ul className="max-sm:inline">
      {values.map((value, index) => (
        <li key={index} className="max-sm:inline">
          <code className={`rounded-sm px-0.5 break-all ${look}`}>
            <bdi>{value}</bdi>
          </code>
        </li>
      ))}
    </ul>
  );

const HeaderRow = ({ change }: { readonly change: HeaderChange }) => (
  <Row
    name={
      <>
        <code>{change.name}</code>
        {change.isPassing && <span className="text-small"> (expected to differ)</span>}
      </>
    }
    before={<Values values={change.before} look={change.isPassing ? '' : 'bg-5xx-chip'} />}
    after={<Values values={change.after} look={change.isPassing ? '' : 'bg-2xx-chip'} />}
    isSame={change.isPassing}
  />
);

const JsonRow = ({ change }: { readonly change: JsonChange }) => (
  <Row
    name={<code className="break-all">{change.path}</code>}
    before={<Values values={change.before === undefined ? [] : [change.before]} look="bg-5xx-chip" />}
    after={<Values values={change.after === undefined ? [] : [change.after]} look="bg-2xx-chip" />}
  />
);

const BytesCell = ({ view }: { readonly view: BytesView }) => (
  <>
    {bytes(view.bytes)}
    {view.sha256 !== undefined && (
      <>
        , <code className="break-all">sha256:{view.sha256.slice(0, 16)}</code>
      </>
    )}
  </>
);

const Table = ({ label, children }: { readonly label: string; readonly children: ReactNode }) => (
  <table aria-label={label} className="block overflow-hidden rounded border border-line">
    <thead className="block bg-panel text-small text-muted max-sm:sr-only">
      <tr className="grid grid-cols-[minmax(0,12rem)_minmax(0,1fr)_minmax(0,1fr)] gap-x-3 px-2 py-1">
        <th className="text-left font-normal">
          <span className="sr-only">Part</span>
        </th>
        <th className="text-left font-normal">Captured</th>
        <th className="text-left font-normal">Now</th>
      </tr>
    </thead>
    <tbody className="block">{children}</tbody>
  </table>
);

const Body = ({ body }: Pick<ResponseDiff, 'body'>) => {
  switch (body.kind) {
    case 'same':
      return <p className="text-muted">The bodies are identical ({bytes(body.bytes)}).</p>;
    case 'json':
      return body.total === 0 ? (
        <p className="text-muted">The bodies are equivalent JSON with different formatting.</p>
      ) : (
        <>
          <Table label="Body field differences">
            {body.changes.map((change) => (
              <JsonRow key={change.path} change={change} />
            ))}
          </Table>
          {body.total > body.changes.length && (
            <p className="text-muted">
              Showing the first {body.changes.length} of {body.total.toLocaleString('en')} differences.
            </p>
          )}
        </>
      );
    case 'text':
      return <LineDiffView label="Body line differences" lines={body.lines} total={body.total} />;
    case 'bytes':
      return (
        <>
          <Table label="Body sizes and digests">
            <Row name="body" before={<BytesCell view={body.before} />} after={<BytesCell view={body.after} />} />
          </Table>
          <p className="text-muted">The bodies differ. {body.why}</p>
        </>
      );
  }
};

/**
 * Shows how a later response differs from the captured one. Always shows the status and the time, but omits headers and body parts
 * that are identical.
 */
export const ResponseDiffView = ({ diff }: { readonly diff: ResponseDiff }) => {
  const { status, durationMs, headers, body } = diff;
  return (
    <section aria-labelledby="diff" className="flex flex-col gap-3">
      <h2 id="diff" className="text-h2">
        {isSameResponse(diff) ? 'Same response' : 'Differences'}
      </h2>
      <Table label="Status, time and header differences">
        <Row
          name="Status"
          before={<StatusBadge status={status.before} />}
          after={<StatusBadge status={status.after} />}
          isSame={status.before === status.after}
        />
        <Row name="Time" before={formatDuration(durationMs.before)} after={formatDuration(durationMs.after)} isSame />
        {headers.map((change) => (
          <HeaderRow key={change.name} change={change} />
        ))}
      </Table>
      {status.before === 0 || status.after === 0 ? (
        <p className="text-muted">The bodies can’t be compared, because at least one response is missing.</p>
      ) : (
        <Body body={body} />
      )}
    </section>
  );
};
