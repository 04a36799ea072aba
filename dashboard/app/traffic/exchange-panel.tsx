import type { ComponentType } from 'react';
import type { ProjectName } from '../../src/resources/names.ts';
import { Link, useNavigate, useSearchParams } from '../remix.ts';
import { useShortcuts } from '../shell/shortcuts.ts';
import { tabClass } from '../ui/tabs.tsx';
import { BODY_PARAM } from '../exchange/body-section.tsx';
import { ReplaysTab } from '../replays/replays-tab.tsx';
import { ExchangeActions } from './exchange-actions.tsx';
import { ExchangeTitle } from '../exchange/exchange-title.tsx';
import type { ExchangeView } from '../exchange/exchange-view.ts';
import { RawTab } from '../exchange/raw-tab.tsx';
import { RequestTab, type ExchangeTabProps } from '../exchange/request-tab.tsx';
import { ResponseTab } from '../exchange/response-tab.tsx';
import { SectionLevel } from '../exchange/section-heading.tsx';
import { TimingTab } from '../exchange/timing-tab.tsx';

interface Tab {
  /** The name in the URL. */
  readonly name: string;
  readonly label: string;
  readonly Contents: ComponentType<ExchangeTabProps>;
}

/** The tabs in display order. The first tab is open if the URL names no known tab. */
const TABS: readonly [Tab, ...Tab[]] = [
  { name: 'request', label: 'Request', Contents: RequestTab },
  { name: 'response', label: 'Response', Contents: ResponseTab },
  { name: 'timing', label: 'Timing', Contents: TimingTab },
  { name: 'raw', label: 'Raw', Contents: RawTab },
  { name: 'replays', label: 'Replays', Contents: ReplaysTab },
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

/** Shows the summary of an exchange, its actions, and its parts in tabs. `[` and `]` switch between tabs. */
export const ExchangePanel = ({ exchange: view, project, tab, level = 'h2' }: ExchangePanelProps) => {
  const open = TABS.find(({ name }) => name === tab) ?? TABS[0];
  const exchange = { namespace: project.namespace, project: project.project, id: view.id };
  const linkTo = useTabLink();
  useTabKeys(open, linkTo);
  return (
    <article aria-label={`Request ${view.id}`} className="flex min-w-0 flex-col gap-2">
      <div className="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
        <ExchangeTitle view={view} level={level} />
        <ExchangeActions view={view} exchange={exchange} />
      </div>
      <div className="border-b border-line">
        <nav aria-label="Request details" className="-mb-px flex gap-1 overflow-x-auto">
          {TABS.map(({ name, label }) => (
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
      <div key={`${view.id} ${open.name}`} className="flex flex-col gap-5 pt-1">
        <SectionLevel.Provider value={level === 'h1' ? 'h2' : 'h3'}>
          <open.Contents view={view} exchange={exchange} />
        </SectionLevel.Provider>
      </div>
    </article>
  );
};

/**
 * Returns a function that creates the link to a tab of the current page. The link keeps the other URL parameters, except the body
 * view.
 */
const useTabLink = (): ((name: string) => string) => {
  const [params] = useSearchParams();
  return (name) => {
    const next = new URLSearchParams(params);
    // The request and the response can need different body views.
    next.delete(BODY_PARAM);
    next.set(TAB_PARAM, name);
    return `?${next.toString()}`;
  };
};

const useTabKeys = (open: Tab, linkTo: (name: string) => string): void => {
  const navigate = useNavigate();
  const go = (by: 1 | -1): void => {
    const next = TABS[(TABS.indexOf(open) + by + TABS.length) % TABS.length];
    if (next !== undefined) navigate(linkTo(next.name), { replace: true, preventScrollReset: true });
  };
  useShortcuts([
    { keys: '[', label: 'Previous tab', run: () => go(-1) },
    { keys: ']', label: 'Next tab', run: () => go(1) },
  ]);
};
