import type { ComponentType } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { Link, useNavigate, useSearchParams } from '../remix.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { classNames } from '../ui/class-names.ts';
import { tabClass } from '../ui/tabs.tsx';
import { useIsWide } from '../ui/use-is-wide.ts';
import { ReplaysTab } from '../replays/replays-tab.tsx';
import { ExchangeActions } from './exchange-actions.tsx';
import { ExchangeTitle } from '../exchange/exchange-title.tsx';
import type { ExchangeView } from '../exchange/exchange-view.ts';
import { RawTab } from '../exchange/raw-tab.tsx';
import { RequestTab, type ExchangeTabProps } from '../exchange/request-tab.tsx';
import { ResponseTab } from '../exchange/response-tab.tsx';
import { SectionColumn, SectionLevel } from '../exchange/section-heading.tsx';
import { TimingTab } from '../exchange/timing-tab.tsx';

interface Tab {
  /** The name in the URL. */
  readonly name: string;
  readonly label: string;
  readonly Contents: ComponentType<ExchangeTabProps>;
}

const REQUEST: Tab = { name: 'request', label: 'Request', Contents: RequestTab };
const RESPONSE: Tab = { name: 'response', label: 'Response', Contents: ResponseTab };
const OTHERS: readonly Tab[] = [
  { name: 'timing', label: 'Timing', Contents: TimingTab },
  { name: 'raw', label: 'Raw', Contents: RawTab },
  { name: 'replays', label: 'Replays', Contents: ReplaysTab },
];

/** A link of the navigation, and the parts of the exchange that it shows next to each other. */
interface View extends Pick<Tab, 'name' | 'label'> {
  readonly parts: readonly Tab[];
}

const single = (tab: Tab): View => ({ ...tab, parts: [tab] });
/** The views in display order. The first one is open if the URL names no known one. */
const NARROW: readonly [View, ...View[]] = [single(REQUEST), single(RESPONSE), ...OTHERS.map(single)];
const WIDE: readonly [View, ...View[]] = [
  { name: 'request', label: 'Request and response', parts: [REQUEST, RESPONSE] },
  ...OTHERS.map(single),
];
/** The URL parameter for the open tab, on every page with this panel. */
export const TAB_PARAM = 'tab';

export interface ExchangePanelProps {
  readonly exchange: ExchangeView;
  readonly project: ProjectName;
  /** The name from the URL. An unknown name selects the first tab. */
  readonly tab: string;
  /** `h1` if the exchange is the page's only content. */
  readonly level?: 'h1' | 'h2';
}

/** Two columns, unless the panel is too narrow for them. */
const PAIR = 'min-[1600px]:@3xl:grid-cols-2';

/** Shows the summary of an exchange, its actions, and its parts in tabs. `[` and `]` switch between tabs. */
export const ExchangePanel = ({ exchange: view, project, tab, level = 'h2' }: ExchangePanelProps) => {
  const views = useIsWide() ? WIDE : NARROW;
  const open = views.find(({ name }) => name === tab) ?? views[0];
  const exchange = { namespace: project.namespace, project: project.project, id: view.id };
  const linkTo = useTabLink();
  useTabKeys(views, open, linkTo);
  return (
    <article aria-label={`Request ${view.id}`} className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <ExchangeTitle view={view} level={level} />
        <ExchangeActions view={view} exchange={exchange} />
      </div>
      <div className="border-b border-line">
        <nav aria-label="Request details" className="-mb-px flex gap-1 overflow-x-auto">
          {views.map(({ name, label }) => (
            <Link
              key={name}
              to={linkTo(name)}
              replace
              preventScrollReset
              aria-current={name === open.name ? 'page' : undefined}
              className={tabClass(name === open.name)}
            >
              {label}
            </Link>
          ))}
        </nav>
      </div>
      {/* Keyed by the request and the tab, so that neither requests nor tabs share state. */}
      <div key={`${view.id} ${open.name}`} className="@container pt-1">
        {/* The server's HTML already has the second column, so that the request does not move when the response appears. */}
        <div className={classNames('grid grid-cols-1 gap-x-8 gap-y-5', open.name === 'request' && PAIR)}>
          <SectionLevel.Provider value={level === 'h1' ? 'h2' : 'h3'}>
            {open.parts.map(({ name, label, Contents }) => (
              <section key={name} aria-label={label} className="flex min-w-0 flex-col gap-5">
                {open.parts.length > 1 && (
                  <p id={`column-${name}`} className="-mb-3 font-semibold">
                    {label}
                  </p>
                )}
                <SectionColumn.Provider value={open.parts.length > 1 ? `column-${name}` : ''}>
                  <Contents view={view} exchange={exchange} />
                </SectionColumn.Provider>
              </section>
            ))}
          </SectionLevel.Provider>
        </div>
      </div>
    </article>
  );
};

/** Returns a function that creates the link to a tab of the current page. The link keeps the other URL parameters. */
const useTabLink = (): ((name: string) => string) => {
  const [params] = useSearchParams();
  return (name) => {
    const next = new URLSearchParams(params);
    next.set(TAB_PARAM, name);
    return `?${next.toString()}`;
  };
};

const useTabKeys = (views: readonly View[], open: View, linkTo: (name: string) => string): void => {
  const navigate = useNavigate();
  const go = (by: 1 | -1): void => {
    const next = views[(views.indexOf(open) + by + views.length) % views.length];
    if (next !== undefined) navigate(linkTo(next.name), { replace: true, preventScrollReset: true });
  };
  useShortcuts([
    { keys: '[', label: 'Previous tab', run: () => go(-1) },
    { keys: ']', label: 'Next tab', run: () => go(1) },
  ]);
};
