import { ChevronLeft } from 'lucide-react';
import type { ReactNode } from 'react';
import { Link } from '../remix.ts';

/** The link above the heading of a page, to the page that lists what it shows. */
export const BackLink = ({ to, children }: { readonly to: string; readonly children: ReactNode }) => (
  <Link
    to={to}
    className="-ml-1 inline-flex items-center gap-0.5 self-start rounded pr-1 text-small text-muted hover:text-text"
  >
    <ChevronLeft aria-hidden className="size-3.5" /> {children}
  </Link>
);
