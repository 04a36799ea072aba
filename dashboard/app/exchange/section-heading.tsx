import { createContext, useContext, type ReactNode } from 'react';

/**
 * The heading level within a tab, which is one below the title: `h2` on the page of an exchange, and `h3` in the panel next to the
 * list.
 */
export const SectionLevel = createContext<'h2' | 'h3'>('h3');

export interface SectionHeadingProps {
  readonly id: string;
  readonly children: ReactNode;
  readonly className?: string;
}

export const SectionHeading = ({ id, children, className = 'font-medium' }: SectionHeadingProps) => {
  const props = { id, className, children };
  return useContext(SectionLevel) === 'h2' ? <h2 {...props} /> : <h3 {...props} />;
};
