import { useEffect } from 'react';
import type { Acceptance, RefusedRequest, RefusedRequests } from '../../src/refusals/refused-requests.ts';
import type { ProjectName } from '../../src/resources/names.ts';
import { paths } from '../paths.ts';
import { Link, useFetcher } from '../remix.ts';
import { formatCount } from '../requests/traffic-row.ts';
import { usePreferences } from '../shell/preferences.ts';
import { MethodName } from '../ui/badge.tsx';
import { Time } from '../ui/time.tsx';

interface ShownRequest extends RefusedRequest {
  readonly acceptance?: Acceptance;
}

type Loaded =
  | (RefusedRequests & { readonly items: readonly ShownRequest[]; readonly total: number })
  | { readonly unavailable: unknown };

/** Each load asks all gateways. */
const RELOAD_MS = 30_000;

/** Returns the refused requests, which are loaded again while the page is visible. Undefined before the first load. */
const useRefused = (url: string): Loaded | undefined => {
  const { load, data } = useFetcher<Loaded>();
  useEffect(() => {
    load(url);
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') load(url);
    }, RELOAD_MS);
    return () => clearInterval(timer);
  }, [load, url]);
  return data;
};

const plural = (count: number, noun: string): string => `${formatCount(count)} ${noun}${count === 1 ? '' : 's'}`;

const Sender = ({ sender, slug }: Pick<RefusedRequest, 'sender' | 'slug'>) => (
  <>
    {sender === undefined ? 'Various requests' : sender === 'other' ? 'Unknown sender' : `Sender: ${sender}`}
    {slug !== undefined && (
      <>
        , endpoint <code className="break-all">{slug}</code>
      </>
    )}
  </>
);

interface ItemProps {
  readonly item: ShownRequest;
  readonly params: ProjectName;
}

/** A link to the form that prevents further refusals, if there is one. */
const Remedy = ({ item: { code, method, path, acceptance }, params }: ItemProps) => {
  if (acceptance !== undefined) {
    const { endpoint, scheme } = acceptance;
    return endpoint === undefined ? (
      <FormLink to={paths.newEndpoint(params, { scheme })}>Create endpoint that accepts signatures</FormLink>
    ) : (
      <FormLink to={`${paths.editEndpoint({ ...params, endpoint }, { scheme })}#credential`}>
        Accept signatures
      </FormLink>
    );
  }
  if (code !== 'endpoint_not_found' || method === undefined || path === undefined) return null;
  return <FormLink to={paths.newEndpoint(params, { method, path })}>Create endpoint for this path</FormLink>;
};

const FormLink = ({ to, children }: { readonly to: string; readonly children: string }) => (
  <p>
    <Link to={to} className="text-accent underline">
      {children}
    </Link>
  </p>
);

const Item = (props: ItemProps) => {
  const { status, title, detail, method, path, count, lastAt } = props.item;
  const zone = usePreferences().time;
  return (
    <li className="flex flex-col gap-0.5 border-t border-line px-3 py-2">
      <p className="flex flex-wrap items-baseline gap-x-2">
        <span className="tabular-nums">{formatCount(count)} ×</span>
        <span className="font-medium">
          {status !== undefined && `${status}: `}
          {title}
        </span>
        <span className="ml-auto text-small text-muted">
          last <Time at={lastAt} zone={zone} />
        </span>
      </p>
      <p className="min-w-0">
        {method === undefined || path === undefined ? (
          <Sender {...props.item} />
        ) : (
          <>
            <MethodName method={method} /> <code className="break-all">{path === '' ? '(no path)' : path}</code>
          </>
        )}
      </p>
      <p className="text-small text-muted">{detail}</p>
      <Remedy {...props} />
    </li>
  );
};

const omissionNotes = ({ omitted, unknownProject = 0, missing }: RefusedRequests): readonly string[] => [
  ...(omitted > 0 ? [`${plural(omitted, 'more request')} not listed.`] : []),
  ...(unknownProject > 0
    ? [
        `${plural(unknownProject, 'request')} across all gateways did not begin with the URI of a project: compare the URL with that of the endpoint.`,
      ]
    : []),
  ...(missing.length > 0 ? [`Counts are missing from ${missing.join(', ')}, which did not respond.`] : []),
];

export interface RefusedRequestsProps {
  readonly params: ProjectName;
  /** Whether the project has no captured requests. The list is then open. */
  readonly isFirst: boolean;
}

/** A line that opens a list of refused requests. Shows nothing if none were refused, or if the operator does not respond. */
export const RefusedRequestsLine = ({ params, isFirst }: RefusedRequestsProps) => {
  const refused = useRefused(paths.refusals(params));
  if (refused === undefined || 'unavailable' in refused) return null;
  const notes = omissionNotes(refused);
  if (refused.total === 0 && !(isFirst && notes.length > 0)) return null;
  return (
    <details open={isFirst} data-refused={refused.total} className="border-b border-line">
      <summary className="px-3 py-2 text-small text-muted">
        {plural(refused.total, 'request')} refused in the last hour
      </summary>
      <div className="max-h-72 overflow-y-auto" tabIndex={0} role="region" aria-label="Refused requests">
        <ul>
          {refused.items.map((item) => (
            <Item
              key={JSON.stringify([item.code, item.method, item.path, item.sender, item.slug])}
              item={item}
              params={params}
            />
          ))}
        </ul>
        {notes.map((note) => (
          <p key={note} className="border-t border-line px-3 py-2 text-small text-muted">
            {note}
          </p>
        ))}
      </div>
    </details>
  );
};
