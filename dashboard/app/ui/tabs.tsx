import { NavLink } from '../remix.ts';
import { classNames } from './class-names.ts';

interface TabLink {
  readonly to: string;
  readonly label: string;
  /** Whether the tab is current only for this exact URL, not for URLs below it. */
  readonly end?: boolean;
}

export interface TabsProps {
  /** The accessible name of the tabs. */
  readonly label: string;
  readonly tabs: readonly TabLink[];
}

export const tabClass = (isActive: boolean): string =>
  classNames(
    'inline-flex h-9 items-center rounded-t border-b-2 px-2.5 max-sm:px-2 whitespace-nowrap outline-offset-[-3px]',
    isActive ? 'border-accent font-medium text-text' : 'border-transparent text-muted hover:text-text',
  );

/** Tabs as links. The URL determines the open tab. */
export const Tabs = ({ label, tabs }: TabsProps) => (
  <nav aria-label={label} className="-mb-px flex gap-1 overflow-x-auto max-sm:gap-0">
    {tabs.map(({ to, label: text, end = false }) => (
      <NavLink key={to} to={to} end={end} prefetch="intent" className={({ isActive }) => tabClass(isActive)}>
        {text}
      </NavLink>
    ))}
  </nav>
);
