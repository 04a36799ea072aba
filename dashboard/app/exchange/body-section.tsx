import { Download } from 'lucide-react';
import { useMemo } from 'react';
import type { RequestName } from '../../src/resources/names.ts';
import { classNames } from '../ui/class-names.ts';
import { paths } from '../paths.ts';
import { Link, useSearchParams } from '../remix.ts';
import { formatBytes } from '../requests/traffic-row.ts';
import { Badge } from '../ui/badge.tsx';
import { buttonClass } from '../ui/button.tsx';
import { CodeView } from '../ui/code-editor.tsx';
import { CopyButton } from '../ui/copy-button.tsx';
import { useHydrated } from '../ui/time.tsx';
import { bodyText, isTextWhole, supportedViews, decodePair, splitPairs, type BodyViewName } from './body-views.ts';
import type { BodyPart, BodyView } from './exchange-view.ts';
import { formatJson } from '../../src/captured/format-json.ts';
import { HexView } from './hex-view.tsx';
import { PairList, PAIRS_SHOWN_MAX } from './pair-list.tsx';
import { PartsView } from './parts-view.tsx';
import { SectionHeading, useSectionLabel } from './section-heading.tsx';

const VIEW_LABELS: Readonly<Record<BodyViewName, string>> = {
  pretty: 'Pretty',
  form: 'Form',
  parts: 'Parts',
  image: 'Image',
  raw: 'Raw',
  hex: 'Hex',
};

/** The URL parameters that select the views of the bodies. */
const VIEW_PARAMS: Readonly<Record<BodyPart, string>> = { request: 'body', response: 'response-body' };

export interface BodySectionProps {
  readonly exchange: RequestName;
  readonly part: BodyPart;
  readonly body: BodyView;
}

/** Shows a body in the view that the URL selects, or in the best view if the body does not support the selected one. */
export const BodySection = ({ exchange, part, body }: BodySectionProps) => {
  const [params] = useSearchParams();
  const views = useMemo(() => supportedViews(body), [body]);
  const view = views.find((name) => name === params.get(VIEW_PARAMS[part])) ?? views[0];
  const text = useMemo(() => bodyText(body), [body]);
  return (
    <section aria-labelledby={useSectionLabel(`${part}-body`)} className="flex flex-col gap-1.5">
      <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <SectionHeading id={`${part}-body`}>
          Body <span className="font-normal text-muted">{body.bytes === 0 ? 'empty' : formatBytes(body.bytes)}</span>
        </SectionHeading>
        <SizeBadges body={body} />
        {view !== undefined && (
          <div className="ml-auto flex flex-wrap items-center gap-1">
            <ViewLinks part={part} views={views} current={view} />
            {text !== undefined && isTextWhole(body) && <CopyButton text={text} label={`Copy ${part} body`} />}
            <a
              href={paths.exchangeBody(exchange, { part })}
              download
              className={buttonClass('ghost', 'size-7 px-0')}
              aria-label={`Download ${part} body`}
              title={`Download ${part} body`}
            >
              <Download aria-hidden />
            </a>
          </div>
        )}
      </div>
      {view !== undefined && (
        <Contents key={`${part} ${view}`} exchange={exchange} part={part} body={body} view={view} text={text ?? ''} />
      )}
    </section>
  );
};

/**
 * Shows whether the text on the page is decoded, how much of a truncated body was captured, and how much of the captured part is on the
 * page if the page does not show all of it.
 */
const SizeBadges = ({ body: { bytes, bytesCaptured, bytesShown, decoded } }: { readonly body: BodyView }) => (
  <>
    {decoded !== undefined && (
      <Badge tone="1xx" icon={false}>
        {decoded.isCut ? 'Decoded, beginning only' : 'Decoded'}
      </Badge>
    )}
    {bytesCaptured < bytes && (
      <Badge tone="4xx">
        Captured {formatBytes(bytesCaptured)} of {formatBytes(bytes)}
      </Badge>
    )}
    {bytesShown < bytesCaptured && (
      <Badge tone="1xx" icon={false}>
        Showing {formatBytes(bytesShown)} of {formatBytes(bytesCaptured)}
      </Badge>
    )}
  </>
);

interface ViewLinksProps {
  readonly part: BodyPart;
  readonly views: readonly BodyViewName[];
  readonly current: BodyViewName;
}

const ViewLinks = ({ part, views, current }: ViewLinksProps) => {
  const [params] = useSearchParams();
  const linkTo = (view: BodyViewName): string => {
    const next = new URLSearchParams(params);
    next.set(VIEW_PARAMS[part], view);
    return `?${next.toString()}`;
  };
  return (
    <nav aria-label={`View of the ${part} body`} className="flex rounded border border-line">
      {views.map((view) => (
        <Link
          key={view}
          to={linkTo(view)}
          replace
          preventScrollReset
          aria-current={view === current ? 'true' : undefined}
          className={classNames(
            'flex h-6.5 items-center rounded-sm px-2 text-small',
            view === current ? 'bg-selected font-medium text-text' : 'text-muted hover:text-text',
          )}
        >
          {VIEW_LABELS[view]}
        </Link>
      ))}
    </nav>
  );
};

interface ContentsProps extends BodySectionProps {
  readonly view: BodyViewName;
  readonly text: string;
}

const Contents = ({ exchange, part, body, view, text }: ContentsProps) => {
  const label = part === 'request' ? 'Request body' : 'Response body';
  switch (view) {
    case 'pretty':
      return <PrettyJson label={label} text={text} />;
    case 'raw':
      return <CodeView label={label} language="text" text={text} />;
    case 'hex':
      return <HexView label={label} body={body} />;
    case 'form':
      return <FormFields text={text} />;
    case 'parts':
      return <PartsView exchange={exchange} part={part} body={body} />;
    case 'image':
      return (
        <div className="flex justify-center rounded border border-line bg-panel p-3">
          <img
            src={paths.exchangeBody(exchange, { part, as: 'image' })}
            alt={`${label} (${body.contentType})`}
            className="max-h-[60vh] max-w-full object-contain"
          />
        </div>
      );
  }
};

const FormFields = ({ text }: { readonly text: string }) => {
  const fields = useMemo(() => splitPairs(text), [text]);
  const pairs = fields.slice(0, PAIRS_SHOWN_MAX).map(decodePair);
  return <PairList title="Fields" pairs={pairs} total={fields.length} fromWire={false} />;
};

/**
 * The maximum length, in characters, of JSON that the server formats. The browser formats longer JSON, because 256 KiB of small
 * values would block the event loop of the server for 50 ms.
 */
const INDENTED_BY_SERVER_MAX = 64 * 1024;

const PrettyJson = ({ label, text }: { readonly label: string; readonly text: string }) => {
  const isIndented = useHydrated() || text.length <= INDENTED_BY_SERVER_MAX;
  const formatted = useMemo(() => (isIndented ? formatJson(text) : undefined), [isIndented, text]);
  return (
    <>
      {isIndented && formatted === undefined && (
        <p className="text-muted">This JSON would be too long with indentation. The body is shown unchanged.</p>
      )}
      <CodeView label={label} language="json" text={formatted ?? text} />
    </>
  );
};
