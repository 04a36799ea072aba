import { createContext, useContext, type ReactNode } from 'react';

/**
 * The heading level within a tab, which is one below the title: `h2` on the page of an exchange, and `h3` in the panel next to the
 * list.
 */
export const SectionLevel = createContext<'h2' | 'h3'>('h3');

/** The id of the heading of a column, if there are several. It makes the names of their sections different for screen readers. */
export const SectionColumn = createContext('');

/** Returns `aria-labelledby` for a section with this heading. */
export const useSectionLabel = (id: string): string => `${useContext(SectionColumn)} ${id}`.trim();

export interface SectionHeadingProps {
  readonly id: string;
  readonly children: ReactNode;
  readonly className?: string;
}

export const SectionHeading = ({ id, children, className = 'font-medium' }: SectionHeadingProps) => {
  const props = { id, className, children };
  return useContext(SectionLevel) === 'h2' ? <h2 {...props} /> : <h3 {...props} />;
};
